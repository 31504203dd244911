#include "orchestrator/commands/cluster_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/output.hpp"
#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/node_choice.hpp"
#include "orchestrator/commands/cluster_run.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/commands/text_look.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

struct Found {
  std::vector<std::string> problems;
  int exit_code = 0;
  struct Result {
    std::string path, goes_on;
  };
  std::vector<Result> results;
  struct Type {
    NodeChoice nodes;
    std::string verdict;  // of sbatch
  };
  std::vector<Type> types;
  int points = 0, trials = 0;  // 0: this machine cannot tell
};

void look_at(const Slurm& slurm, const Experiment& experiment, Found& found,
             const std::function<void(const std::function<void()>&)>& noting) {
  const SlurmSpec& spec = *experiment.slurm;
  noting([&] { require_time_fits(slurm, experiment); });
  std::vector<NodeWish> wishes(1);
  noting([&] {
    if (!spec.each_type) return;
    std::map<std::string, NodeWish> by_type;
    for (const SlurmNode& node : slurm.nodes(spec.partition)) {
      if (has_feature(spec, node) && node.works(!spec.reservation.empty()))
        by_type[node.hardware].of_type.push_back(node.name);
    }
    if (by_type.empty()) return;
    wishes.clear();
    for (auto& [hardware, wish] : by_type) wishes.push_back(std::move(wish));
  });
  for (const NodeWish& wish : wishes) {
    noting([&] {
      Found::Type type{choose_nodes(slurm, spec, wish), {}};
      type.verdict = slurm.judge({.name = "dvfs-plan:" + experiment.name,
                                  .command = "true",
                                  .indices = {1},
                                  .at_once = std::nullopt,
                                  .options = options_of_task(spec, type.nodes.others),
                                  .output = "/dev/null"});
      found.types.push_back(std::move(type));
    });
  }
}

// Points and trials where the file alone says them.
void count_trials(const Experiment& experiment, Found& found) {
  try {
    const Sysfs sysfs;
    const PreparedExperiment prepared = prepare_experiment(experiment.file, sysfs);
    if (!prepared.knobs.empty()) return;
    found.points = static_cast<int>(prepared.plan.points.size());
    found.trials = workload_trials(prepared.plan);
  } catch (const Error&) {
    // Programs and clocks are the nodes'.
  }
}

std::string text_of(const Experiment& experiment, const Found& found) {
  const SlurmSpec& spec = *experiment.slurm;
  std::string text = fmt::format(
      "{}: {}\n\n", printable(experiment.name),
      found.problems.empty() ? "Slurm can run it" : "the file is right, but it would not be submitted:");
  for (const std::string& problem : found.problems) text += "  " + printable(problem, true) + "\n";
  if (!found.problems.empty()) text += "\n";
  for (const Found::Type& type : found.types) {
    text += fmt::format("  {}: {}\n  {}\n", join(type.nodes.chosen, ","), printable(type.nodes.hardware),
                        printable(type.verdict));
  }
  const int at_once = spec.at_once.value_or(spec.nodes);
  if (experiment.search.one_by_one())
    text += fmt::format("  a search that {} share\n", counted(spec.nodes, "node"));
  else
    text += fmt::format("  {} over {}, {} at once\n", counted(experiment.repeat.min, "block"),
                        counted(spec.nodes, "node"), at_once);
  if (found.points > 0)
    text += fmt::format("  {}, {}{}\n", counted(found.points, "point"),
                        experiment.search.one_by_one() ? "at most " : "", counted(found.trials, "trial"));
  text += "  clocks, sensors and programs are the nodes': one of them is asked first when it is submitted\n";
  text += "\n";
  for (const Found::Result& one : found.results)
    text += fmt::format("result file: {}{}\n", one.path, one.goes_on);
  return text;
}

std::string json_of(const Experiment& experiment, const std::string& result, const Found& found) {
  const SlurmSpec& spec = *experiment.slurm;
  Json json{{"experiment", experiment.name},
            {"runnable", found.problems.empty()},
            {"problems", found.problems},
            {"blocks", experiment.search.one_by_one() ? Json(nullptr) : Json(experiment.repeat.min)},
            {"nodes", spec.nodes},
            {"at_once", spec.at_once.value_or(spec.nodes)},
            {"types", Json::array()},
            {"points", found.points > 0 ? Json(found.points) : Json(nullptr)},
            {"trials", found.trials > 0 ? Json(found.trials) : Json(nullptr)},
            {"result", spec.each_type ? Json(nullptr) : Json(result)},
            {"results", Json::array()}};
  for (const Found::Result& one : found.results) json["results"].push_back(one.path);
  for (const Found::Type& type : found.types)
    json["types"].push_back(
        {{"hardware", type.nodes.hardware}, {"nodes", type.nodes.chosen}, {"sbatch", type.verdict}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int check_on_cluster(const Experiment& experiment, const std::string& result, bool json) {
  Found found;
  // All of them at once, each with its next step.
  const auto noting = [&](const std::function<void()>& look) {
    try {
      look();
    } catch (const Error& error) {
      found.problems.push_back(
          error.hint().empty() ? error.what() : fmt::format("{}\n    hint: {}", error.what(), error.hint()));
      found.exit_code = std::max(found.exit_code, static_cast<int>(error.code()));
    }
  };
  noting([&] { require_planned_blocks(experiment); });
  std::optional<Slurm> slurm;
  noting([&] { slurm.emplace(); });
  if (slurm) look_at(*slurm, experiment, found, noting);
  std::vector<std::string> paths;
  for (const Found::Type& type : found.types)
    if (experiment.slurm->each_type) paths.push_back(result_of_type(result, type.nodes.hardware));
  if (paths.empty()) paths = {result};
  for (const std::string& path : paths) {
    found.results.push_back({path, {}});
    noting([&] { found.results.back().goes_on = how_it_goes_on(experiment, path); });
  }
  count_trials(experiment, found);
  write_answer(json ? json_of(experiment, result, found) : fitted(text_of(experiment, found)));
  return found.exit_code;
}

}  // namespace dvfs_plan
