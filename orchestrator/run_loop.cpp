#include "orchestrator/run_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/cpu_load.hpp"
#include "orchestrator/metrics.hpp"

namespace dvfs_plan {
namespace {

class RunLoop {
 public:
  RunLoop(RunWorld& world, const RunEvents& events) : world_(world), plan_(world.plan), events_(events) {
    for (const CpufreqPolicy& policy : cpufreq_access(world.sysfs)->policies())
      cpus_of_target_[policy.name] = policy.cpus;
    for (const Channel& channel : world.sampler.channels())
      load_matters_ = load_matters_ || channel.under_load_only;
  }

  RunEnd run() {
    auto finished = world_.store.finished_trials();
    const PlannedTrial* trial = world_.strategy.next(finished);
    while (trial != nullptr) {
      if (world_.interruption.pending() != 0) return RunEnd::interrupted;
      if (events_.begins)
        events_.begins(*trial, static_cast<int>(finished.size()), world_.strategy.remaining(finished));
      auto record = run_trial(*trial);
      if (!record) return RunEnd::interrupted;
      finished.insert(trial->key);
      trial = world_.strategy.next(finished);
      write(*record, trial != nullptr ? trial->key : "");
      if (events_.finished) events_.finished(*record);
    }
    return RunEnd::done;
  }

 private:
  // A result that somebody else holds, or a full disk, may pass: the trial is kept and tried again.
  void write(const TrialRecord& record, const std::string& next_key) {
    constexpr int most_tries = 120;  // of 5 s each
    for (int attempt = 1;; ++attempt) {
      try {
        return world_.store.write_trial(record, next_key);
      } catch (const StoreBusy& busy) {
        if (attempt == most_tries || world_.interruption.pending() != 0) throw;
        if (attempt == 1 && events_.waits) events_.waits(busy.what());
        world_.interruption.sleep_until(world_.clock.now() + nanoseconds(Seconds{1}), world_.clock);
      }
    }
  }

  const PlanPoint& point_of(const PlannedTrial& trial) const {
    return plan_.points[static_cast<std::size_t>(trial.point)];
  }

  // nullopt if it was interrupted.
  std::optional<TrialRecord> run_trial(const PlannedTrial& planned) {
    const PlanPoint& point = point_of(planned);
    TrialRecord trial;
    trial.key = planned.key;
    trial.point = planned.point;
    trial.block = planned.block;
    trial.position = planned.position;
    trial.started_at = world_.clock.wall_time();
    if (world_.guard != nullptr && world_.guard->keep_guardian()) {
      trial.events.push_back({"guardian_restarted", "the guardian process was gone and was started anew"});
    }
    if (world_.guard != nullptr) world_.launcher.own(world_.guard->guardian_pid());
    if (!apply_knobs(point, trial))
      return world_.interruption.pending() != 0 ? std::nullopt : std::optional(trial);
    const bool any_knob = !world_.knobs.empty();
    if (any_knob && !world_.interruption.sleep_until(
                        world_.clock.now() + nanoseconds(plan_.experiment.settle), world_.clock))
      return std::nullopt;
    const auto busy = launch(point, trial);
    if (trial.child.end == ChildResult::End::interrupted) return std::nullopt;

    const WorkloadSpec& spec = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
    trial.metrics = find_metrics(trial.child.output.tail, spec.metrics);
    const auto more = find_metrics(trial.child.errors.tail, spec.metrics);
    trial.metrics.insert(trial.metrics.end(), more.begin(), more.end());
    judge(trial, judge_input(point, busy));
    for (const Reading& reading : trial.readings) {
      if (reading.value) world_.last_values[reading.channel] = *reading.value;
    }
    return trial;
  }

  // False if a knob was refused, or on interruption.
  bool apply_knobs(const PlanPoint& point, TrialRecord& trial) {
    constexpr int tries = 3;  // a firmware's cap or a busy driver may pass
    for (KnobFinding& finding : world_.knobs) {
      const auto axis = axis_of(finding.axis);
      const AxisValue& value = *point.values[axis];
      std::vector<AppliedSetting> applied;
      std::string problem;
      for (int attempt = 1; attempt <= tries; ++attempt) {
        applied = finding.knob->apply(value);
        const auto failed = std::find_if(applied.begin(), applied.end(),
                                         [](const AppliedSetting& s) { return !s.problem.empty(); });
        problem = failed == applied.end() ? std::string{} : failed->problem;
        if (problem.empty() || attempt == tries) break;
        if (!world_.interruption.sleep_until(world_.clock.now() + nanoseconds(Seconds{0.1}), world_.clock))
          return false;
      }
      for (const AppliedSetting& setting : applied) {
        trial.settings.push_back(
            {static_cast<int>(axis), setting.target, setting.requested, setting.applied, {}, {}, {}, 0});
      }
      if (problem.empty()) continue;
      trial.knob_refused = true;
      trial.verdict = Verdict::knob_refused;
      trial.verdict_text = problem;
      return false;
    }
    return true;
  }

