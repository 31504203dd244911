#include "experiments/plan/parse_machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "experiments/plan/parse_measurement.hpp"

namespace dvfs_plan {
namespace {

// Options of sbatch that say what we say ourselves: two masters of one thing.
void refuse_what_is_ours(const SlurmSpec& spec, YamlReader& read) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> ours{
      {{"--array", "'repeat' says how many blocks there are"},
       {"-a", "'repeat' says how many blocks there are"},
       {"--nodes", "a block runs on one node; 'nodes' says over how many they are spread"},
       {"-N", "a block runs on one node; 'nodes' says over how many they are spread"},
       {"--partition", "write it as 'partition'"},
       {"-p", "write it as 'partition'"},
       {"--time", "write it as 'time'"},
       {"-t", "write it as 'time'"},
       {"--no-requeue", "a block whose node dies is run again on another"},
       {"--signal", "a task is told 60 s before its time is over, so that finished trials are kept"},
       {"--wrap", "what a task runs is dvfs-plan's own business"}}};
  for (const RawValue& word : spec.extra) {
    const std::string name = word.text.substr(0, word.text.find('='));
    const auto found =
        std::find_if(ours.begin(), ours.end(), [&](const auto& one) { return one.first == name; });
    if (found != ours.end())
      read.diagnostics().error(word.mark,
                               fmt::format("'extra' must not hold {}: {}", word.text, found->second));
    else if (!word.text.starts_with('-'))
      read.diagnostics().error(
          word.mark, fmt::format("'extra' is a list of options of sbatch, each one word: [\"--exclusive\", "
                                 "\"--mail-type=END\"]; found '{}'",
                                 word.text));
  }
}

}  // namespace

std::optional<SlurmSpec> parse_machines(const YamlNode& node, YamlReader& read) {
  if (!read.map(node, "'machines'", keys("machines"))) return std::nullopt;
  const YamlNode* slurm = node.find("slurm");
  if (slurm == nullptr) {
    read.diagnostics().error(node.mark,
                             "'machines' needs 'slurm', for example  machines: {slurm: {partition: batch, "
                             "nodes: 8}}; results made by hand on several machines are joined by "
                             "`dvfs-plan merge`");
    return std::nullopt;
  }
  if (!read.map(*slurm, "'slurm'", keys("slurm"))) return std::nullopt;
  SlurmSpec spec;
  spec.mark = slurm->mark;
  const auto count = [&](const char* key, const char* what, int most, auto take) {
    with(*slurm, key, [&](const YamlNode& n) {
      if (const auto value = read.integer(n, what, 1, most)) take(static_cast<int>(*value));
    });
  };
  count("nodes", "'nodes'", most_nodes, [&](int value) { spec.nodes = value; });
  count("at once", "'at once'", most_nodes, [&](int value) { spec.at_once = value; });
  count("give up after", "'give up after'", 1000, [&](int value) { spec.give_up_after = value; });
  const auto name = [&](const char* key, std::string& place) {
    with(*slurm, key, [&](const YamlNode& n) {
      const auto text = read.word(n, fmt::format("'{}'", key));
      if (!text) return;
      if (text->text.empty() || text->text.starts_with('-'))
        read.diagnostics().error(
            n.mark, fmt::format("'{}' must be a name that sbatch knows; found '{}'", key, text->text));
      else
        place = text->text;
    });
  };
  name("partition", spec.partition);
  name("account", spec.account);
  name("qos", spec.qos);
  name("constraint", spec.constraint);
  name("reservation", spec.reservation);
  with(*slurm, "time", [&](const YamlNode& n) {
    spec.time = parse_seconds(n, read, "'time'");
    if (spec.time && spec.time->value() < 60) {
      read.diagnostics().error(
          n.mark, fmt::format("'time' is the limit of a whole block, in which Slurm counts minutes: at "
                              "least 1 min; found '{}'",
                              n.scalar));
    }
  });
  with(*slurm, "extra", [&](const YamlNode& n) {
    if (auto words = read.words(n, "'extra'")) spec.extra = *words;
  });
  with(*slurm, "folder", [&](const YamlNode& n) { spec.folder = read.word(n, "'folder'"); });
  with(*slurm, "types", [&](const YamlNode& n) {
    const auto word = read.word(n, "'types'");
    if (!word) return;
    spec.each_type = word->text == "each";
    if (!spec.each_type && word->text != "one")
      read.diagnostics().error(n.mark,
                               fmt::format("'types' must be 'one' (nodes of several types are refused) or "
                                           "'each' (a result of each type); found '{}'",
                                           word->text));
  });
  refuse_what_is_ours(spec, read);
  if (spec.at_once && *spec.at_once > spec.nodes) {
    read.diagnostics().error(slurm->find("at once")->mark,
                             fmt::format("'at once' is how many of the nodes work at any time, so at most "
                                         "'nodes' ({}); found {}",
                                         spec.nodes, *spec.at_once));
  }
  return spec;
}

}  // namespace dvfs_plan
