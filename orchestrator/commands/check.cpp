// dvfs-plan check FILE.yaml: what a run would do, doing none of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/commands/options.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/energy_choice.hpp"
#include "orchestrator/machine_facts.hpp"
#include "results/store.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

struct ExpectedTime {
  Seconds settle{0};
  Seconds at_most{0};
  std::optional<Seconds> from_former_trials;
};

ExpectedTime expected_time(const PreparedExperiment& prepared, const std::string& result) {
  const Plan& plan = prepared.plan;
  ExpectedTime expected;
  const double trials = static_cast<double>(plan.trials.size());
  if (!prepared.knobs.empty()) expected.settle = plan.experiment.settle * trials;
  expected.at_most = expected.settle;
  for (const PlannedTrial& trial : plan.trials) {
    const auto& spec =
        plan.workloads[static_cast<std::size_t>(plan.points[static_cast<std::size_t>(trial.point)].workload)]
            .spec;
    expected.at_most = expected.at_most + spec.timeout + spec.grace;
  }
  if (::access(result.c_str(), R_OK) == 0) {
    Store store = Store::open(result, Database::Mode::read_only);
    const auto progress = store.progress();
    if (store.plan_hash() == plan.hash && progress.mean_trial_seconds) {
      expected.from_former_trials =
          Seconds{*progress.mean_trial_seconds} * (progress.planned - progress.finished);
    }
  }
  return expected;
}

std::string values_text(const PlanAxis& axis) {
  std::vector<std::string> texts;
  for (const AxisValue& value : axis.values) texts.push_back(printable(value.text));
  return join(texts, ", ");
}

// The files a sweep would change, with their text now.
std::vector<SavedSetting> would_be_set(const PreparedExperiment& prepared) {
  std::vector<SavedSetting> files;
  for (const KnobFinding& finding : prepared.knobs) {
    for (const SavedSetting& setting : finding.knob->snapshot()) {
      const bool known = std::any_of(files.begin(), files.end(),
                                     [&](const SavedSetting& s) { return s.path == setting.path; });
      if (!known) files.push_back(setting);
    }
  }
  return files;
}

// What would keep a run from starting although the file is right: sensors, users, an older result.
struct Runnable {
  std::string energy_source;
  std::vector<std::string> problems;  // empty: a run would start
  int exit_code = 0;
  bool resumes = false;
};

Runnable look_whether_it_runs(const PreparedExperiment& prepared, const std::string& result,
                              const Sysfs& sysfs) {
  Runnable runnable;
  const auto note = [&](const Error& error) {
    runnable.problems.push_back(error.what() + (error.hint().empty() ? "" : "\n    hint: " + error.hint()));
    runnable.exit_code = std::max(runnable.exit_code, static_cast<int>(error.code()));
  };
  std::string stored;
  try {
    if (::access(result.c_str(), F_OK) == 0) {
      Store store = Store::open(result, Database::Mode::read_only);
      stored = store.energy_source();
      require_same_plan(store, prepared.plan, machine_facts(sysfs), result);
      runnable.resumes = true;
    }
  } catch (const Error& error) {
    note(error);
  }
  try {
    workload_users(prepared.plan);
  } catch (const Error& error) {
    note(error);
  }
  // A meter of the user's own is not started by a check; what it would say is not known.
  const auto& specs = prepared.plan.experiment.probes;
  const bool own_meter = specs && std::any_of(specs->begin(), specs->end(),
                                              [](const ProbeSpec& spec) { return !spec.command.empty(); });
  if (own_meter) return runnable;
  try {
    SystemClock clock;
    Launcher launcher;
    Sampler sampler(choose_probes(prepared.plan.experiment, sysfs, {}, launcher, clock).probes, clock);
    runnable.energy_source =
        choose_energy(prepared.plan.experiment, sampler.channels(), check_sensors(sampler, clock), stored)
            .name;
  } catch (const Error& error) {
    note(error);
  }
  return runnable;
}

