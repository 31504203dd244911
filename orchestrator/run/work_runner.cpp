#include "orchestrator/run/work_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/acting_as.hpp"
#include "base/invoking_user.hpp"
#include "base/whole_file.hpp"
#include "experiments/plan/command_line.hpp"
#include "results/trial/judge_parts.hpp"
#include "results/trial/metrics.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_runs = 100'000;
constexpr std::size_t most_marks = 2'000'000;

// As far as it was not told whose output it is, several at once would be a mixture.
void append_output(CapturedOutput& all, const CapturedOutput& one, const std::string& name, std::size_t cap) {
  all.bytes += one.bytes;
  if (one.tail.empty()) return;
  if (!all.tail.empty() && all.tail.back() != '\n') all.tail += '\n';
  all.tail += fmt::format("== {}\n{}", name, one.tail);
  if (all.tail.size() > cap) all.tail.erase(0, all.tail.size() - cap);
}

// Who ends a whole job (Slurm that preempts it, a machine that shuts down) signals one process after another: the
// workload may be gone before its signal reaches us. Such a trial is interrupted, and run again later.
constexpr Seconds signals_apart{1};
bool ended_from_outside(const ChildrenResult& ended) {
  return std::any_of(ended.each.begin(), ended.each.end(), [](const ChildResult& one) {
    return one.end == ChildResult::End::signalled &&
           (one.signal == SIGTERM || one.signal == SIGINT || one.signal == SIGHUP);
  });
}

}  // namespace

// What several runs of the command add up to.
struct WorkRunner::Totals {
  ChildResult child;  // of the last start; times, sizes and processes of all
  double counted = 0;
  std::size_t marks = 0;

  void add(ChildResult&& one, const std::string& name, bool alone, std::size_t cap) {
    const bool first = child.end == ChildResult::End::not_launched && child.started == 0;
    child.started = first ? one.started : std::min(child.started, one.started);
    child.ended = std::max(child.ended, one.ended);
    child.user_time = child.user_time + one.user_time + one.left_user_time;
    child.system_time = child.system_time + one.system_time + one.left_system_time;
    child.max_rss_bytes = std::max(child.max_rss_bytes, one.max_rss_bytes);
    child.leftovers += one.leftovers;
    child.stopped_meanwhile = child.stopped_meanwhile || one.stopped_meanwhile;
    child.child_was_stopped = child.child_was_stopped || one.child_was_stopped;
    if (one.stuck > 0) child.stuck = one.stuck;
    if (!one.regions_problem.empty()) child.regions_problem = one.regions_problem;
    if (alone) {
      const std::uint64_t output = child.output.bytes + one.output.bytes,
                          errors = child.errors.bytes + one.errors.bytes;
      child.output = std::move(one.output);
      child.errors = std::move(one.errors);
      child.output.of_earlier_runs = output - child.output.bytes;
      child.errors.of_earlier_runs = errors - child.errors.bytes;
      child.output.bytes = output;
      child.errors.bytes = errors;
    } else {
      append_output(child.output, one.output, name, cap);
      append_output(child.errors, one.errors, name, cap);
    }
    // Of several the first that failed by itself; those that were ended because of it are no reason.
    const auto fine = [](const ChildResult& result) {
      return result.end == ChildResult::End::exited && result.exit_code == 0;
    };
    const bool is_reason = !fine(one) && one.end != ChildResult::End::ended_with_others;
    if (first || (is_reason && fine(child))) {
      child.end = one.end;
      child.exit_code = one.exit_code;
      child.signal = one.signal;
    }
    if (child.end == ChildResult::End::ended_with_others) child.end = ChildResult::End::exited;
  }
};

bool WorkRunner::run(const PlanPoint& point, TrialRecord& trial) {
  const WorkloadSpec& workload = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
  per_ = objective_of(plan_.experiment, workload).per;
  metrics_ = BoundedMetrics(per_);
  const bool whole = run_until_enough(point, trial);
  trial.metrics = metrics_.take(trial.events);
  return whole;
}

