#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "experiments/plan/parse_measurement.hpp"

namespace dvfs_plan {
namespace {

std::vector<std::string> names_of(const std::vector<Vocabulary::Search>& known) {
  std::vector<std::string> names;
  for (const Vocabulary::Search& one : known) names.push_back(one.name);
  return names;
}

void method(const YamlNode& node, const std::vector<Vocabulary::Search>& known, YamlReader& read,
            SearchSpec& search) {
  const auto word = read.word(node, "'search'");
  if (!word) return;
  const auto names = names_of(known);
  if (std::find(names.begin(), names.end(), word->text) != names.end())
    search.method = word->text;
  else
    read.diagnostics().error(
        word->mark, fmt::format("'search' must be one of {}; found '{}'{}", join(names, ", "), word->text,
                                did_you_mean(word->text, names)));
}

// What a search has no use for says so, instead of being passed over.
void refuse_unused(const YamlNode& node, const std::vector<Vocabulary::Search>& known, YamlReader& read,
                   const SearchSpec& search) {
  const auto takes = [](const Vocabulary::Search& one, const std::string& key) {
    return key == "method" || one.by_model || (key == "at most" && chooses_one_by_one(one.name));
  };
  for (const Vocabulary::Search& one : known) {
    if (one.name != search.method) continue;
    for (const YamlEntry& entry : node.entries) {
      if (takes(one, entry.key)) continue;
      std::vector<std::string> others;
      for (const Vocabulary::Search& other : known) {
        if (takes(other, entry.key)) others.push_back(other.name);
      }
      read.diagnostics().error(
          entry.key_mark, fmt::format("'search: {}' takes no '{}'; it belongs to the method{} {}", one.name,
                                      entry.key, others.size() == 1 ? "" : "s", join(others, ", ")));
    }
  }
}

// A share above `low`, at most `high`.
void share_within(const YamlNode& node, YamlReader& read, std::string_view what, double low, double high,
                  double& share) {
  const auto value = read.quantity(node, what, Dimension::ratio);
  if (!value) return;
  if (*value > low && *value <= high)
    share = *value;
  else
    read.diagnostics().error(node.mark, fmt::format("{} must be above {:g} % and at most {:g} %; found '{}'",
                                                    what, 100 * low, 100 * high, node.scalar));
}

void at_most(const YamlNode& node, YamlReader& read, SearchSpec& search) {
  const auto words = split_words(node.kind == YamlNode::Kind::scalar ? node.scalar : "");
  const bool fits = words.size() == 1 || (words.size() == 2 && (words[1] == "trials" || words[1] == "trial"));
  const auto count = fits ? parse_number(words[0]) : std::nullopt;
  if (!count || *count < 1 || *count > most_search_trials ||
      *count != static_cast<double>(static_cast<int>(*count))) {
    read.diagnostics().error(node.mark,
                             fmt::format("'at most' in 'search' must be a number of trials of each "
                                         "scenario such as '40 trials', at most {}; {}",
                                         most_search_trials, YamlReader::found(node)));
    return;
  }
  search.at_most = static_cast<int>(*count);
}

// Without a model nothing says when it is close enough.
void forget_unused(const std::vector<Vocabulary::Search>& known, SearchSpec& search) {
  for (const Vocabulary::Search& one : known) {
    if (one.name == search.method && search.one_by_one() && !one.by_model) search.regret = 0;
  }
}

}  // namespace

void parse_search(const YamlNode& node, const std::vector<Vocabulary::Search>& known, YamlReader& read,
                  SearchSpec& search) {
  search.mark = node.mark;
  if (node.kind != YamlNode::Kind::map) {
    method(node, known, read, search);
    forget_unused(known, search);
    return;
  }
  if (!read.map(node, "'search'", keys("search"))) return;
  // Whoever says when to stop wants something that can stop.
  search.method = "adaptive";
  with(node, "method", [&](const YamlNode& n) { method(n, known, read, search); });
  with(node, "stop", [&](const YamlNode& n) {
    if (!read.map(n, "'stop' in 'search'", keys("stop"))) return;
    with(n, "regret",
         [&](const YamlNode& r) { share_within(r, read, "'regret' in 'stop'", 0, 1, search.regret); });
    with(n, "confidence", [&](const YamlNode& c) {
      share_within(c, read, "'confidence' in 'stop'", 0.5, 0.99, search.confidence);
    });
    with(n, "for", [&](const YamlNode& f) {
      const auto words = read.word(f, "'for' in 'stop'");
      if (!words) return;
      search.each_node = words->text == "each node";
      if (search.each_node || words->text == "all nodes") return;
      read.diagnostics().error(f.mark,
                               fmt::format("'for' in 'stop' must be 'all nodes' (the bound is of machines of "
                                           "their type) or 'each node'; found '{}'",
                                           words->text));
    });
  });
  with(node, "at most", [&](const YamlNode& n) { at_most(n, read, search); });
  with(node, "prior", [&](const YamlNode& n) {
    if (const auto files = read.words(n, "'prior' in 'search'")) search.prior = *files;
  });
  refuse_unused(node, known, read, search);
  forget_unused(known, search);
}

}  // namespace dvfs_plan
