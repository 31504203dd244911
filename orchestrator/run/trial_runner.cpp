#include "orchestrator/run/trial_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/conditions/other_setters.hpp"
#include "orchestrator/conditions/settling.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "results/trial/judge_parts.hpp"
#include "results/trial/metrics.hpp"

namespace dvfs_plan {
namespace {

// A trial is not lengthened by more than this on either side for the sake of its edges, however slow and late
// the sensor.
constexpr Seconds longest_lead{2.5}, longest_lateness{1};
// At least one whole interval between two renewals of the counter lies before the work and one behind it:
// they tell what the machine drew beside it.
constexpr double updates_beside = 2.5;
constexpr Seconds longest_wait_for_rest{60};
constexpr const char* all_online = "/sys/devices/system/cpu/online";
// From 0 to 1, another one for each trial and the same when it is run again.
double share_of(const std::string& key) {
  std::mt19937_64 random(std::hash<std::string>{}(key));
  return std::uniform_real_distribution<double>(0, 1)(random);
}

}  // namespace

TrialRunner::TrialRunner(LocalMachine& machine)
    : machine_(machine),
      plan_(machine.plan),
      services_(machine),
      work_(machine),
      gate_(machine.sensors.sampler, machine.plan.experiment.conditions.temperature_band,
            machine.plan.experiment.conditions.temperature_limit),
      throttles_(machine.sysfs),
      told_(machine.told) {
  for (const CpufreqPolicy& policy : cpufreq_access(machine.sysfs)->policies())
    cpus_of_target_[policy.name] = policy.cpus;
  watches_load_ = plan_.experiment.conditions.foreign_load.has_value();
  for (const Channel& channel : machine.sensors.sampler.channels())
    watches_load_ = watches_load_ || channel.under_load_only;
  for (const Channel& channel : machine.sensors.sampler.channels()) {
    if (measures_energy(channel))
      declared_late_ = std::max(declared_late_, Seconds{channel.late_by_s.value_or(0)});
  }
  Seconds late{0};
  for (const std::uint32_t channel : machine.sensors.energy_channels) {
    const auto model = machine.sensors.models.find(channel);
    if (model == machine.sensors.models.end()) continue;
    // Of one that is renewed once a second the look at the start is too short to tell.
    const auto& update = model->second.update ? model->second.update : model->second.seen_every;
    if (update) update_ = std::max(update_, *update);
    // What a gauge says of an edge it says half a window and its latency later.
    if (model->second.window && model->second.latency)
      late = std::max(late, *model->second.latency + *model->second.window * 0.5);
  }
  lead_ = std::min(update_ * updates_beside, longest_lead) + std::min(late, longest_lateness);
  for (const PlanWorkload& workload : plan_.workloads) files_.push_back(workload.files);
  for (const PlanService& service : plan_.services) service_files_.push_back(service.files);
  // Where no axis of the night may take some away.
  if (const auto online = machine.sysfs.text(all_online)) online_[""] = *online;
  sets_clocks_ = std::any_of(machine.knobs.begin(), machine.knobs.end(), [](const KnobFinding& finding) {
    return split_axis_name(finding.axis).base == "cpu.frequency";
  });
}

std::optional<TrialRecord> TrialRunner::run(const PlannedTrial& planned) {
  const PlanPoint& point = point_of(planned);
  const Nanoseconds began = machine_.clock.now();
  TrialRecord trial;
  static_cast<PlannedTrial&>(trial) = planned;
  trial.started_at = machine_.clock.wall_time();
  begin_block_with(planned);
  busy_.clear();
  others_on_boards_.clear();
  keep_guardian(trial);
  machine_.guard.keep_from(machine_.programs.launcher.group());
  // An idle window is of the machine alone.
  if (is_idle(trial.role)) services_.end_all(true);
  bool ready = set_all(point, trial);
  machine_.guard.keep_from(machine_.programs.launcher.group());
  if (machine_.interruption.pending() != 0) return std::nullopt;
  if (const auto online = machine_.sysfs.text(all_online); ready && online)
    online_.emplace(cpus_of(point), *online);
  bool interrupted = false;
  if (ready && !is_idle(trial.role)) ready = prepare_services(point, trial, interrupted);
  if (interrupted) return std::nullopt;
  if (ready) {
    if (!wait_for_conditions(trial)) return std::nullopt;
    if (!is_idle(trial.role)) require_unchanged_files(point, trial, false);
    if (!measure(point, trial)) return std::nullopt;
    if (is_idle(trial.role) && !wait_for_rest(point, trial)) return std::nullopt;
    if (!is_idle(trial.role)) require_unchanged_files(point, trial, true);
    if (const std::string died =
            services_.died(trial.child.end != ChildResult::End::exited || trial.child.exit_code != 0);
        !died.empty())
      set_verdict(trial, Verdict::service_died, died);
    for (EventRecord& event : services_.grown()) trial.events.push_back(std::move(event));
    // Whatever was measured, it was of another setting.
    if (machine_.guard.sessions_lost() != lost_when_set_ && !machine_.knobs.empty())
      set_verdict(
          trial, Verdict::changed_meanwhile,
          "the guardian's session ended during the trial: its settings may have been put back meanwhile");
    constexpr Nanoseconds between_two_looks = 10'000'000;  // at the two clocks
    if (suspended_ > between_two_looks)
      set_verdict(
          trial, Verdict::stopped,
          fmt::format("the machine was suspended for {} meanwhile: meters went on, the trial's clock did not",
                      format_duration(seconds(suspended_))));
    const std::string capped = judge_changes(trial);
    judge_online(point, trial);
    note_rules(point, trial);
    judge(trial, judge_input(point, is_idle(trial.role)));
    // Where the delivered clock has not told of it already.
    if (!capped.empty() && trial.verdict != Verdict::not_delivered)
      set_verdict(trial, Verdict::throttled, capped);
    judge_missing_marks(point.scenario, trial);
    judge_members(point, trial);
    judge_others_on_boards(trial);
    note_units(point, trial);
    machine_.sensors.earlier.add(trial.readings);
  }
  trial.slot_s = seconds(machine_.clock.now() - began).value();
  return trial;
}

// The temperatures of a block's first trial, and of the first one behind its warm-ups, are those that its
// later ones wait for.
void TrialRunner::begin_block_with(const PlannedTrial& planned) {
  if (is_idle(planned.role)) return;
  const auto warms_up = [](const TrialId& id) { return id.role == TrialRole::warm_up; };
  if (last_ && last_->block != planned.block) services_.end_all(true);
  if (!last_ || last_->block != planned.block || (warms_up(*last_) && !warms_up(planned)))
    gate_.begin_block();
  last_ = planned;
}

const PlanPoint& TrialRunner::point_of(const PlannedTrial& trial) const {
  return plan_.points[static_cast<std::size_t>(trial.point)];
}

bool TrialRunner::sleep(Seconds length) {
  return length.value() <= 0 ||
         machine_.interruption.sleep_until(machine_.clock.now() + nanoseconds(length), machine_.clock);
}

// False if a knob was refused, or on interruption.
bool TrialRunner::apply_knobs(const PlanPoint& point, TrialRecord& trial) {
  constexpr int tries = 3;  // a firmware's cap or a busy driver may pass
  stands_.clear();
  trial.settings.clear();
  for (KnobFinding& finding : machine_.knobs) {
    const auto axis = axis_of(plan_, finding.axis);
    const AxisValue& value = *point.values[axis];
    std::vector<AppliedSetting> applied;
    std::string problem;
    for (int attempt = 1; attempt <= tries; ++attempt) {
      applied = finding.knob->apply(value, machine_.guard);
      for (const AppliedSetting& setting : applied) {
        if (!setting.note.empty()) trial.events.push_back({"changed_by_others", setting.note});
      }
      const auto failed = std::find_if(applied.begin(), applied.end(),
                                       [](const AppliedSetting& s) { return !s.problem.empty(); });
      problem = failed == applied.end() ? std::string{} : failed->problem;
      if (problem.empty() || attempt == tries) break;
      if (!machine_.interruption.sleep_until(machine_.clock.now() + nanoseconds(Seconds{0.1}),
                                             machine_.clock))
        return false;
    }
    for (const AppliedSetting& setting : applied) {
      for (const SavedSetting& one : setting.stands) stands_.push_back({one, trial.settings.size()});
      trial.settings.push_back({static_cast<int>(axis),
                                setting.target,
                                setting.requested,
                                setting.applied,
                                {},
                                {},
                                {},
                                0,
                                {},
                                {},
                                setting.power_limit});
    }
    if (!problem.empty()) {
      refuse(trial, problem);
      return false;
    }
  }
  return true;
}

void TrialRunner::refuse(TrialRecord& trial, const std::string& problem) {
  trial.knob_refused = true;
  trial.verdict = Verdict::knob_refused;
  trial.verdict_text = problem;
}

void TrialRunner::forget_refusal(TrialRecord& trial) {
  trial.knob_refused = false;
  trial.verdict = Verdict::ok;
  trial.verdict_text.clear();
}

// A scenario of which an earlier trial marked a region and this one does not: its marks were lost on the way.
void TrialRunner::judge_missing_marks(const std::string& scenario, TrialRecord& trial) {
  if (is_idle(trial.role) || trial.verdict != Verdict::ok) return;
  if (!trial.region.empty()) {
    told_.marked.insert(scenario);
  } else if (told_.marked.contains(scenario)) {
    set_verdict(trial, Verdict::no_region,
                "the workload marked no region, and did in an earlier trial: what counts is not known");
  }
}

// Of different workloads that run at once each may tell nothing of what decides, and mark nothing: but then it never does. Else its work would
// be counted in some trials and not in others, and a limit judged by the other ones alone. Which of them it is shows in whatever order they run.
void TrialRunner::judge_members(const PlanPoint& point, TrialRecord& trial) {
  if (is_idle(trial.role) || trial.verdict != Verdict::ok) return;
  const auto verdict = [](const std::string& name) {
    return name.empty() ? Verdict::no_region : Verdict::no_metric;
  };
  const auto lacks = [](const std::string& name) {
    return name.empty() ? std::string("marked no region") : fmt::format("told no '{}'", printable(name));
  };
  const auto members = told_by_members(trial);
  for (const auto& [member, its] : members) {
    for (const auto& [name, key] : told_.members[{point.scenario, member}].told) {
      if (!its.contains(name))
        set_verdict(trial, verdict(name),
                    fmt::format("'{}' {} here, and did in {}", member, lacks(name), key));
    }
  }
  if (trial.verdict != Verdict::ok) return;
  for (const auto& [member, its] : members) {
    ToldByMember& known = told_.members[{point.scenario, member}];
    for (const std::string& name : names_of_member(plan_, point, member)) {
      if (its.contains(name)) {
        known.told.try_emplace(name, trial.key);
        for (const std::string& key : known.silent[name])
          trial.taken_back.push_back(
              {key, verdict(name),
               fmt::format("'{}' {} here, and did in {}", member, lacks(name), trial.key)});
        known.silent.erase(name);
      } else if (trial.role != TrialRole::warm_up) {
        known.silent[name].push_back(trial.key);
      }
    }
  }
  for (const TrialRecord::TakenBack& one : trial.taken_back)
    trial.events.push_back({"taken_back", fmt::format("{} does not count any more ({}): {}", one.key,
                                                      to_string(one.verdict), one.text)});
}

// Sets all knobs until each value that was read back still stands when all are set: a later knob may undo an
// earlier one, and another program may set one in between. From then on SettingsWatch looks at them.
bool TrialRunner::set_all(const PlanPoint& point, TrialRecord& trial) {
  constexpr int tries = 3;
  for (int attempt = 1;; ++attempt) {
    lost_when_set_ = machine_.guard.sessions_lost();
    const bool applied = apply_knobs(point, trial);
    // What was set so far was put back meanwhile.
    if (machine_.guard.sessions_lost() != lost_when_set_ && attempt < tries) {
      forget_refusal(trial);
      keep_guardian(trial);
      continue;
    }
    if (!applied) return false;
    if (machine_.settings != nullptr) machine_.settings->begin();
    const std::string problem = undone();
    if (problem.empty()) return true;
    if (attempt == tries) {
      // As read back when it was set does not stand; of a file, what its text means is not known here.
      for (const Stands& one : stands_) {
        if (const auto now = undone(one.setting))
          trial.settings[one.of].applied = is_command_setting(one.setting.path) ? now : std::nullopt;
      }
      refuse(trial, problem);
      return false;
    }
  }
}

// What stands instead of what was read back; nullopt: it does, or it cannot be read (a clock lock): its delivered clock tells.
std::optional<std::string> TrialRunner::undone(const SavedSetting& setting) const {
  if (machine_.settings == nullptr) return std::nullopt;
  const auto now = machine_.settings->stood_at(setting.path);
  // A choice among words is read with its own in brackets.
  const bool stands =
      !now || *now == setting.value || now->find("[" + setting.value + "]") != std::string::npos;
  return stands ? std::nullopt : now;
}

// The first value that does not stand any more; empty: all do.
std::string TrialRunner::undone() const {
  for (const auto& [one, of] : stands_) {
    if (const auto now = undone(one))
      return fmt::format(
          "{}: {} read '{}' when it was set, and '{}' once all knobs were: another one undoes it, or "
          "somebody else",
          one.knob, shown_setting(one.path), printable(one.value), printable(*now));
  }
  return {};
}

// What others changed during the trial spoils it. Returns what the firmware capped, for the clock to judge
// first.
std::string TrialRunner::judge_changes(TrialRecord& trial) {
  if (machine_.settings == nullptr) return {};
  std::string by_firmware, by_others;
  int more = 0;
  const auto changes = machine_.settings->end();
  if (!changes) {
    set_verdict(
        trial, Verdict::changed_meanwhile,
        "whether the settings stayed as they were set cannot be told: a look at them did not come back");
    return {};
  }
  for (const SettingChange& change : *changes) {
    std::string text = change_text(change, trial.child.started);
    std::string& first = change.by_firmware ? by_firmware : by_others;
    // The first is the verdict's own text.
    if (!first.empty() || change.by_firmware)
      trial.events.push_back({change.by_firmware ? "capped_by_firmware" : "changed_meanwhile", text});
    if (first.empty())
      first = std::move(text);
    else if (!change.by_firmware)
      ++more;
    if (!change.by_firmware) trial.changed_to[change.path] = change.now;
    for (KnobFinding& finding : machine_.knobs) {
      if (finding.axis == change.knob) finding.knob->changed_by_others();
    }
  }
  if (by_others.empty())
    return by_firmware.empty() ? "" : by_firmware + ": the firmware or the kernel's cooling limits it";
  if (more > 0) by_others += fmt::format(" (and {} more settings)", more);
  if (const std::string setters = likely_setters(find_other_setters(machine_.sysfs)); !setters.empty())
    by_others += "; likely by " + setters;
  set_verdict(trial, Verdict::changed_meanwhile, by_others);
  return {};
}

std::string TrialRunner::cpus_of(const PlanPoint& point) const {
  std::string key;
  for (std::size_t i = 0; i < plan_.axes.size() && i < point.values.size(); ++i) {
    const std::string base = split_axis_name(plan_.axes[i].name).base;
    const bool may_take_cpus =
        base == "cpu.smt" || base == "jetson.mode" || base.starts_with("set.") || base.starts_with("sysfs.");
    if (may_take_cpus && point.values[i])
      key += fmt::format("{}={} ", plan_.axes[i].name, point.values[i]->text);
  }
  return key;
}

// A CPU that came was not set as the others were, and one that went does not work any more
// (Documentation/ABI/testing/sysfs-devices-system-cpu).
void TrialRunner::judge_online(const PlanPoint& point, TrialRecord& trial) {
  const auto now = machine_.sysfs.text(all_online);
  if (!now) return;
  const std::string& first = online_.emplace(cpus_of(point), *now).first->second;
  if (first == *now) return;
  const std::string what = fmt::format(
      "CPUs {} are online, and {} were before: they are not all set as this trial asks", *now, first);
  trial.events.push_back({"changed_meanwhile", what});
  set_verdict(trial, Verdict::changed_meanwhile, what);
}

void TrialRunner::keep_guardian(TrialRecord& trial) {
  if (!machine_.guard.keep()) return;
  trial.events.push_back({"guardian_restarted", "the guardian process was gone and was started anew"});
  const auto& outcome = machine_.guard.found_journal();
  for (const std::string& note : outcome ? outcome->notes : std::vector<std::string>{})
    trial.events.push_back({"changed_by_others", note});
}

// False if one of them cannot be used, or on interruption.
bool TrialRunner::prepare_services(const PlanPoint& point, TrialRecord& trial, bool& interrupted) {
  auto prepared = services_.prepare(point);
  interrupted = prepared.interrupted;
  for (EventRecord& event : prepared.events) trial.events.push_back(std::move(event));
  if (prepared.problem.empty()) return !interrupted;
  set_verdict(trial, Verdict::service_not_ready, prepared.problem);
  return false;
}

// False on interruption. With no knob to settle after, only the temperature matters.
bool TrialRunner::wait_for_conditions(TrialRecord& trial) {
  ConditionsRecord& conditions = trial.conditions;
  if (!is_idle(trial.role)) {
    const auto gate = gate_.wait(machine_.interruption, machine_.clock);
    if (gate.interrupted) return false;
    conditions.temperature_c = gate.temperature_c;
    conditions.gate = gate.word;
    if (!gate.word.empty()) conditions.gate_wait_s = gate.waited.value();
    if (!gate.message.empty()) trial.events.push_back({"temperature_gate", gate.message});
  }
  if (machine_.knobs.empty()) return true;
  const auto settled =
      settle(machine_.sensors.sampler, plan_.experiment.conditions.settle,
             plan_.experiment.conditions.settle_limit, machine_.interruption, machine_.clock);
  if (settled.interrupted) return false;
  conditions.settle_s = settled.waited.value();
  conditions.settle = settled.outcome;
  if (settled.outcome == "timed_out")
    trial.events.push_back(
        {"clocks_unsteady",
         fmt::format("clocks did not hold within {} after they were set", format_duration(settled.waited))});
  return true;
}

// After work a machine draws more for a while: an idle window is taken again until power holds within it, it draws no less than the one
// before, or the limit is over. One that draws more now and then at rest does so in what counts too: to keep those windows in which it did not
// would leave that out. So where any did not hold, what is kept is the window behind the one that told. False on interruption.
bool TrialRunner::wait_for_rest(const PlanPoint& point, TrialRecord& trial) {
  const Nanoseconds until = machine_.clock.now() + nanoseconds(longest_wait_for_rest);
  for (std::optional<double> before;;) {
    JudgeInput input;
    input.channels = machine_.sensors.sampler.channels();
    input.energy_channels = machine_.sensors.energy_channels;
    input.models = machine_.sensors.models;
    const auto power = idle_power(trial, input);
    if (!power) return true;
    rests_unevenly_ = rests_unevenly_ || power->change != 0;
    if (power->change == 0 || (before && power->mean >= *before) || machine_.clock.now() >= until)
      return !rests_unevenly_ || measure(point, trial);
    before = power->mean;
    if (!measure(point, trial)) return false;
  }
}

// Runs the workload, or rests, under the sampler. False on interruption.
bool TrialRunner::measure(const PlanPoint& point, TrialRecord& trial) {
  const bool idle = is_idle(trial.role);
  const Nanoseconds suspended_before = suspended_so_far();
  machine_.sensors.sampler.start();
  for (const std::string& told : machine_.sensors.sampler.told())
    trial.events.push_back({"meter_told", told});
  // At another phase of the sensor each time, or its edges would err the same way in all trials.
  bool went_on = sleep(lead_ + std::min(update_, longest_lead) * share_of(trial.key));
  // Around the command only: during the lead nothing of ours runs.
  const bool watches = watches_load_;
  const auto load_before = watches ? read_cpu_times(machine_.sysfs) : CpuTimesOfAll{};
  const auto throttles_before = throttles_.read();
  const auto residency_before = sets_clocks_ ? clock_residency(machine_.sysfs) : ClockResidency{};
  if (watches) trial.conditions.run_queue = run_queue(machine_.sysfs);
  const Seconds own_before = watches ? own_use() : Seconds{0};
  look_at_boards(trial, false);
  went_on = went_on && (idle ? rest(trial) : work_.run(point, trial));
  if (went_on && watches) observe_load(trial, load_before, own_before);
  if (sets_clocks_) residency_ = residency_between(residency_before, clock_residency(machine_.sysfs));
  const auto throttles = throttles_.read();
  if (throttles && throttles_before) trial.conditions.throttle_events = *throttles - *throttles_before;
  // A signal from here on finds the trial finished: it is judged and kept. But what a meter says late is of the trial too: cut off before that
  // is said, it is not known.
  if (went_on && declared_late_.value() > 0) went_on = sleep(declared_late_);
  if (went_on) sleep(lead_);
  trial.readings = machine_.sensors.sampler.stop();
  suspended_ = suspended_so_far() - suspended_before;
  impossible_.clear();
  for (const std::string& probe : machine_.sensors.sampler.stuck())
    trial.events.push_back(
        {"probe_stuck",
         fmt::format("{}: a read did not come back within {:g} s: nothing of it is known in this "
                     "trial; other probes were read all the same",
                     probe, seconds(longest_read).value())});
  for (const ImpossibleValue& one : machine_.sensors.sampler.impossible()) {
    const double after = seconds(one.time - trial.child.started).value();
    const std::string text = fmt::format(
        "{} said '{}' {:.2f} s {} the trial began: {}", machine_.sensors.sampler.channels()[one.channel].name,
        printable(one.text.substr(0, 120)), std::abs(after), after < 0 ? "before" : "after", one.reason);
    trial.events.push_back({"impossible_value", text});
    impossible_.emplace(one.channel, text);
  }
  // Interrupted or not by now: the trial is finished and is kept.
  if (went_on) look_at_boards(trial, true);
  return went_on;
}

// Before the launch and after the end: a process on a board at these times is none of this trial's.
void TrialRunner::look_at_boards(TrialRecord& trial, bool launched) {
  if (machine_.boards == nullptr) return;
  if (!launched) {
    others_on_boards_ = machine_.boards->others();
    machine_.boards->remember_memory();
    return;
  }
  bool interrupted = false;
  const std::string held = is_idle(trial.role) ? ""
                                               : machine_.boards->wait_for_memory(
                                                     machine_.interruption, machine_.clock, interrupted);
  if (!held.empty()) trial.events.push_back({"gpu_memory_held", held});
  if (others_on_boards_.empty() && !interrupted) others_on_boards_ = machine_.boards->others();
}

void TrialRunner::judge_others_on_boards(TrialRecord& trial) const {
  if (others_on_boards_.empty()) return;
  if (!plan_.experiment.conditions.flag_gpu_processes)
    set_verdict(trial, Verdict::foreign_load, "others were on the board: " + others_on_boards_);
  else
    trial.events.push_back({"gpu_processes", "others were on the board: " + others_on_boards_});
}

// A program that was rebuilt overnight does other work: the trials before and after are not of one kind.
// Looked at before a trial and once more after it, while nothing is sampled: somebody may put another one
// there between the first look and its start. As the invoking user, who must not learn digests of what he may
// not read.
void TrialRunner::require_unchanged_files(const PlanPoint& point, TrialRecord& trial, bool after) {
  const ActingAs owner(invoking_owner());
  const auto look_at = [&](const std::string& whose, std::vector<WorkFile>& files) {
    require_unchanged(whose, files, after && ran_.insert(whose).second, trial);
  };
  const PlanWorkload& workload = plan_.workloads[static_cast<std::size_t>(point.workload)];
  for (const int member : workload.members.empty() ? std::vector<int>{point.workload} : workload.members) {
    const auto index = static_cast<std::size_t>(member);
    look_at(fmt::format("workload '{}'", plan_.workloads[index].spec.name), files_[index]);
  }
  for (const int service : workload.services) {
    const auto at = static_cast<std::size_t>(service);
    look_at(fmt::format("service '{}'", plan_.services[at].spec.name), service_files_[at]);
  }
}

void TrialRunner::require_unchanged(const std::string& whose, std::vector<WorkFile>& files, bool first,
                                    TrialRecord& trial) {
  std::erase_if(files, [&](WorkFile& file) {
    const auto change = changed_since(file);
    if (!change) return false;
    if (first && file.named) {
      trial.events.push_back({"file_of_the_work_changed",
                              fmt::format("{} changed in the first run of {}: it is taken for something that "
                                          "the work itself makes, and not looked at any more",
                                          file.path, whose)});
      trial.outdated_facts.push_back(work_file_fact + file.path);
      return true;
    }
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{}: {} changed during the night: it was {} and is {} now", whose, change->path,
                    change->was, change->now),
        "the trials before that are kept. Put the former file back and run the same command to go on, or use "
        "--fresh to start a new result with the new one");
  });
}

