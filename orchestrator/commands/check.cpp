// dvfs-plan check FILE.yaml: what a run would do, doing none of it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/commands/chosen_probes.hpp"
#include "orchestrator/commands/cluster_check.hpp"
#include "orchestrator/commands/cluster_experiment.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/own_meters.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/commands/rehearsal.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/run_as.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/run/attached_services.hpp"
#include "orchestrator/sensors/energy_choice.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/nvidia_doors.hpp"
#include "orchestrator/strategies/prior_results.hpp"
#include "orchestrator/strategies/stored_finalists.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct CheckOptions : CommonOptions {
  std::string output;  // the result file the run would use
  bool rehearse = false;
};

using Json = nlohmann::ordered_json;

struct ExpectedTime {
  Seconds settle{0};
  Seconds at_most{0};
  int trials = 0;  // of workloads, of those that are planned from the start
  int most = 0;    // with the blocks that may be added
  std::optional<Seconds> from_former_trials;
  std::string budget;  // what it buys
};

int idle_windows(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.trials.begin(), plan.trials.end(),
                                        [](const PlannedTrial& t) { return is_idle(t.role); }));
}

ExpectedTime expected_time(const PreparedExperiment& prepared, std::optional<Store>& store) {
  const Plan& plan = prepared.plan;
  ExpectedTime expected;
  const bool one_by_one = plan.experiment.search.one_by_one();
  const double trials = one_by_one ? workload_trials(plan) : static_cast<double>(plan.trials.size());
  History history;
  const auto longest = [&](const PlannedTrial& trial) {
    return longest_run(plan, plan.points[static_cast<std::size_t>(trial.point)].workload);
  };
  for (const PlannedTrial& trial : plan.trials) {
    if (!is_idle(trial.role)) expected.at_most = expected.at_most + longest(trial);
  }
  if (store) history = History(store->history());
  const Finalists nothing_run_yet = [](int) { return std::vector<int>(); };
  const auto strategy = make_strategy({plan,
                                       {},
                                       store ? stored_finalists(*store, plan) : nothing_run_yet,
                                       store ? store->first_block_of_form() : 1});
  // Of these it is not known yet which points they will be.
  const int added = one_by_one ? static_cast<int>(trials)
                               : std::max(0, strategy->remaining(History()) - workload_trials(plan));
  // One by one: `trials` are those.
  const int further = one_by_one ? 0 : added;
  Seconds most{0};
  for (const PlanWorkload& workload : plan.workloads)
    most = std::max(most, workload.spec.timeout + workload.spec.grace,
                    [](Seconds x, Seconds y) { return x.value() < y.value(); });
  if (!prepared.knobs.empty()) expected.settle = plan.experiment.conditions.settle * (trials + further);
  expected.at_most = expected.at_most + expected.settle + most * static_cast<double>(added);
  expected.trials = workload_trials(plan);
  expected.most = expected.trials + further;
  if (const auto bought = plan.experiment.budget.trials; bought && *bought <= expected.trials) {
    expected.trials = expected.most = *bought;
    expected.at_most = std::min(expected.at_most, expected.settle + most * static_cast<double>(*bought),
                                [](Seconds x, Seconds y) { return x.value() < y.value(); });
  }
  if (history.workload_trials() > 0) {
    // It knows what is left once it has been asked for what comes next.
    const bool finished = strategy->next(history) == nullptr;
    // All told: warm-ups and idle windows are in what has been spent.
    expected.from_former_trials =
        finished ? Seconds{0}
                 : history.spent() *
                       (static_cast<double>(strategy->remaining(history)) / history.workload_trials());
  }
  expected.budget = strategy->announcement(history);
  return expected;
}

// A sweep of nothing but parameters answers no question unless their values compete.
std::string nothing_is_compared(const Plan& plan) {
  std::vector<std::string> parameters;
  for (const PlanAxis& axis : plan.axes) {
    if (axis.knob) return {};
    parameters.push_back(axis.name);
  }
  std::set<std::string> scenarios;
  for (const PlanPoint& point : plan.points) scenarios.insert(point.scenario);
  if (plan.points.size() < 2 || scenarios.size() < plan.points.size()) return {};
  if (parameters.empty()) return {};  // several workloads: each is a question of its own
  const std::string names = join(parameters, ", ");
  return fmt::format(
      "each value of {} is work of another kind, so nothing is compared; where each run does the same work: "
      "objective: "
      "{{minimise: {}, across: [{}], same work: true}}; where a metric counts it: per: METRIC",
      names, to_string(plan.experiment.objective.minimise), names);
}