bool WorkRunner::run_until_enough(const PlanPoint& point, TrialRecord& trial) {
  const auto instances = instances_of(plan_, point);
  const WorkloadSpec& workload = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
  const MeasureSpec& wanted = measure_of(plan_.experiment, workload);
  region_ = wanted.region;
  Seconds timeout{0};  // of the one that has the longest; 0 s: one has none
  for (const Instance& one : instances) {
    const Seconds mine = spec_of(one).timeout;
    timeout = (&one != &instances.front() && timeout.value() == 0) || mine.value() == 0
                  ? Seconds{0}
                  : std::max(timeout, mine);
  }
  marked_.clear();
  Totals all;
  for (;;) {
    const std::size_t before = marked_.size();
    const Once once = run_once(point, instances, trial, all);
    if (once == Once::interrupted) return false;
    if (once == Once::not_launched) return true;
    trial.child = all.child;
    const bool fine = trial.child.end == ChildResult::End::exited && trial.child.exit_code == 0 &&
                      trial.verdict == Verdict::ok;
    if (!fine || !wanted.at_least) return true;
    if (machine_.interruption.pending() != 0) return false;
    const std::span<const MarkedRun> fresh(marked_.begin() + static_cast<std::ptrdiff_t>(before),
                                           marked_.end());
    const double more = counted_seconds(counted_spans(find_regions(fresh, wanted.region), 0));
    all.counted += more;
    for (const MarkedRun& run : fresh) all.marks += run.marks.marks.size();
    if (all.counted >= wanted.at_least->value()) return true;
    if (more <= 0) return true;  // nothing counts: the judge says why
    // The timeout bounds the trial, not only each run: a region of 1 ms in a command of a minute is no plan.
    const bool too_long = timeout.value() > 0 && seconds(trial.child.ended - trial.child.started) >= timeout;
    if (too_long || marked_.size() >= most_runs || all.marks >= most_marks) {
      trial.events.push_back(
          {"shorter_than_asked",
           fmt::format("{:.3g} s counted in {} runs; 'measure' asks for at least {}, which {} not "
                       "allow",
                       all.counted, marked_.size(), format_duration(*wanted.at_least),
                       too_long ? fmt::format("the timeout of {} does", format_duration(timeout))
                                : std::string("the number of runs and marks that are kept does"))});
      return true;
    }
  }
}

// All that are to run at once, once.
WorkRunner::Once WorkRunner::run_once(const PlanPoint& point, const std::vector<Instance>& instances,
                                      TrialRecord& trial, Totals& all) {
  const bool alone = instances.size() == 1;
  metrics_.begin();
  trial.unreadable_at_last.clear();  // the last start's values count
  Launcher& launcher = machine_.programs.launcher;
  std::map<int, FilesBefore> files_before;  // by workload
  for (const Instance& one : instances) files_before.emplace(one.workload, metric_files(spec_of(one)));
  tell_guard_of_traces();
  std::vector<Child> children;
  std::vector<ChildLimits> limits;
  std::vector<std::string> names;
  StartGate gate;
  if (!alone) gate = launcher.make_gate();
  for (const Instance& one : instances) {
    LaunchSpec spec = launch_spec(point, one, trial.block, alone);
    spec.gate = gate.path();
    auto launched = launcher.launch(spec, machine_.clock);
    if (!launched.child) {
      children.clear();  // ends those that were started
      machine_.guard.note_child(0);
      trial.child = ChildResult();
      trial.child.problem = alone ? launched.problem : one.name + ": " + launched.problem;
      return Once::not_launched;
    }
    if (children.empty()) {
      tell_guard_of_traces();  // the first one makes the folder of FIFOs
      machine_.guard.note_child(launched.child->pid());
    }
    children.push_back(std::move(*launched.child));
    const WorkloadSpec& workload = spec_of(one);
    limits.push_back({workload.timeout, workload.grace, workload.output_cap, region_});
    names.push_back(one.name);
  }
  ChildrenResult ended =
      wait_for_all(children, limits, names, alone ? nullptr : &gate, &machine_.interruption, machine_.clock);
  machine_.guard.note_child(0);
  for (const ChildResult& one : ended.each) {
    if (one.end == ChildResult::End::interrupted) return Once::interrupted;
  }
  if (ended_from_outside(ended) &&
      !machine_.interruption.sleep_until(machine_.clock.now() + nanoseconds(signals_apart), machine_.clock))
    return Once::interrupted;
  if (!ended.gate_problem.empty()) set_verdict(trial, Verdict::instance_failed, ended.gate_problem);
  std::set<int> told,
      silent;  // workloads of which a copy says how much work it did, and of which one does not
  for (std::size_t i = 0; i < instances.size(); ++i) {
    ChildResult& result = ended.each[i];
    keep(instances[i], result, trial);
    if (!alone) keep_instance(instances[i], i, result, trial);
    // Copies have no such files (the resolver).
    if (const auto found = files_before.find(instances[i].workload); found != files_before.end()) {
      const bool in_file = read_metric_files(spec_of(instances[i]), found->second, trial);
      (in_file || tells_units(result, marked_.back(), spec_of(instances[i]).metrics) ? told : silent)
          .insert(instances[i].workload);
    }
    all.add(std::move(result), instances[i].name, alone, spec_of(instances[i]).output_cap);
  }
  // Of different ones together some may do work that is not counted; of copies all say it or none does.
  const bool mixed =
      std::any_of(silent.begin(), silent.end(), [&](int workload) { return told.contains(workload); });
  trial.units_incomplete = trial.units_incomplete || told.empty() || mixed;
  return Once::went_on;
}