// An idle window: nothing runs.
bool TrialRunner::rest(TrialRecord& trial) {
  trial.child.end = ChildResult::End::exited;
  trial.child.started = machine_.clock.now();
  const bool whole = sleep(machine_.sensors.idle_window);
  trial.child.ended = machine_.clock.now();
  return whole;
}

Seconds TrialRunner::own_use() const {
  return own_cpu_time() + services_.cpu_time();
}

void TrialRunner::observe_load(TrialRecord& trial, const CpuTimesOfAll& before, Seconds own_before) {
  const auto after = read_cpu_times(machine_.sysfs);
  busy_ = busy_between(before, after);
  if (before.empty() || after.empty()) return;
  const double own = (own_use() - own_before).value();
  const double workload = (trial.child.user_time + trial.child.system_time).value();
  trial.conditions.foreign_cpu_s =
      std::max(0.0, process_time_between(before, after).value() - own - workload);
}

// The share of the trial in which the busiest CPU of a target worked; nullopt: not known.
std::optional<double> TrialRunner::busiest_of(const std::string& target) const {
  const auto cpus = cpus_of_target_.find(target);
  if (cpus == cpus_of_target_.end()) return std::nullopt;
  std::optional<double> most;
  for (const int cpu : cpus->second) {
    if (const auto busy = busy_.find(cpu); busy != busy_.end())
      most = std::max(most.value_or(0), busy->second);
  }
  return most;
}