std::string check_text(const PreparedExperiment& prepared, const Runnable& runnable, const ExpectedTime& time,
                       const std::string& result, const Sysfs& sysfs) {
  const Plan& plan = prepared.plan;
  std::string text = fmt::format("{}: {}\n\n", printable(plan.experiment.name),
                                 runnable.problems.empty() ? "this machine can run it"
                                                           : "the file is right, but a run would not start:");
  for (const std::string& problem : runnable.problems) text += "  " + problem + "\n";
  if (!runnable.problems.empty()) text += "\n";
  if (!runnable.energy_source.empty())
    text += fmt::format("  energy of {}\n", printable(runnable.energy_source));
  for (const PlanAxis& axis : plan.axes)
    text += fmt::format("  {} ({}): {}\n", axis.name, axis.knob ? "knob" : "parameter", values_text(axis));
  for (const PlanWorkload& workload : plan.workloads) {
    text += fmt::format("  workload {}: {}\n", printable(workload.spec.name),
                        printable(join(workload.executables, ", ")));
  }
  text +=
      fmt::format("\n{} points x {} repetitions = {} trials, {}\n", plan.points.size(),
                  plan.experiment.repetitions, plan.trials.size(),
                  plan.experiment.shuffled ? fmt::format("in shuffled blocks (seed {})", plan.experiment.seed)
                                           : "in the order listed");
  constexpr std::size_t most = 40;
  for (std::size_t i = 0; i < std::min(most, plan.points.size()); ++i) {
    text += fmt::format("  {}{}\n", printable(plan.points[i].key),
                        plan.points[i].reference ? "  (reference)" : "");
  }
  if (plan.points.size() > most)
    text += fmt::format("  ... and {} more; --json lists all\n", plan.points.size() - most);
  text += "\nexpected time: ";
  if (time.from_former_trials)
    text += fmt::format("{} for what is left, going by the finished trials\n",
                        format_duration(*time.from_former_trials));
  else
    text += fmt::format("{} of settling plus {} x the workload's own time; at most {} by its timeout\n",
                        format_duration(time.settle), plan.trials.size(), format_duration(time.at_most));
  const auto files = would_be_set(prepared);
  if (files.empty()) {
    text += "\nnothing on the machine would be set\n";
  } else {
    text += "\nwould be set, and put back to what it is now:\n";
    for (const SavedSetting& setting : files) {
      text +=
          fmt::format("  {} = {}{}\n", setting.path, printable(setting.value),
                      sysfs.writable(setting.path) ? "" : "   (not writable by this user: run with sudo)");
    }
  }
  text += fmt::format("\nresult file: {}{}\n", result, runnable.resumes ? " (exists: a run resumes it)" : "");
  return text;
}

std::string check_json(const PreparedExperiment& prepared, const Runnable& runnable, const ExpectedTime& time,
                       const std::string& result, const Sysfs& sysfs) {
  const Plan& plan = prepared.plan;
  Json json{{"experiment", plan.experiment.name},
            {"runnable", runnable.problems.empty()},
            {"problems", runnable.problems},
            {"resumes", runnable.resumes},
            {"energy_source", runnable.energy_source.empty() ? Json(nullptr) : Json(runnable.energy_source)},
            {"axes", Json::object()},
            {"plan_hash", plan.hash},
            {"points", Json::array()},
            {"trials", plan.trials.size()},
            {"repetitions", plan.experiment.repetitions},
            {"seed", plan.experiment.seed},
            {"result", result}};
  for (const PlanAxis& axis : plan.axes) {
    for (const AxisValue& value : axis.values) json["axes"][axis.name].push_back(value.text);
  }
  for (const PlanPoint& point : plan.points) {
    const auto command =
        command_line(plan.workloads[static_cast<std::size_t>(point.workload)].spec, plan.axes, point.values);
    json["points"].push_back({{"point", point.key}, {"reference", point.reference}, {"argv", command.argv}});
  }
  for (const PlannedTrial& trial : plan.trials) json["order"].push_back(trial.key);
  json["expected_settle_s"] = time.settle.value();
  json["at_most_s"] = time.at_most.value();
  json["expected_s"] = time.from_former_trials ? Json(time.from_former_trials->value()) : Json(nullptr);
  json["would_set"] = Json::array();
  for (const SavedSetting& setting : would_be_set(prepared)) {
    json["would_set"].push_back(
        {{"path", setting.path}, {"now", setting.value}, {"writable", sysfs.writable(setting.path)}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int check_command(const Options& options) {
  const Sysfs sysfs(options.sysfs_root);
  const auto prepared = prepare_experiment(options.file, sysfs);
  const std::string result = result_path(options, prepared.plan.experiment);
  const auto time = expected_time(prepared, result);
  if (!prepared.warnings.empty()) write_stderr(fmt::format("{}", prepared.warnings));
  const Runnable runnable = look_whether_it_runs(prepared, result, sysfs);
  write_stdout(fmt::format("{}", options.json ? check_json(prepared, runnable, time, result, sysfs)
                                              : check_text(prepared, runnable, time, result, sysfs)));
  return runnable.exit_code;
}

}  // namespace dvfs_plan