  std::size_t axis_of(const std::string& name) const {
    for (std::size_t i = 0; i < plan_.axes.size(); ++i) {
      if (plan_.axes[i].name == name) return i;
    }
    throw Error(ExitCode::machine_refuses, fmt::format("internal: knob {} is no axis of the plan", name));
  }

  LaunchSpec launch_spec(const PlanPoint& point) const {
    const PlanWorkload& workload = plan_.workloads[static_cast<std::size_t>(point.workload)];
    const CommandLine command = command_line(workload.spec, plan_.axes, point.values);
    LaunchSpec spec;
    spec.argv = command.argv;
    const auto path = world_.environment.find("PATH");
    spec.executable = find_executable(command.argv[0], plan_.experiment.folder,
                                      path == world_.environment.end() ? "" : path->second);
    // Gone since the plan was made: execve(2) says so, and the trial records it.
    if (spec.executable.empty()) spec.executable = command.argv[0];
    auto environment = world_.environment;
    spec.run_as = world_.users.at(workload.spec.name);
    if (spec.run_as) {
      environment["USER"] = environment["LOGNAME"] = spec.run_as->name;
      environment["HOME"] = spec.run_as->home;
    }
    for (const auto& [name, value] : command.environment) environment[name] = value;
    if (world_.guard != nullptr) environment["DVFS_PLAN_RUN"] = world_.guard->run();
    for (const auto& [name, value] : environment) spec.environment.push_back(name + "=" + value);
    const std::filesystem::path folder(plan_.experiment.folder);
    spec.folder = (workload.spec.folder ? folder / workload.spec.folder->text : folder).string();
    for (const KnobFinding& finding : world_.knobs) {
      const auto cpus = finding.knob->workload_cpus(*point.values[axis_of(finding.axis)]);
      if (!cpus.empty()) spec.cpus = cpus;
    }
    return spec;
  }

  // Runs the workload under the sampler; returns how busy each CPU was meanwhile.
  std::map<int, double> launch(const PlanPoint& point, TrialRecord& trial) {
    const WorkloadSpec& workload = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
    const LaunchSpec spec = launch_spec(point);
    const auto load_before = load_matters_ ? read_cpu_times(world_.sysfs) : CpuTimesOfAll{};
    world_.sampler.start();
    auto launched = world_.launcher.launch(spec, world_.clock);
    if (!launched.child) {
      world_.sampler.stop();
      trial.child.problem = launched.problem;
      return {};
    }
    if (world_.guard != nullptr) world_.guard->note_child(launched.child->pid());
    trial.child = launched.child->wait({workload.timeout, workload.grace, workload.output_cap},
                                       &world_.interruption, world_.clock);
    trial.readings = world_.sampler.stop();
    if (world_.guard != nullptr) world_.guard->note_child(0);
    return load_matters_ ? busy_between(load_before, read_cpu_times(world_.sysfs)) : std::map<int, double>{};
  }

  JudgeInput judge_input(const PlanPoint& point, const std::map<int, double>& busy) const {
    JudgeInput input;
    input.channels = world_.sampler.channels();
    input.energy_channels = world_.energy_channels;
    input.energy_needed = plan_.experiment.objective != Objective::time;
    input.last_values = world_.last_values;
    input.busy = busy;
    input.cpus_of_target = cpus_of_target_;
    for (const KnobFinding& finding : world_.knobs) {
      const auto axis = axis_of(finding.axis);
      const AxisOffer offer = finding.knob->offer();
      if (offer.dimension != Dimension::frequency || !point.values[axis]->number) continue;
      std::vector<double> offered;
      for (const AxisValue& value : offer.values) offered.push_back(*value.number);
      const double wanted = *point.values[axis]->number;
      input.requested[static_cast<int>(axis)] = wanted;
      if (is_turbo_step(offered, wanted)) input.turbo_steps.insert(static_cast<int>(axis));
      input.tolerance[static_cast<int>(axis)] =
          delivered_tolerance(offered, offer.continuous.has_value(), wanted);
    }
    return input;
  }

  RunWorld& world_;
  const Plan& plan_;
  const RunEvents& events_;
  std::map<std::string, std::vector<int>> cpus_of_target_;
  bool load_matters_ =
      false;  // /proc/stat is read only where the judge asks: it costs a tenth of a small trial
};

}  // namespace

RunEnd run_trials(RunWorld& world, const RunEvents& events) {
  return RunLoop(world, events).run();
}

}  // namespace dvfs_plan