// How often others are up than before: they end with each block, and a search chooses its trials one by one.
// Nobody starts what is attached to.
int service_starts(const Plan& plan) {
  if (std::all_of(plan.services.begin(), plan.services.end(),
                  [](const PlanService& service) { return service.spec.attached(); }))
    return 0;
  int starts = 0;
  std::string up;
  int block = 0;
  for (const PlannedTrial& trial : plan.trials) {
    if (is_idle(trial.role) || trial.block != block) up.clear();
    block = trial.block;
    const std::string& needed = plan.points[static_cast<std::size_t>(trial.point)].services;
    if (is_idle(trial.role) || needed == up) continue;
    up = needed;
    if (!up.empty()) ++starts;
  }
  return starts;
}

// What takes time besides.
std::string besides_trials(const Plan& plan) {
  const bool warms_up = plan.experiment.conditions.warm_up > 0, rests = idle_windows(plan) > 0;
  if (warms_up && rests) return ", warm-ups and idle windows";
  return warms_up ? ", and warm-ups" : rests ? ", and idle windows" : "";
}

// Behind "expected time: ", of a search "expected time, at most: ".
std::string time_text(const Plan& plan, const ExpectedTime& time) {
  const bool may_add = time.most > time.trials;
  if (time.from_former_trials)
    return fmt::format("{}{} for what is left, going by the finished trials",
                       may_add && time.from_former_trials->value() > 0 ? "at most " : "",
                       format_duration(*time.from_former_trials));
  const auto& budget = plan.experiment.budget.time;
  // How many that is depends on how long they take.
  if (may_add && budget)
    return fmt::format("{} x the workload's own time{}, and further ones within the budget of {}",
                       time.trials, besides_trials(plan), format_duration(*budget));
  return fmt::format("{}{} of settling plus {}{} x the workload's own time (their timeouts add up to {}){}",
                     may_add && time.settle.value() > 0 ? "at most " : "", format_duration(time.settle),
                     may_add ? fmt::format("{} to ", time.trials) : "", time.most,
                     format_duration(time.at_most), besides_trials(plan));
}

std::string program_or_whose(const PlanService& service) {
  if (service.spec.attached_pid)
    return fmt::format("attached to process {}", service.spec.attached_pid->text);
  if (service.spec.attached_address) return "attached to " + service.spec.attached_address->text;
  return join(service.executables, ", ");
}

std::string values_text(const PlanAxis& axis) {
  std::vector<std::string> texts;
  for (const AxisValue& value : axis.values) texts.push_back(printable(value.text));
  return join(texts, ", ");
}

// What would keep a run from starting although the file is right: sensors, users, an older result.
struct Runnable {
  std::string energy_source;
  std::vector<std::string> sensors;   // what the audit found, a line each
  std::vector<std::string> problems;  // empty: a run would start
  int exit_code = 0;
  std::vector<std::string> notes;  // what is not as hoped, but no obstacle
  bool resumes = false;
  std::vector<std::string> refused_axes;  // that the guardian would not set
  bool another_runs = false;              // and has set what stands now
  bool another_was_cut_off = false;       // likewise
};

void note(const Error& error, Runnable& runnable) {
  runnable.problems.push_back(error.what() + (error.hint().empty() ? "" : "\n    hint: " + error.hint()));
  runnable.exit_code = std::max(runnable.exit_code, static_cast<int>(error.code()));
}

// The result that a run would go on with; where the file changed, a copy of it as it would become. nullopt: there is none, or it could not.
std::optional<Store> result_to_go_on_with(PreparedExperiment& prepared, const std::string& result,
                                          const Sysfs& sysfs, Runnable& runnable) {
  if (::access(result.c_str(), F_OK) != 0) return std::nullopt;
  const ActingAs owner(invoking_owner());
  try {
    std::optional<Store> store(Store::open(result, Database::Mode::read_only));
    const PlanChange change = change_since(*store, prepared.plan, facts_of(prepared, sysfs), result);
    for (const auto* texts : {&change.asks, &change.adds, &change.drops}) {
      for (const std::string& text : *texts)
        runnable.notes.push_back("a run goes on with what changed: " + printable(text));
    }
    if (change.any()) {
      store->go_on_in_private_copy();
      store->grow(prepared.plan, change, system_clock().wall_time());
    }
    follow_result(*store, prepared.plan);
    runnable.resumes = true;
    return store;
  } catch (const Error& error) {
    note(error, runnable);
    return std::nullopt;
  }
}

