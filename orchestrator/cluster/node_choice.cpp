#include "orchestrator/cluster/node_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

[[noreturn]] void refuse_file(const Experiment& experiment, const std::string& what,
                              const std::string& hint) {
  const Mark& mark = experiment.slurm->mark;
  throw Error(ExitCode::bad_experiment,
              fmt::format("{}:{}:{}: error: {}", experiment.file, mark.line, mark.column, what),
              hint + "; nothing was submitted");
}

std::string partition_text(const SlurmSpec& spec) {
  return spec.partition.empty() ? "the default partition" : fmt::format("partition '{}'", spec.partition);
}

int minutes_of(Seconds time) {
  return static_cast<int>(std::ceil(time.value() / 60));
}

// How long before its time is over a task is told, to give up the trial at hand and put the node back.
int notice_s(const SlurmSpec& spec) {
  const double limit = spec.time ? spec.time->value() : 600;
  return std::clamp(static_cast<int>(limit / 10), 5, 60);
}

std::string left_out_text(const std::map<std::string, std::string>& left_out) {
  std::string text;
  for (const auto& [node, why] : left_out)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", node, printable(why));
  return text;
}

void require_known_feature(const SlurmSpec& spec, const std::vector<SlurmNode>& nodes) {
  if (std::any_of(nodes.begin(), nodes.end(), [&](const SlurmNode& node) { return has_feature(spec, node); }))
    return;
  std::set<std::string> features;
  for (const SlurmNode& node : nodes) {
    for (const std::string& feature : node.features) {
      if (feature != "(null)") features.insert(feature);
    }
  }
  throw Error(ExitCode::machine_refuses,
              fmt::format("no node of {} has the feature '{}' that 'constraint' asks for",
                          partition_text(spec), spec.constraint),
              features.empty() ? "its nodes have no features: leave 'constraint' out"
                               : "features of its nodes: " + join({features.begin(), features.end()}, ", "));
}

}  // namespace

bool has_feature(const SlurmSpec& spec, const SlurmNode& node) {
  // Expressions are for Slurm to judge: it will not place a task where they do not hold.
  if (spec.constraint.find_first_of("&|[]()*") != std::string::npos || spec.constraint.empty()) return true;
  return std::find(node.features.begin(), node.features.end(), spec.constraint) != node.features.end();
}

NodeChoice choose_nodes(const Slurm& slurm, const SlurmSpec& spec, const NodeWish& wish) {
  const auto all = slurm.nodes(spec.partition);
  require_known_feature(spec, all);
  NodeChoice choice;
  std::map<std::string, std::vector<std::string>> types;
  int found = 0;
  for (const SlurmNode& node : all) {
    const bool of_type = wish.of_type.empty() ||
                         std::find(wish.of_type.begin(), wish.of_type.end(), node.name) != wish.of_type.end();
    const bool wanted = of_type && has_feature(spec, node) && node.works(!spec.reservation.empty()) &&
                        !wish.left_out.contains(node.name);
    found += wanted ? 1 : 0;
    if (wanted) types[node.hardware].push_back(node.name);
    if (wanted && choice.chosen.size() < static_cast<std::size_t>(spec.nodes))
      choice.chosen.push_back(node.name);
    else
      choice.others.push_back(node.name);
  }
  if (types.size() > 1) {
    std::string text;
    for (const auto& [hardware, nodes] : types)
      text += fmt::format("\n  {}: {}", join(nodes, ","), printable(hardware));
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("the nodes are of {} types, as Slurm describes them:{}", types.size(), text),
        "an answer is for one type of machine: narrow them with 'partition' or 'constraint', or write  "
        "types: each  for a result of each type");
  }
  if (choice.chosen.empty())
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("none of the {} nodes of {} can run a block{}", all.size(), partition_text(spec),
                    wish.left_out.empty() ? "" : fmt::format("; left out: {}", left_out_text(wish.left_out))),
        "`sinfo` shows the nodes' states");
  if (found < spec.nodes && wish.left_out.empty() && wish.of_type.empty())
    throw Error(ExitCode::machine_refuses,
                fmt::format("'nodes' asks for {} nodes, and {} work now: {}", spec.nodes, found,
                            join(choice.chosen, ",")),
                fmt::format("write  nodes: {}  or fewer, or wait until more are up", found));
  choice.hardware = types.begin()->first;
  return choice;
}

// How many blocks there are must be known before the first: they are submitted all at once. A search needs no more of them
// than it may run trials, and says itself when it is over.
void require_planned_blocks(const Experiment& experiment) {
  const auto refuse = [&](const std::string& what, const std::string& instead) {
    refuse_file(experiment, what + " is not for 'machines'", instead);
  };
  const std::string planned = "write  repeat: N  with as many blocks as the nodes shall share";
  if (experiment.search.method == "golden")
    refuse("'search: golden', whose next trial rests on all before it,", "write  search: adaptive");
  if (experiment.repeat.max > experiment.repeat.min || experiment.repeat.until)
    refuse("'repeat: {until}', which is decided when the first blocks are known,", planned);
  if (experiment.repeat.confirm > 0)
    refuse("'repeat: {confirm}', whose blocks rest on all before them,", planned);
  if (experiment.budget.time)
    refuse("'budget' of time, as nodes wait in a queue,",
           "write  budget: {trials: N}  with a search, or 'time' under 'slurm' for a block");
  if (experiment.budget.any() && !experiment.search.one_by_one())
    refuse("'budget', where blocks are planned,", planned);
}

void require_time_fits(const Slurm& slurm, const Experiment& experiment) {
  const SlurmSpec& spec = *experiment.slurm;
  if (!spec.time) return;
  const auto limit = slurm.time_limit(spec.partition);
  if (!limit || minutes_of(*spec.time) * 60 <= limit->value()) return;
  refuse_file(experiment,
              fmt::format("'time' asks for {} min, and {} ends jobs after {} min", minutes_of(*spec.time),
                          partition_text(spec), minutes_of(*limit)),
              fmt::format("write  time: {} min  or less: a block that its time cuts off goes on where it was",
                          minutes_of(*limit)));
}

std::vector<std::string> options_of_task(const SlurmSpec& spec, const std::vector<std::string>& without) {
  std::vector<std::string> options{"--nodes=1",
                                   "--ntasks=1",
                                   "--requeue",
                                   "--open-mode=append",
                                   fmt::format("--signal=B:TERM@{}", notice_s(spec)),
                                   "--chdir=" + std::filesystem::current_path().string()};
  // A node that is shared with others measures their work too.
  const auto is_exclusive = [](const RawValue& word) {
    return word.text.starts_with("--exclusive") || word.text.starts_with("--oversubscribe");
  };
  if (std::none_of(spec.extra.begin(), spec.extra.end(), is_exclusive)) options.emplace_back("--exclusive");
  for (const auto& [name, value] :
       {std::pair{"partition", &spec.partition}, std::pair{"account", &spec.account},
        std::pair{"qos", &spec.qos}, std::pair{"constraint", &spec.constraint},
        std::pair{"reservation", &spec.reservation}}) {
    if (!value->empty()) options.push_back(fmt::format("--{}={}", name, *value));
  }
  if (spec.time) options.push_back(fmt::format("--time={}", minutes_of(*spec.time)));
  if (!without.empty()) options.push_back("--exclude=" + join(without, ","));
  for (const RawValue& word : spec.extra) options.push_back(word.text);
  return options;
}

}  // namespace dvfs_plan