// What is judged by: which clocks were asked for, and what was in force.
void TrialRunner::note_rules(const PlanPoint& point, TrialRecord& trial) const {
  for (const KnobFinding& finding : machine_.knobs) {
    const auto axis = axis_of(plan_, finding.axis);
    const AxisOffer offer = finding.knob->offer();
    if (offer.dimension != Dimension::frequency || !point.values[axis]->number) continue;
    std::vector<double> offered;
    for (const AxisValue& value : offer.values) offered.push_back(*value.number);
    ClockRule rule;
    rule.requested = *point.values[axis]->number;
    rule.tolerance = delivered_tolerance(offered, offer.continuous.has_value() || finding.knob->whole_steps(),
                                         rule.requested);
    rule.or_higher = is_turbo_step(offered, rule.requested);
    rule.quantity = finding.knob->clock_quantity();
    rule.only_proof = finding.knob->shown_by_clock_only();
    for (SettingRecord& setting : trial.settings) {
      if (setting.axis != static_cast<int>(axis)) continue;
      setting.clock = rule;
      setting.clock->busiest = busiest_of(setting.target);
      if (const auto found = residency_.find(setting.target); found != residency_.end()) {
        double counted = 0, elsewhere = 0;
        for (const auto& [hertz, seconds] : found->second) {
          counted += seconds;
          if (std::abs(hertz - rule.requested) > 1e3) elsewhere += seconds;
        }
        setting.clock->counted_s = counted;
        setting.clock->elsewhere_s = elsewhere;
      }
    }
  }
  trial.power_limits_w = machine_.power_limit_w;
  for (const SettingRecord& setting : trial.settings) {
    if (setting.power_limit) trial.power_limits_w[setting.target] = setting.power_limit->value();
  }
}