void look_whether_it_runs(const PreparedExperiment& prepared, std::optional<Store>& result,
                          const Sysfs& sysfs, GuardClient& guard, Runnable& runnable) {
  const auto note = [&](const Error& error) { dvfs_plan::note(error, runnable); };
  const StoredEnergy stored =
      result ? StoredEnergy{result->energy_source(), result->energy_sensors()} : StoredEnergy{};
  try {
    workload_users(prepared.plan);
  } catch (const Error& error) {
    note(error);
  }
  if (const auto obstacle = board_obstacle(prepared, sysfs)) note(*obstacle);
  if (const auto obstacle = attached_obstacle(prepared.plan)) note(*obstacle);
  for (const RefusedSetting& one : refused_settings(prepared, guard)) {
    runnable.refused_axes.push_back(one.axis);
    note(Error(ExitCode::machine_refuses, fmt::format("axis '{}': {}", one.axis, one.why), one.next_step));
  }
  // Read when the result is made, and kept in it.
  if (!runnable.resumes) try {
      for (const std::string& text : read_prior_results(prepared.plan, facts_of(prepared, sysfs)).notes)
        runnable.notes.push_back(text);
    } catch (const Error& error) {
      note(error);
    }
  try {
    // With a meter of the user's own the energy's source is chosen when the night begins: until then it is known what it says.
    SystemClock clock;
    const auto tell_of = [&](const EnergySource& chosen, const std::vector<Channel>& channels) {
      if (auto text = note_on_choice(prepared.plan.experiment, channels, chosen))
        runnable.notes.push_back(std::move(*text));
    };
    Launcher launcher;
    const OwnMeters heard = hear_own_meters(prepared.plan.experiment, guard);
    runnable.sensors = heard.lines;
    if (!heard.lines.empty() && !heard.told_a_value)
      runnable.notes.push_back(
          "no meter of yours told a value: where none does in the night either, no trial has an energy of "
          "theirs; "
          "`check --rehearse` tries it");
    if (!runnable.sensors.empty()) {
      const auto channels = channels_to_be(prepared.plan.experiment, prepared.gpus, sysfs, launcher, clock);
      tell_of(choose_energy(prepared.plan.experiment, channels, SensorCheck(), stored), channels);
      return;
    }
    Sampler sampler(choose_probes(prepared.plan.experiment, prepared.gpus, sysfs, {}, launcher, clock).probes,
                    clock);
    const SensorCheck sensors = check_sensors(sampler, clock);
    runnable.sensors = audit_lines(sensors.audit, sampler.channels());
    const EnergySource chosen = choose_energy(prepared.plan.experiment, sampler.channels(), sensors, stored);
    runnable.energy_source = chosen.name;
    tell_of(chosen, sampler.channels());
  } catch (const Error& error) {
    note(error);
  }
}

