#include <fmt/format.h>

#include "base/text.hpp"
#include "experiments/plan/parse_measurement.hpp"

namespace dvfs_plan {
namespace {

void method(const YamlNode& node, YamlReader& read, SearchSpec& search) {
  const auto word = read.word(node, "'search'");
  if (!word) return;
  if (word->text == "full")
    search.method = SearchSpec::Method::full;
  else if (word->text == "adaptive")
    search.method = SearchSpec::Method::adaptive;
  else
    read.diagnostics().error(word->mark,
                             fmt::format("'search' must be full or adaptive; found '{}'{}", word->text,
                                         did_you_mean(word->text, {"full", "adaptive"})));
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
                                         "scenario such as '40 trials', at most {}; found '{}'",
                                         most_search_trials, node.scalar));
    return;
  }
  search.at_most = static_cast<int>(*count);
}

}  // namespace

void parse_search(const YamlNode& node, YamlReader& read, SearchSpec& search) {
  search.mark = node.mark;
  if (node.kind != YamlNode::Kind::map) {
    method(node, read, search);
    return;
  }
  if (!read.map(node, "'search'", keys("search"))) return;
  // Whoever says when to stop wants something that can stop.
  search.method = SearchSpec::Method::adaptive;
  with(node, "method", [&](const YamlNode& n) { method(n, read, search); });
  with(node, "stop", [&](const YamlNode& n) {
    if (!read.map(n, "'stop' in 'search'", keys("stop"))) return;
    with(n, "regret",
         [&](const YamlNode& r) { share_within(r, read, "'regret' in 'stop'", 0, 1, search.regret); });
    with(n, "confidence", [&](const YamlNode& c) {
      share_within(c, read, "'confidence' in 'stop'", 0.5, 0.99, search.confidence);
    });
  });
  with(node, "at most", [&](const YamlNode& n) { at_most(n, read, search); });
  with(node, "prior", [&](const YamlNode& n) {
    if (const auto files = read.words(n, "'prior' in 'search'")) search.prior = *files;
  });
  if (search.method == SearchSpec::Method::full && node.entries.size() > 1)
    read.diagnostics().error(node.mark,
                             "'search': 'stop', 'at most' and 'prior' belong to 'method: adaptive'");
}

}  // namespace dvfs_plan