// What one run said of itself.
void WorkRunner::keep(const Instance& instance, ChildResult& result, TrialRecord& trial) {
  trial.runs.emplace_back(result.started, result.ended);
  if (!result.regions_problem.empty() && trial.runs.size() == 1)
    trial.events.push_back({"no_regions", "regions cannot be marked: " + result.regions_problem});
  marked_.push_back({result.started, result.ended, std::move(result.regions), {}});
  for (const CapturedOutput* stream : {&result.output, &result.errors}) {
    if (marked_.back().told_lost.empty()) marked_.back().told_lost = stream->lost_marks;
    std::map<std::string, std::string>
        unreadable;  // at last, in this stream: in which order two were written is not known
    find_metrics(
        stream->whole_lines(), spec_of(instance).metrics,
        [&](MetricRecord metric) {
          metric.run = static_cast<int>(marked_.size());
          unreadable.erase(metric.name);
          metrics_.add(std::move(metric));
        },
        [&](const std::string& name, const std::string& line) {
          constexpr std::size_t most = 100;
          if (unreadable.size() < most) unreadable[name] = line.substr(0, 120);
          if (name == per_ && trial.units_unreadable.empty()) trial.units_unreadable = line.substr(0, 120);
        });
    trial.unreadable_at_last.merge(unreadable);
  }
}

void WorkRunner::keep_instance(const Instance& instance, std::size_t place, const ChildResult& result,
                               TrialRecord& trial) const {
  InstanceRecord one;
  one.run = static_cast<int>(marked_.size());
  one.instance = static_cast<int>(place) + 1;
  one.workload = spec_of(instance).name;
  one.name = instance.name;
  one.started = result.started;
  one.ended = result.ended;
  one.end = result.end;
  one.exit_code = result.exit_code;
  one.signal = result.signal;
  one.user_time = result.user_time;
  one.system_time = result.system_time;
  constexpr std::size_t kept = 4096;  // the trial has the rest
  const auto end_of = [](const std::string& text) {
    return text.size() > kept ? text.substr(text.size() - kept) : text;
  };
  one.output_tail = end_of(result.output.tail);
  one.error_tail = end_of(result.errors.tail);
  trial.instances.push_back(std::move(one));
}

LaunchSpec WorkRunner::launch_spec(const PlanPoint& point, const Instance& instance, int block,
                                   bool alone) const {
  const WorkloadSpec& workload = spec_of(instance);
  const CommandLine command =
      command_line(workload, plan_.axes, point.values, instance_words(workload, instance));
  LaunchSpec spec;
  spec.argv = command.argv;
  spec.executable = find_executable(command.argv[0], plan_.experiment.folder, machine_.programs.path);
  // Gone since the plan was made: execve(2) says so, and the trial records it.
  if (spec.executable.empty()) spec.executable = command.argv[0];
  auto environment = machine_.programs.environments.at(workload.name);
  spec.run_as = machine_.programs.users.at(workload.name);
  for (const auto& [name, value] : command.environment) environment[name] = value;
  environment[run_variable] = machine_.guard.run();
  // What a workload draws at random by it is the same at every setting of a block, and varies from block to block as the world would.
  environment["DVFS_PLAN_BLOCK"] = std::to_string(block);
  if (!alone) {
    environment["DVFS_PLAN_INSTANCE"] = std::to_string(instance.copy);
    environment["DVFS_PLAN_INSTANCES"] = std::to_string(instance.copies);
  }
  for (const auto& [name, value] : environment) spec.environment.push_back(name + "=" + value);
  const std::filesystem::path folder(plan_.experiment.folder);
  spec.folder = (workload.folder ? folder / workload.folder->text : folder).string();
  for (const KnobFinding& finding : machine_.knobs) {
    const auto cpus = finding.knob->workload_cpus(*point.values[axis_of(plan_, finding.axis)]);
    if (!cpus.empty()) spec.cpus = cpus;
  }
  spec.regions = true;
  spec.grouped = true;
  return spec;
}