std::string check_text(const PreparedExperiment& prepared, const Runnable& runnable, const ExpectedTime& time,
                       const std::string& result, const Sysfs& sysfs) {
  const Plan& plan = prepared.plan;
  std::string text = fmt::format("{}: {}\n\n", printable(plan.experiment.name),
                                 !runnable.problems.empty() ? "the file is right, but a run would not start:"
                                 : runnable.another_runs
                                     ? "this machine can run it, once the sweep that has it now has ended"
                                     : "this machine can run it");
  for (const std::string& problem : runnable.problems) text += "  " + problem + "\n";
  if (const std::string note = nothing_is_compared(plan); !note.empty())
    text += "  note: " + printable(note) + "\n";
  for (const std::string& one : runnable.notes) text += "  note: " + printable(one) + "\n";
  if (!runnable.problems.empty()) text += "\n";
  if (!runnable.energy_source.empty())
    text += fmt::format("  energy of {}\n", printable(runnable.energy_source));
  for (const std::string& line : runnable.sensors) text += "  sensor " + printable(line) + "\n";
  for (const PlanAxis& axis : plan.axes)
    text += fmt::format("  {} ({}): {}\n", axis.name, axis.knob ? "knob" : "parameter", values_text(axis));
  for (const PlanWorkload& workload : plan.workloads) {
    text += fmt::format("  workload {}: {}\n", printable(workload.spec.name),
                        printable(join(workload.executables, ", ")));
  }
  for (const PlanService& service : plan.services)
    text += fmt::format("  service {}: {}\n", service.spec.name, printable(program_or_whose(service)));
  if (const int starts = service_starts(plan); starts > 0)
    text += fmt::format("  services are started for {} groups of trials\n", starts);
  const int trials = workload_trials(plan);
  const int idle = idle_windows(plan);
  if (plan.experiment.search.one_by_one()) {
    text += fmt::format("\n{}, of which 'search: {}' runs at most {}\n",
                        counted(static_cast<int>(plan.points.size()), "point"), plan.experiment.search.method,
                        counted(trials, "trial"));
  } else {
    text += fmt::format("\n{}, {}: {}{}, {}\n", counted(static_cast<int>(plan.points.size()), "point"),
                        counted(plan.experiment.repeat.min, "block"), counted(trials, "trial"),
                        idle > 0 ? " and " + counted(idle, "idle window") : "",
                        plan.experiment.shuffled
                            ? fmt::format("in shuffled blocks (seed {})", plan.experiment.seed)
                            : "in the order listed");
  }
  if (!time.budget.empty()) text += time.budget + "\n";
  constexpr std::size_t most = 40;
  for (std::size_t i = 0; i < std::min(most, plan.points.size()); ++i) {
    const std::size_t at_once = instances_of(plan, plan.points[i]).size();
    text += fmt::format("  {}{}{}\n", printable(plan.points[i].key),
                        plan.points[i].reference ? "  (reference)" : "",
                        at_once > 1 ? fmt::format("  ({} at once)", at_once) : "");
  }
  if (plan.points.size() > most)
    text += fmt::format("  ... and {} more; --json lists all\n", plan.points.size() - most);
  text += plan.experiment.search.one_by_one() ? "\nexpected time, at most: " : "\nexpected time: ";
  text += time_text(plan, time) + "\n";
  const auto files = settings_of(prepared.knobs);
  if (files.empty()) {
    text += "\nnothing on the machine would be set\n";
  } else {
    text +=
        runnable.another_runs || runnable.another_was_cut_off
            ? "\nwould be set, and put back to what it is then; what follows is what that sweep has set:\n"
            : "\nwould be set, and put back to what it is now:\n";
    SettingAccess access(sysfs, nvidia_doors());
    for (const SavedSetting& setting : files) {
      // A clock lock of NVIDIA's: nobody can say what it is now.
      if (!access.at(setting.path).can_be_read())
        text += fmt::format("  {}: cannot be read, and is reset afterwards\n", setting.path);
      else
        text += fmt::format("  {} = {}\n", shown_setting(setting.path), printable(setting.value));
    }
    if (std::any_of(files.begin(), files.end(),
                    [](const SavedSetting& one) { return is_command_setting(one.path); }))
      text +=
          "  and what programs of `set` take along of the CPUs' governors, clocks, preferences, power "
          "limits, idle states and threads, and of "
          "devfreq devices\n";
  }
  text += fmt::format("\nresult file: {}{}\n", result, runnable.resumes ? " (exists: a run resumes it)" : "");
  return text;
}

