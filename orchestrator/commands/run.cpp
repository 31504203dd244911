// dvfs-plan FILE.yaml: run or resume, then report.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/options.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/invoking_user.hpp"
#include "orchestrator/machine_facts.hpp"
#include "orchestrator/progress.hpp"
#include "orchestrator/run_loop.hpp"
#include "orchestrator/sensor_check.hpp"
#include "results/report.hpp"

namespace dvfs_plan {
namespace {

// Moves a former result out of the way, whole: what is finished is never lost.
void set_aside(const std::string& path, const Clock& clock, Progress& progress) {
  if (::access(path.c_str(), F_OK) != 0) return;
  { Store::open(path, Database::Mode::read_write); }  // closing it folds its write-ahead log into it
  std::string stamp = clock.wall_time();
  for (char& c : stamp) {
    if (c == ':') c = '-';
  }
  const std::string aside = path.substr(0, path.rfind(".sqlite")) + "." + stamp + ".sqlite";
  std::filesystem::rename(path, aside);
  progress.say(fmt::format("the former result is kept as {}", aside));
}

void refuse_if_changed(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts, const std::string& path) {
  std::vector<std::string> differences;
  if (store.plan_hash() != plan.hash) differences = plan_differences(store.canonical_plan(), plan.canonical);
  for (std::string& difference : decisive_differences(store.machine_facts(), facts)) differences.push_back(std::move(difference));
  if (differences.empty()) return;
  std::string message = fmt::format("{} holds trials of another plan; what changed:", path);
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i) message += "\n  " + printable(differences[i]);
  if (differences.size() > most) message += fmt::format("\n  ... and {} more", differences.size() - most);
  throw Error(ExitCode::bad_experiment, message, "undo the change to resume, use --fresh to start a new result (the old one is kept), or --output for another file");
}

EnergySource choose_energy(const Experiment& experiment, const std::vector<Channel>& channels, const SensorCheck& check,
                           const std::string& stored) {
  const bool needed = experiment.objective != Objective::time;
  const auto unusable = check.unusable();
  std::string faults;
  for (const auto& fault : check.faults) faults += "\n  " + describe(fault, channels);
  if (experiment.energy_of) {
    const auto source = energy_source_of(experiment.energy_of->text, channels);
    if (source) {
      for (const auto channel : source->channels) {
        if (std::find(unusable.begin(), unusable.end(), channel) == unusable.end()) continue;
        throw Error(ExitCode::machine_refuses, fmt::format("'objective' asks for the energy of '{}', which cannot be measured now:{}", experiment.energy_of->text, faults), "`dvfs-plan doctor` shows the sensors and the fix for each");
      }
      return *source;
    }
    std::set<std::string> domains;
    for (const Channel& channel : channels) {
      if (measures_energy(channel)) domains.insert(channel.domain);
    }
    throw Error(ExitCode::bad_experiment, fmt::format("{}:{}:{}: error: there is no energy domain '{}' here; there are: {}", experiment.file, experiment.energy_of->mark.line,
                                                      experiment.energy_of->mark.column, experiment.energy_of->text, domains.empty() ? "none" : join({domains.begin(), domains.end()}, ", ")));
  }
  const auto sources = energy_sources(channels, unusable);
  if (!stored.empty()) {
    for (const EnergySource& source : sources) {
      if (source.name == stored) return source;
    }
    throw Error(ExitCode::machine_refuses, fmt::format("the finished trials measured the energy of '{}', which cannot be measured now{}{}", stored, faults.empty() ? "" : ":", faults),
                "bring the sensor back and run the same command, or start anew with --fresh");
  }
  if (!sources.empty()) return sources.front();
  if (needed) {
    throw Error(ExitCode::machine_refuses, fmt::format("the objective is {}, but no energy sensor works here{}{}", to_string(experiment.objective), faults.empty() ? "" : ":", faults),
                "`dvfs-plan doctor` shows the sensors and the fix for each; without energy there is `objective: time`");
  }
  return {};
}

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options), sysfs_(options.sysfs_root), progress_(clock_, ::isatty(STDERR_FILENO) != 0, options.quiet) {}

  int run() {
    auto prepared = prepare_experiment(options_.file, sysfs_);
    if (!prepared.warnings.empty()) progress_.say(prepared.warnings);
    const Plan& plan = prepared.plan;
    const std::string path = result_path(options_, plan.experiment);
    const auto users = workload_users(plan);
    warn_about_root(users);
    const auto facts = machine_facts(sysfs_);
    if (!options_.fresh && ::access(path.c_str(), F_OK) == 0) {
      // Before anything is touched: a changed plan is refused while the machine is as it was.
      Store existing = Store::open(path, Database::Mode::read_only);
      refuse_if_changed(existing, plan, facts, path);
    }

    // Signals are blocked before the first thread, and the lock is taken before the first child.
    KnobGuard guard(options_.state_folder.empty() ? default_state_folder() : options_.state_folder, sysfs_, plan.experiment.file, clock_);
    if (guard.found_journal()) {
      progress_.say(fmt::format("an earlier run died; {} of its settings were put back", guard.found_journal()->restored));
    }
    auto probes = choose_probes(plan.experiment, sysfs_, launcher_, clock_);
    for (const std::string& note : probes.notes) progress_.say("note: " + note);
    Sampler sampler(std::move(probes.probes), clock_);
    if (options_.fresh) set_aside(path, clock_, progress_);
    const SensorCheck sensors = check_sensors(sampler, clock_);
    Store store = open_store(path, plan, sampler.channels(), facts, sensors);
    store.begin_session(::getpid(), boot_id(sysfs_), tool_version, clock_.wall_time());
    for (const auto& fault : sensors.faults) store.write_event({"sensor_" + std::string(to_string(fault.fault)), describe(fault, sampler.channels())});

    auto strategy = full_grid(plan);
    bool knobs_set = false;
    std::vector<SavedSetting> saved;
    for (const KnobFinding& finding : prepared.knobs) {
      const auto mine = finding.knob->snapshot();
      saved.insert(saved.end(), mine.begin(), mine.end());
      knobs_set = knobs_set || !mine.empty();
    }
    if (strategy->next(store.finished_trials()) != nullptr) {
      if (knobs_set) guard.arm(saved);
      RunWorld world{plan, prepared.knobs, sampler, energy_.channels, *strategy, store, knobs_set ? &guard : nullptr,
                     launcher_, interruption_, clock_, sysfs_, current_environment(), users};
      end_ = run_and_restore(world, guard, knobs_set);
    }
    store.end_session(end_ == RunEnd::done ? "done" : "interrupted", clock_.wall_time());
    return report(store, path);
  }

 private:
  void warn_about_root(const std::map<std::string, std::optional<Credentials>>& users) {
    if (::geteuid() != 0) return;
    for (const auto& [workload, user] : users) {
      if (!user) progress_.say(fmt::format("note: workload '{}' runs as root; `run_as: USER` makes it run as somebody else", printable(workload)));
    }
  }

  Store open_store(const std::string& path, const Plan& plan, const std::vector<Channel>& channels,
                   const std::map<std::string, std::string>& facts, const SensorCheck& sensors) {
    if (::access(path.c_str(), F_OK) == 0) {
      Store store = Store::open(path, Database::Mode::read_write);
      energy_ = choose_energy(plan.experiment, channels, sensors, store.energy_source());
      store.use_channels(channels);
      progress_.say(fmt::format("resuming {}: {} of {} trials are finished", path, store.finished_trials().size(), plan.trials.size()));
      return store;
    }
    energy_ = choose_energy(plan.experiment, channels, sensors, {});
    std::optional<FileOwner> owner;
    if (const auto user = invoking_user()) owner = FileOwner{user->user, user->group};
    return Store::create(path, plan, channels, {energy_.name, tool_version, clock_.wall_time(), facts}, owner);
  }

  RunEnd run_and_restore(RunWorld& world, KnobGuard& guard, bool knobs_set) {
    const RunEvents events{[this](const PlannedTrial& trial, int finished, int remaining) { progress_.begins(trial, finished, remaining); },
                           [this](const TrialRecord& trial) { progress_.finished(trial); }};
    RunEnd end = RunEnd::done;
    try {
      end = run_trials(world, events);
    } catch (...) {
      if (knobs_set) require_restored(guard.restore());
      throw;
    }
    if (knobs_set) {
      const RestoreOutcome outcome = guard.restore();
      for (const std::string& note : outcome.notes) progress_.say("note: " + note);
      require_restored(outcome);
    }
    return end;
  }

  int report(Store& store, const std::string& path) {
    const auto trials = store.trials();
    const Summary summary = summarise(store.experiment(), trials);
    fmt::print("{}", options_.json ? json_report(summary, trials) : terminal_report(summary, trials, ::isatty(STDOUT_FILENO) != 0));
    std::fflush(stdout);
    if (end_ == RunEnd::interrupted) {
      progress_.say(fmt::format("interrupted; the settings are as before. The same command goes on: dvfs-plan {}", shell_quote(options_.file)));
      return static_cast<int>(ExitCode::interrupted);
    }
    progress_.say(fmt::format("all of it is in {}", path));
    return static_cast<int>(summary.not_counted.empty() ? ExitCode::done : ExitCode::some_trials_failed);
  }

  const Options& options_;
  Interruption interruption_;
  SystemClock clock_;
  Sysfs sysfs_;
  Progress progress_;
  Launcher launcher_;
  EnergySource energy_;
  RunEnd end_ = RunEnd::done;
};

}  // namespace

int run_command(const Options& options) { return Run(options).run(); }

}  // namespace dvfs_plan
