#include "orchestrator/run/run_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "orchestrator/run/brake.hpp"

namespace dvfs_plan {
namespace {

class RunLoop {
 public:
  RunLoop(RunParts& run, const RunEvents& events)
      : run_(run), events_(events), history_(run.store.history()), brake_(run.give_up_after) {}

  RunEnd run() {
    announce();
    std::optional<PlannedTrial> next = propose();
    for (;;) {
      while (next && run_.executor.has_room()) {
        if (run_.interruption.pending() != 0) return RunEnd::interrupted;
        if (events_.begins)
          events_.begins(*next, history_.workload_trials(), run_.strategy.remaining(history_));
        run_.executor.begin(*next);
        history_.begin(*next);
        next = run_.executor.has_room() ? propose() : std::nullopt;
      }
      if (history_.in_flight().empty()) return RunEnd::done;
      const auto record = run_.executor.wait();
      if (!record) return RunEnd::interrupted;
      history_.add(finished(*record));
      for (const auto& one : record->taken_back) history_.take_back(one.key);
      // What is finished is on disk before anybody thinks of what comes next.
      write(*record);
      if (const auto why = brake_.stops_behind(*record)) return give_up(*record, *why);
      next = propose();
      // Before anybody is told that the trial is finished: from then on nothing is written until the next one
      // is.
      if (next && next->block != record->block && events_.block_ended) events_.block_ended();
      if (!is_idle(record->role) && !announced_all_) announce();
      if (events_.finished) events_.finished(*record);
    }
  }

 private:
  RunEnd give_up(const TrialRecord& last, const std::string& why) {
    run_.store.give_up(brake_.keys(), why);
    if (events_.finished) events_.finished(last);
    if (events_.gave_up) events_.gave_up(why);
    return RunEnd::gave_up;
  }

  // A result that somebody else holds, or a full disk, may pass: the trial is kept and tried again. Where it lasts, or we are
  // asked to stop, it goes into a new file, since what is finished is not to be lost.
  void write(const TrialRecord& record) {
    constexpr Seconds patience{600}, pause{0.25};
    const Nanoseconds began = run_.clock.now();
    constexpr int most_rescues = 20;
    std::string damage;
    bool no_room = false;  // or somebody holds it: what is in the file is whole
    bool written = false;  // only what goes with it is still to be done
    bool moved = false;    // for want of room, into another file: one copy is enough
    for (bool told = false;;) {
      try {
        if (!damage.empty()) {
          tell(run_.store.go_on_elsewhere(damage, no_room));
          moved = moved || no_room;
          damage.clear();
        } else if (rescues_ < most_rescues) {
          if (const auto rescued = run_.store.go_on_elsewhere_if_lost()) tell(*rescued);
        }
        if (!written) run_.store.write_trial(record);
        written = true;
        for (const std::string& fact : record.outdated_facts) run_.store.forget_fact(fact);
        for (const auto& one : record.taken_back) run_.store.take_back(one);
        return;
      } catch (const StoreDamaged& fault) {
        if (rescues_ >= most_rescues) throw;
        damage = fault.what();
        no_room = false;
      } catch (const StoreBusy& busy) {
        const bool waited = seconds(run_.clock.now() - began) >= patience;
        if (!damage.empty() || (waited && (written || moved || rescues_ >= most_rescues))) {
          if (written) throw;
          const std::string gone = run_.store.what_became_of_the_file();
          throw StoreBusy(
              busy.code(),
              fmt::format("{}: it was finished, and could not be kept: {}", record.key, busy.what()),
              gone.empty()
                  ? "that trial is lost, and no other; make room, and the same command runs it again "
                    "and goes on"
                  : fmt::format("that trial is lost, and so is what was in the result file ({}) "
                                "unless it still lies somewhere: put it back, make room, and the same "
                                "command goes on",
                                gone));
        }
        if (!told && events_.waits) events_.waits(busy.what());
        told = true;
        no_room = waited || run_.interruption.pending() != 0;
        if (no_room) damage = busy.what();
        if (damage.empty()) run_.interruption.sleep_until(run_.clock.now() + nanoseconds(pause), run_.clock);
      }
    }
  }

  void tell(const Store::Rescued& rescued) {
    ++rescues_;
    if (events_.rescued) events_.rescued(rescued);
  }

  // What the budget buys is said at the start, or once it is known how long trials last.
  void announce() {
    const std::string text = run_.strategy.announcement(history_);
    announced_all_ = run_.strategy.announces_all(history_);
    if (text.empty() || text == announced_) return;
    announced_ = text;
    if (events_.announces) events_.announces(text);
    try {
      run_.store.write_event({"budget", text});
    } catch (const Error&) {
      // Worth keeping, but no reason to end a night.
    }
  }

  // What is to be begun next, and in the file what the strategy has in mind. nullopt: nothing now.
  std::optional<PlannedTrial> propose() {
    if (warm_ups_.empty()) {
      // Asked again behind the warm-ups: they have taken time, of which a budget may not leave enough.
      const PlannedTrial* const trial = run_.strategy.next(history_);
      note(trial);
      if (trial == nullptr) return std::nullopt;
      if (is_idle(trial->role) || !is_cold(*trial)) return *trial;
      plan_warm_ups(*trial);
      if (warm_ups_.empty()) return *trial;
    }
    PlannedTrial first = std::move(warm_ups_.front());
    warm_ups_.pop_front();
    return first;
  }

  void note(const PlannedTrial* trial) {
    const std::string key = trial != nullptr ? trial->key : "";
    if (noted_ == key) return;
    run_.store.note_current(key, run_.strategy.remaining(history_));
    noted_ = key;
  }

  // A block's first trial; and the first one behind the start of a service for it: the reference's two and the points that share its service would
  // else be the only warm ones.
  bool is_cold(const PlannedTrial& trial) {
    const std::string& services = run_.plan.points[static_cast<std::size_t>(trial.point)].services;
    const auto [warmed, is_new] = warmed_for_.try_emplace(trial.block, services);
    return is_new || std::exchange(warmed->second, services) != services;
  }

  // They bring caches and temperatures to where the block's trials will find them. A session that resumes in
  // the middle of a block warms up again: the machine is cold.
  void plan_warm_ups(const PlannedTrial& next) {
    const auto before = std::count_if(
        history_.trials().begin(), history_.trials().end(),
        [&](const FinishedTrial& t) { return t.role == TrialRole::warm_up && t.block == next.block; });
    for (int i = 1; i <= run_.plan.experiment.conditions.warm_up; ++i) {
      warm_ups_.push_back(planned_trial(
          run_.plan.points[static_cast<std::size_t>(next.point)],
          {next.point, next.block, TrialRole::warm_up, static_cast<int>(before) + i}, next.position));
      warm_ups_.back().confirms = next.confirms;
    }
  }

  RunParts& run_;
  const RunEvents& events_;
  History history_;
  Brake brake_;
  std::deque<PlannedTrial> warm_ups_;
  std::map<int, std::string> warmed_for_;  // of each block, what services its last trial needed
  std::string announced_;
  bool announced_all_ = false;
  std::optional<std::string> noted_;  // the file's current trial
  int rescues_ = 0;
};

}  // namespace

RunEnd run_trials(RunParts& run, const RunEvents& events) {
  return RunLoop(run, events).run();
}

}  // namespace dvfs_plan
