#include "orchestrator/run/run_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "orchestrator/conditions/other_setters.hpp"
#include "orchestrator/run/trial_runner.hpp"

namespace dvfs_plan {
namespace {

class RunLoop {
 public:
  RunLoop(RunWorld& world, const RunEvents& events)
      : world_(world), plan_(world.plan), events_(events), runner_(world) {}

  RunEnd run() {
    History history(world_.store.history());
    announce(history);
    int warmed_block = 0;
    const PlannedTrial* trial = world_.strategy.next(history);
    if (trial != nullptr) world_.store.note_current(trial->key, world_.strategy.remaining(history));
    while (trial != nullptr) {
      if (world_.interruption.pending() != 0) return RunEnd::interrupted;
      if (!is_idle(trial->role) && trial->block != warmed_block) {
        warmed_block = trial->block;
        runner_.begin_block();
        if (!warm_up(*trial, history)) return RunEnd::interrupted;
        runner_.begin_block();
        // Asked again: the warm-ups have taken time, of which a budget may not leave enough for this trial.
        trial = world_.strategy.next(history);
        continue;
      }
      if (events_.begins)
        events_.begins(*trial, history.workload_trials(), world_.strategy.remaining(history));
      auto record = runner_.run(*trial);
      if (!record) return RunEnd::interrupted;
      history.add(finished(*record));
      // What is finished is on disk before anybody thinks of what comes next.
      write(*record);
      trial = world_.strategy.next(history);
      world_.store.note_current(trial != nullptr ? trial->key : "", world_.strategy.remaining(history));
      // Before anybody is told that the trial is finished: from then on nothing is written until the next one
      // is.
      if (trial != nullptr && trial->block != record->block && events_.block_ended) events_.block_ended();
      if (!is_idle(record->role) && history.workload_trials() == 1) announce(history);
      if (events_.finished) events_.finished(*record);
      end_if_settings_do_not_stay(*record);
    }
    return RunEnd::done;
  }

 private:
  // A result that somebody else holds, or a full disk, may pass: the trial is kept and tried again, for a
  // while even if we are asked to stop, since what is finished is not to be lost.
  void write(const TrialRecord& record) {
    constexpr Seconds patience{600}, patience_when_asked{30}, pause{1};
    const Nanoseconds began = world_.clock.now();
    constexpr int most_rescues = 20;
    std::string damage;
    for (bool told = false;;) {
      try {
        if (!damage.empty()) {
          tell(world_.store.go_on_elsewhere(damage));
          damage.clear();
        } else if (rescues_ < most_rescues) {
          if (const auto rescued = world_.store.go_on_elsewhere_if_lost()) tell(*rescued);
        }
        return world_.store.write_trial(record);
      } catch (const StoreDamaged& fault) {
        if (rescues_ >= most_rescues) throw;
        damage = fault.what();
      } catch (const StoreBusy& busy) {
        const Seconds waited = seconds(world_.clock.now() - began);
        if (waited >= (world_.interruption.pending() != 0 ? patience_when_asked : patience)) throw;
        if (!told && events_.waits) events_.waits(busy.what());
        told = true;
        world_.clock.sleep_until(world_.clock.now() + nanoseconds(pause));
      }
    }
  }

  void tell(const Store::Rescued& rescued) {
    ++rescues_;
    if (events_.rescued) events_.rescued(rescued);
  }

  // What the budget buys is said at the start, and again once a trial's length is known.
  void announce(const History& history) {
    const std::string text = world_.strategy.announcement(history);
    if (text.empty() || text == announced_) return;
    announced_ = text;
    if (events_.announces) events_.announces(text);
    try {
      world_.store.write_event({"budget", text});
    } catch (const Error&) {
      // Worth keeping, but no reason to end a night.
    }
  }

  // Brings caches and temperatures to where the block's trials will find them. A session that resumes in the
  // middle of a block warms up again: the machine is cold.
  bool warm_up(const PlannedTrial& next, History& history) {
    const auto before = std::count_if(
        history.trials().begin(), history.trials().end(),
        [&](const FinishedTrial& t) { return t.role == TrialRole::warm_up && t.block == next.block; });
    for (int i = 1; i <= plan_.experiment.conditions.warm_up; ++i) {
      PlannedTrial trial = planned_trial(
          plan_.points[static_cast<std::size_t>(next.point)],
          {next.point, next.block, TrialRole::warm_up, static_cast<int>(before) + i}, next.position);
      trial.confirms = next.confirms;
      if (events_.begins)
        events_.begins(trial, history.workload_trials(), world_.strategy.remaining(history));
      auto record = runner_.run(trial);
      if (!record) return false;
      history.add(finished(*record));
      write(*record);
      if (events_.finished) events_.finished(*record);
      end_if_settings_do_not_stay(*record);
    }
    return true;
  }

  // Somebody who sets one thing to one value in trial after trial will do so all night. Trials in which it
  // stood at that value anyway say nothing of it; one in which it stood at another and stayed there says that
  // he has gone.
  void end_if_settings_do_not_stay(const TrialRecord& record) {
    constexpr int most = 3;
    if (world_.machine.settings == nullptr) return;
    std::erase_if(resets_, [&](const auto& one) {
      const auto stood = world_.machine.settings->stood_at(one.first);
      return record.verdict == Verdict::ok && stood && *stood != one.second.to;
    });
    for (const auto& [path, to] : record.changed_to) {
      Resets& resets = resets_[path];
      resets = resets.to == to ? Resets{to, resets.times + 1} : Resets{to, 1};
      if (resets.times < most) continue;
      auto setters = find_other_setters(world_.sysfs);
      std::erase_if(setters, [](const OtherSetter& setter) { return !setter.sets; });
      throw Error(ExitCode::machine_refuses,
                  fmt::format("somebody sets {} to '{}' while trials run, {} trials now; the last: {}", path,
                              printable(to), most, record.verdict_text),
                  setters.empty()
                      ? "find out who (a power daemon, a cron job, a colleague), stop it, and run the same "
                        "command to go on; the trials up to here are kept"
                      : setters.front().fix +
                            "   and then the same command goes on; the trials up to "
                            "here are kept");
    }
  }

  struct Resets {
    std::string to;
    int times = 0;
  };
  RunWorld& world_;
  const Plan& plan_;
  const RunEvents& events_;
  TrialRunner runner_;
  std::string announced_;
  std::map<std::string, Resets> resets_;  // by path of the setting
  int rescues_ = 0;
};

}  // namespace

RunEnd run_trials(RunWorld& world, const RunEvents& events) {
  return RunLoop(world, events).run();
}

}  // namespace dvfs_plan