// Where the guardian finds what would outlive us.
void WorkRunner::tell_guard_of_traces() {
  Launcher& launcher = machine_.programs.launcher;
  machine_.guard.note_traces({launcher.region_folder(), launcher.group().control_group()});
}

std::string WorkRunner::metric_path(const WorkloadSpec& workload, const MetricRule& rule) const {
  const std::filesystem::path folder(plan_.experiment.folder);
  return ((workload.folder ? folder / workload.folder->text : folder) / rule.file->text).string();
}

// Who a workload runs as reads what it wrote: a link that it lays there leads root to nothing that it may not read itself.
std::optional<FileOwner> WorkRunner::writer_of(const WorkloadSpec& workload) const {
  const auto& user = machine_.programs.users.at(workload.name);
  return user ? FileOwner{user->user, user->group, user->groups} : invoking_owner();
}

// Files in which the workload tells metrics, as they are before it runs: one that is there already is of an earlier trial.
WorkRunner::FilesBefore WorkRunner::metric_files(const WorkloadSpec& workload) const {
  FilesBefore files;
  for (const MetricRule& rule : workload.metrics) {
    if (!rule.file) continue;
    const ActingAs user(writer_of(workload));
    const std::string path = metric_path(workload, rule);
    files[path] = identity_of(path);
  }
  return files;
}

bool WorkRunner::read_metric_files(const WorkloadSpec& workload, const FilesBefore& before,
                                   TrialRecord& trial) {
  if (before.empty()) return false;
  bool units = false;
  const ActingAs user(writer_of(workload));
  std::map<std::string, std::string> texts, problems;
  for (const auto& [path, was] : before) {
    constexpr std::uint64_t largest = 64 << 20;
    std::error_code none;
    const auto now = identity_of(path);
    if (!now)
      problems[path] = "is not there";
    else if (was && *now == *was)
      problems[path] = marked_.size() > 1 ? "was not written by the last run of its command in this trial"
                                          : "was not written in this trial";
    else if (!std::filesystem::is_regular_file(path, none))
      problems[path] = "is no file";
    else if (now->size > largest)
      problems[path] = fmt::format("is larger than {} MiB", largest >> 20);
    else if (const int error = read_whole(path, largest, texts[path]); error != 0)
      problems[path] = fmt::format("cannot be read: {}", std::generic_category().message(error));
  }
  for (const MetricRule& rule : workload.metrics) {
    if (!rule.file) continue;
    const std::string path = metric_path(workload, rule);
    if (auto metric = find_in_document(texts[path], rule)) {
      metric->run = static_cast<int>(marked_.size());
      units = units || (!per_.empty() && metric->name == per_);
      metrics_.add(std::move(*metric));
      continue;
    }
    const std::string& problem = problems[path];
    trial.events.push_back(
        {"metric_missing", fmt::format("metric '{}': {} {}", rule.name, path,
                                       problem.empty() ? "has no number at " + rule.pattern : problem)});
  }
  return units;
}

// Whether one run says how much work it did, where the objective is per unit, and none of its output was cut.
bool WorkRunner::tells_units(const ChildResult& child, const MarkedRun& run,
                             const std::vector<MetricRule>& rules) const {
  const std::string& per = per_;
  if (per.empty()) return true;
  const auto is_it = [&](const auto& metric) { return metric.name == per; };
  if (std::any_of(run.marks.marks.begin(), run.marks.marks.end(),
                  [&](const RegionMark& m) { return m.kind == RegionMark::Kind::metric && is_it(m); }) ||
      std::any_of(run.marks.more_metrics.begin(), run.marks.more_metrics.end(),
                  [&](const auto& m) { return m.first.first == per; }))
    return true;
  if (child.output.truncated() || child.errors.truncated()) return false;
  bool told = false;
  for (const CapturedOutput* stream : {&child.output, &child.errors})
    find_metrics(stream->whole_lines(), rules,
                 [&](const MetricRecord& metric) { told = told || is_it(metric); });
  return told;
}

}  // namespace dvfs_plan