std::string check_json(const PreparedExperiment& prepared, const Runnable& runnable, const ExpectedTime& time,
                       const std::string& result) {
  const Plan& plan = prepared.plan;
  Json json{{"experiment", plan.experiment.name},
            {"runnable", runnable.problems.empty()},
            {"problems", runnable.problems},
            {"notes", runnable.notes},
            {"resumes", runnable.resumes},
            {"energy_source", runnable.energy_source.empty() ? Json(nullptr) : Json(runnable.energy_source)},
            {"sensors", runnable.sensors},
            {"axes", Json::object()},
            {"plan_hash", plan.hash},
            {"points", Json::array()},
            {"trials", workload_trials(plan)},
            {"idle_windows", idle_windows(plan)},
            {"blocks", plan.experiment.repeat.min},
            {"most_blocks", plan.experiment.repeat.max},
            {"budget", time.budget.empty() ? Json(nullptr) : Json(time.budget)},
            {"seed", plan.experiment.seed},
            {"result", result}};
  for (const PlanAxis& axis : plan.axes) {
    for (const AxisValue& value : axis.values) json["axes"][axis.name].push_back(value.text);
  }
  for (const PlanPoint& point : plan.points) {
    const auto instances = instances_of(plan, point);
    const auto argv = [&](const Instance& one) {
      const WorkloadSpec& spec = plan.workloads[static_cast<std::size_t>(one.workload)].spec;
      return command_line(spec, plan.axes, point.values, instance_words(spec, one)).argv;
    };
    json["points"].push_back(
        {{"point", point.key}, {"reference", point.reference}, {"argv", argv(instances[0])}});
    if (instances.size() > 1) {
      for (const Instance& one : instances)
        json["points"].back()["instances"].push_back({{"name", one.name}, {"argv", argv(one)}});
    }
    if (!plan.services.empty()) json["points"].back()["services"] = point.services;
  }
  for (const PlannedTrial& trial : plan.trials) json["order"].push_back(trial.key);
  if (!plan.services.empty()) json["service_starts"] = service_starts(plan);
  json["expected_settle_s"] = time.settle.value();
  json["at_most_s"] = time.at_most.value();
  json["expected_s"] = time.from_former_trials ? Json(time.from_former_trials->value()) : Json(nullptr);
  json["would_set"] = Json::array();
  for (const SavedSetting& setting : settings_of(prepared.knobs)) {
    const bool refused = std::any_of(runnable.refused_axes.begin(), runnable.refused_axes.end(),
                                     [&](const std::string& axis) { return axis == setting.knob; });
    json["would_set"].push_back({{"path", setting.path}, {"now", setting.value}, {"writable", !refused}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// What --json tells of a file with faults, beside what stderr tells: each on a line of its own there.
void tell_faults(const Error& error) {
  const std::string text = error.what();
  write_answer(Json{{"experiment", nullptr}, {"runnable", false}, {"problems", split_lines(text)}}.dump(
                   2, ' ', false, Json::error_handler_t::replace) +
               "\n");
}

int check_file(const CheckOptions& options) {
  const auto of_cluster = cluster_experiment(options.file);
  if (options.rehearse && of_cluster)
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} runs on a cluster's nodes: here there is nothing to rehearse", options.file),
                "leave 'machines' out and rehearse it on a node: srun dvfs-plan check --rehearse FILE");
  if (options.rehearse) {
    RunOptions run;
    static_cast<CommonOptions&>(run) = options;
    run.output = options.output;
    return rehearse(run);
  }
  if (const auto& experiment = of_cluster)
    return check_on_cluster(*experiment, result_path(options.output, *experiment), options.json);
  Sysfs sysfs(options.sysfs_root);
  GuardClient guard({.experiment = options.file,
                     .state_folder = options.state_folder,
                     .sysfs_root = options.sysfs_root,
                     .mode = GuardWish::Mode::looks});
  sysfs.use(&guard);
  auto prepared = prepare_experiment(options.file, sysfs);
  const std::string result = result_path(options.output, prepared.plan.experiment);
  Runnable runnable;
  std::optional<Store> store = result_to_go_on_with(prepared, result, sysfs, runnable);
  const auto time = expected_time(prepared, store);
  if (!prepared.warnings.empty()) write_stderr(fmt::format("{}", prepared.warnings));
  look_whether_it_runs(prepared, store, sysfs, guard, runnable);
  for (const GuardNote& note : guard.notes()) {
    runnable.another_runs = runnable.another_runs || note.text.starts_with(sweep_runs);
    runnable.another_was_cut_off = runnable.another_was_cut_off || note.text.starts_with(sweep_was_cut_off);
    runnable.notes.push_back(note.text + (note.next_step.empty() ? "" : "; " + note.next_step));
  }
  write_answer(fmt::format("{}", options.json ? check_json(prepared, runnable, time, result)
                                              : fitted(check_text(prepared, runnable, time, result, sysfs))));
  return runnable.exit_code;
}

int check_command(const CheckOptions& options) {
  try {
    return check_file(options);
  } catch (const Error& error) {
    if (options.json && error.code() == ExitCode::bad_experiment) tell_faults(error);
    throw;
  }
}

const Registered<CommandKind> check({.name = "check",
                                     .place = 10,
                                     .what = "validate an experiment against this machine; changes nothing",
                                     .examples = "dvfs-plan check night.yaml\n"
                                                 "sudo dvfs-plan check night.yaml --rehearse",
                                     .needs_rights = true,
                                     .declare = [](CLI::App& app) {
                                       const auto options = std::make_shared<CheckOptions>();
                                       app.add_option("FILE", options->file, "the experiment")->required();
                                       app.add_option("-o,--output", options->output,
                                                      "the result file the run would use");
                                       app.add_flag("--rehearse", options->rehearse,
                                                    "run each work once at its reference, with its meters, "
                                                    "and keep nothing of it: settings are set and put back");
                                       return declared(app, options, check_command);
                                     }});

}  // namespace
}  // namespace dvfs_plan
