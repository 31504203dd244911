#include "orchestrator/cluster/shared_search.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dvfs_plan {

SharedSearch::SharedSearch(const Plan& plan, std::unique_ptr<Strategy> inner, Task task)
    : plan_(plan),
      inner_(std::move(inner)),
      task_(std::move(task)),
      others_(Store::open(task_.copy, Database::Mode::read_write)),
      collector_(task_.folder, others_),
      claims_(task_.folder) {
  // It is made again from what was handed in whenever it is wanted.
  others_.database().execute("PRAGMA synchronous = OFF");
  others_.use_plan(plan_);  // of an experiment that has grown the file's points have another order
}

SharedSearch::~SharedSearch() {
  remove_database(task_.copy);
}

const PlannedTrial* SharedSearch::next(const History& own) {
  for (;;) {
    last_ = all(own);
    const History& known = *last_;
    const PlannedTrial* trial = inner_->next(known);
    if (trial == nullptr) {
      // What the others are at may yet show that it is not over.
      task_.outcome.over = inner_->is_over(known);
      const bool waits = task_.outcome.over && !known.in_flight().empty();
      if (!waits) {
        // Of this block something was run, and nothing of it counts: that is the machine's fault, not an end of the search.
        int ran = 0, counted = 0;
        for (const FinishedTrial& one : own.trials()) {
          ran += counts_for_its_point(one.role) ? 1 : 0;
          counted += one.counts ? 1 : 0;
        }
        task_.outcome.barren = ran > 0 && counted == 0;
        return nullptr;
      }
      if (!pause(Seconds{1})) return nullptr;
      continue;
    }
    if (task_.origin.empty() || !counts_for_its_point(trial->role)) return trial;
    switch (claims_.add({task_.origin, task_.node, *trial, trial->key})) {
      case SharedFolder::Claimed::mine:
        taken_ = 0;
        return trial;
      case SharedFolder::Claimed::taken: {
        // It may take a moment until it can be read here; one that never can is passed over.
        constexpr int patience = 600;
        if (++taken_ > patience) claims_.pass_over();
        if (taken_ > patience) taken_ = 0;
        if (!pause(Seconds{0.1})) return nullptr;
        break;
      }
      case SharedFolder::Claimed::not_written:
        // A full disk: better a setting twice than a night that stands still.
        if (!told_)
          task_.warn("what this node runs could not be told to the others; some setting may be run twice");
        told_ = true;
        return trial;
    }
  }
}

bool SharedSearch::pause(Seconds time) {
  task_.outcome.stopped = !task_.pause(time);
  return !task_.outcome.stopped;
}

int SharedSearch::remaining(const History& own) {
  // For the progress that is shown: what was known when the trial was chosen will do.
  if (!last_) last_ = all(own);
  return inner_->remaining(*last_);
}

// What all machines know, with what this one knows of itself: its last trial may not have been handed in yet.
History SharedSearch::all(const History& own) {
  collector_.collect();
  std::vector<FinishedTrial> trials;
  for (FinishedTrial& trial : others_.history()) {
    if (trial.block != task_.block) trials.push_back(std::move(trial));
  }
  for (FinishedTrial trial : own.trials()) {
    trial.node = task_.node;
    trials.push_back(std::move(trial));
  }
  History known(std::move(trials));
  Known of_others;
  Statement finished = others_.database().prepare(
      "SELECT r.origin, t.key FROM trial t JOIN session s ON s.id = t.session_id JOIN block_run r ON r.id = "
      "s.block_run_id");
  while (finished.step()) {
    // Of a run that does not count keys have what tells them apart behind them (PartTaker).
    const std::string key = finished.text(1);
    of_others.finished.emplace(finished.text(0), key.substr(0, key.rfind(" (run ")));
  }
  for (const BlockRun& run : block_runs(others_)) {
    if (run.complete) of_others.ended.insert(run.origin);
  }
  of_others.longest = longest_trial(known);
  const auto& claims = claims_.read();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (!is_under_way(claims, i, of_others)) continue;
    const PlanPoint& point = plan_.points[static_cast<std::size_t>(claims[i].trial.point)];
    known.begin(planned_trial(point, claims[i].trial, 0), claims[i].node);
  }
  return known;
}

// Until its trial is seen here: what a machine ran before its last claim may be finished, and its file not be listed yet. One that
// is not heard of for much longer than a trial takes, by this machine's own clock, is dead: clocks of two machines are not compared.
bool SharedSearch::is_under_way(const std::vector<Claim>& claims, std::size_t at, const Known& of_others) {
  const Claim& claim = claims[at];
  if (claim.origin == task_.origin || claim.trial.block == task_.block) return false;
  if (claim.trial.point < 0 || static_cast<std::size_t>(claim.trial.point) >= plan_.points.size())
    return false;
  if (of_others.finished.contains({claim.origin, claim.key}) || of_others.ended.contains(claim.origin))
    return false;
  for (std::size_t later = at + 1; later < claims.size(); ++later) {
    const bool same_trial = claims[later].origin == claim.origin && claims[later].key == claim.key;
    const bool replaced =
        claims[later].origin != claim.origin && claims[later].trial.block == claim.trial.block;
    if (same_trial || replaced) return false;
  }
  const Nanoseconds now = task_.clock.now();
  const Nanoseconds since = seen_.emplace(at, now).first->second;
  return seconds(now - since) <= of_others.longest;
}

Seconds SharedSearch::longest_trial(const History& known) const {
  constexpr double times = 3;
  constexpr Seconds at_least{60};
  double longest = 0;
  for (const FinishedTrial& trial : known.trials()) longest = std::max(longest, trial.slot_s);
  if (longest <= 0) {
    for (const PlanWorkload& workload : plan_.workloads)
      longest = std::max(longest, workload.spec.timeout.value());
    return Seconds{longest} + at_least;
  }
  return std::max(at_least, Seconds{times * longest});
}

}  // namespace dvfs_plan