JudgeInput TrialRunner::judge_input(const PlanPoint& point, bool idle) {
  const WorkloadSpec& workload = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
  JudgeInput input;
  input.channels = machine_.sensors.sampler.channels();
  input.energy_channels = machine_.sensors.energy_channels;
  input.objective = objective_of(plan_.experiment, workload);
  input.in_copies = workload.instances.has_value();
  for (const PlanWorkload& one : plan_.workloads)
    input.per_of_workload[one.spec.name] = objective_of(plan_.experiment, one.spec).per;
  input.energy_needed =
      idle ? minimises_energy(plan_.experiment) : input.objective.minimise != Objective::time;
  input.earlier = machine_.sensors.earlier;
  if (!idle) input.runs = work_.take_runs();
  input.region = measure_of(plan_.experiment, workload).region;
  input.models = machine_.sensors.models;
  input.foreign_limit = plan_.experiment.conditions.foreign_load;
  input.impossible = impossible_;
  input.told_before = told_.units[point.workload];
  return input;
}

// The first trial that counts says in which units a workload tells what decides.
void TrialRunner::note_units(const PlanPoint& point, const TrialRecord& trial) {
  if (is_idle(trial.role) || trial.verdict != Verdict::ok) return;
  const WorkloadSpec& workload = plan_.workloads[static_cast<std::size_t>(point.workload)].spec;
  for (const std::string& name : deciding_metrics(objective_of(plan_.experiment, workload))) {
    if (const MetricRecord* told = says_the_unit(trial.metrics, name))
      told_.units[point.workload].try_emplace(
          name, JudgeInput::ToldBefore{told->unit, trial.key, told->count_of.has_value()});
  }
}

}  // namespace dvfs_plan
