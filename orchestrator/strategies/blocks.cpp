#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <set>

#include "base/text.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/report/finalists.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"
#include "results/statistics/noise_model.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

// Every point in `repeat.min` randomised complete blocks; then further ones: where the experiment has a budget of the points
// whose intervals are widest, where it asks for an interval without one of all points that compare; then `repeat.confirm`
// blocks of the finalists alone. Disturbed trials are run again at the end of their block.
class RandomisedBlocks : public Strategy {
 public:
  explicit RandomisedBlocks(StrategyRequest request)
      : plan_(request.plan),
        options_(schedule_options(request.plan.experiment)),
        repeat_(request.plan.experiment.repeat),
        finalists_(std::move(request.finalists)),
        first_block_of_form_(request.first_block_of_form),
        only_block_(request.only_block),
        at_block_(request.only_block.value_or(1)) {
    for (const PlannedTrial& trial : plan_.trials) {
      last_planned_ = std::max(last_planned_, trial.block);
      if (!only_block_ || trial.block == *only_block_) blocks_[trial.block].push_back(trial);
    }
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      if (plan_.points[i].reference) reference_of_[plan_.points[i].scenario] = static_cast<int>(i);
    }
  }

  const PlannedTrial* next(const History& history) override {
    find_where_it_confirms(history);
    for (;;) {
      const auto& trials = block(at_block_, history);
      const bool is_done = trials.empty() || of_others_.contains(at_block_);
      const PlannedTrial* trial = is_done ? nullptr : next_of_block(trials, history);
      if (trial != nullptr && affordable(*trial, history)) return trial;
      if (trial == nullptr && is_under_way(at_block_, history)) return next_ahead(history);
      if (trial == nullptr && only_block_) return nullptr;
      // Blocks that were added to an earlier form of the experiment, whose file then changed, are what they are.
      if (trial == nullptr && (!trials.empty() || at_block_ < last_planned_)) {
        ++at_block_;
      } else if (confirms_from_ == 0 && repeat_.confirm > 0 && finalists_ && at_block_ > last_planned_) {
        // What was begun and is not affordable beside the confirmation stays as it is.
        if (!trials.empty()) ++at_block_;
        confirms_from_ = at_block_;
        blocks_.erase(at_block_);  // it was none of the former kind
      } else {
        return nullptr;
      }
    }
  }

  int remaining(const History& history) override {
    int left = 0;
    for (const auto& [number, trials] : blocks_) {
      if (number < confirms_from_ || of_others_.contains(number))
        continue;  // done, or given up for the confirmation
      // An earlier form of the experiment may have run other trials in it.
      left += static_cast<int>(std::count_if(trials.begin(), trials.end(), [&](const PlannedTrial& trial) {
        return !is_idle(trial.role) && !history.contains(trial);
      }));
    }
    left += left_to_confirm() + most_of_further_blocks();
    return within_budget(left, plan_.experiment.budget, history);
  }

  std::string announcement(const History& history) override {
    const auto& budget = plan_.experiment.budget;
    const int fixed = static_cast<int>(std::count_if(plan_.trials.begin(), plan_.trials.end(),
                                                     [](const PlannedTrial& t) { return !is_idle(t.role); }));
    std::string rest = fmt::format(
        "{} (at most {} blocks a point",
        budget.any() ? "where the intervals are widest" : "of all points that compare", repeat_.max);
    if (repeat_.until)
      rest += fmt::format(", {} ±{:g} % by the scatter of the first ones",
                          budget.any() ? "until" : "as many as take savings to", 100 * *repeat_.until);
    rest += ")";
    const std::string buys = what_it_buys(history, fixed, rest);
    const int of_a_block = most_of_a_confirming_block();
    if (repeat_.confirm == 0 || of_a_block == 0) return buys;
    const int blocks = repeat_.confirm;
    if (budget.any()) {
      const auto bought = trials_bought(history);
      if (!bought) return buys;  // said after the first block
      const int left = *bought - fixed;
      if (left < 0) return buys;
      if (left == 0) return buys + "; nothing is left to confirm the best point with";
      if (left < blocks * of_a_block)
        return fmt::format(
            "{}; at last as many of the {} of the best point, its rivals and the reference as {} {} enough "
            "for "
            "(none where the reference is the best)",
            buys, counted(blocks, "block"), counted(left, "trial"), left == 1 ? "is" : "are");
    }
    const std::string confirming = fmt::format(
        "at last {} block{} of the best point, its rivals and the reference ({} trials at most; none where "
        "the reference is the best)",
        blocks, blocks == 1 ? "" : "s", blocks * of_a_block);
    return buys.empty() ? fmt::format("{} ({}), {}", counted(repeat_.min, "block"), counted(fixed, "trial"),
                                      confirming)
                        : buys + "; " + confirming;
  }

  bool announces_all(const History& history) const override {
    return !plan_.experiment.budget.time || knows_how_long(history);
  }

 private:
  // Points last differently long, and the first trial pays for what comes before it (warm-ups, idle windows): a block of
  // all of them tells what a trial takes, or half the budget where that is spent before.
  bool knows_how_long(const History& history) const {
    const int first = plan_.trials.empty() ? 0 : plan_.trials.front().block;
    const auto of_a_block =
        std::count_if(plan_.trials.begin(), plan_.trials.end(),
                      [&](const PlannedTrial& t) { return t.block == first && !is_idle(t.role); });
    return history.workload_trials() > 0 &&
           (history.workload_trials() >= of_a_block ||
            history.spent().value() >= plan_.experiment.budget.time->value() / 2);
  }

  // nullopt: of a time it is known after the first block only.
  std::optional<int> trials_bought(const History& history) const {
    const auto& budget = plan_.experiment.budget;
    if (budget.trials) return budget.trials;
    if (!knows_how_long(history)) return std::nullopt;
    return static_cast<int>(budget.time->value() * history.workload_trials() / history.spent().value());
  }

  std::string what_it_buys(const History& history, int fixed, const std::string& rest) const {
    const auto& budget = plan_.experiment.budget;
    const int reserved = trials_to_confirm();
    if (budget.trials) {
      const int before = spent_on_earlier_forms(history), room = std::max(0, *budget.trials - before);
      const std::string whole =
          before == 0 ? counted(*budget.trials, "trial")
                      : fmt::format("{}, of which blocks that the experiment asks for no more took {},",
                                    counted(*budget.trials, "trial"), before);
      if (room < fixed) {
        return fmt::format("the budget of {} does not cover the first {} ({}): it stops after {}", whole,
                           counted(repeat_.min, "block"), counted(fixed, "trial"), room);
      }
      const int more = room - fixed - reserved;
      if (more < least_block() || repeat_.max <= repeat_.min) {
        const std::string asked = fmt::format("the budget of {} buys the first {} ({})", whole,
                                              counted(repeat_.min, "block"), counted(fixed, "trial"));
        if (repeat_.confirm > 0 || room == fixed) return asked;
        return asked + (more < least_block()
                            ? "; what is left is too little for a further block with its references"
                            : fmt::format("; `repeat` asks for no more, and {} stay unspent: `repeat: "
                                          "{{min: {}, max: N}}` spends them",
                                          counted(more, "trial"), repeat_.min));
      }
      return fmt::format("the budget of {} buys the first {} ({}) and {} more, {}", whole,
                         counted(repeat_.min, "block"), counted(fixed, "trial"), more, rest);
    }
    if (budget.time) {
      if (!knows_how_long(history))
        return fmt::format("what the budget of {} buys is said after the first block",
                           format_duration(*budget.time));
      const double each = history.spent().value() / history.workload_trials();
      const int buys = *trials_bought(history);
      if (buys < fixed)
        return fmt::format(
            "at {} a trial, all told, the budget of {} buys about {} of the {} of the first {}",
            format_duration(Seconds{each}), format_duration(*budget.time), buys, counted(fixed, "trial"),
            counted(repeat_.min, "block"));
      const int more = std::max(0, buys - fixed - reserved);
      std::string further;
      if (repeat_.max > repeat_.min)
        further = fmt::format(" and about {} more, {}", more, rest);
      else if (repeat_.confirm == 0 && more >= least_block())
        further = fmt::format("; `repeat` asks for no more: `repeat: {{min: {}, max: N}}` spends the rest",
                              repeat_.min);
      return fmt::format("at {} a trial, all told, the budget of {} buys about {}: the first {} ({}){}",
                         format_duration(Seconds{each}), format_duration(*budget.time),
                         counted(buys, "trial"), counted(repeat_.min, "block"), counted(fixed, "trial"),
                         further);
    }
    if (repeat_.max > repeat_.min)
      return fmt::format("{} ({}), then more {}", counted(repeat_.min, "block"), counted(fixed, "trial"),
                         rest);
    return {};
  }

  // Trials of blocks that are neither planned any more nor added by this form of the experiment: a budget has paid them.
  int spent_on_earlier_forms(const History& history) const {
    const std::set<TrialId> planned(plan_.trials.begin(), plan_.trials.end());
    return static_cast<int>(
        std::count_if(history.trials().begin(), history.trials().end(), [&](const FinishedTrial& trial) {
          return !is_idle(trial.role) && trial.role != TrialRole::warm_up && trial.attempt == 1 &&
                 trial.block <= last_planned_ && !planned.contains(trial);
        }));
  }

  // Once begun, a confirmation is gone on with, whatever a budget would say by then.
  void find_where_it_confirms(const History& history) {
    if (confirms_from_ != 0) return;
    for (const FinishedTrial& trial : history.trials()) {
      if (trial.confirms && trial.block > last_planned_ &&
          (confirms_from_ == 0 || trial.block < confirms_from_))
        confirms_from_ = trial.block;
    }
    if (confirms_from_ == 0) return;
    for (; at_block_ < confirms_from_; ++at_block_) block(at_block_, history);  // positions count on
  }

  const std::vector<PlannedTrial>& block(int number, const History& history) {
    const auto known = blocks_.find(number);
    if (known != blocks_.end()) return known->second;
    auto trials = confirms_from_ != 0 && number >= confirms_from_ ? confirming_block(number)
                                                                  : further_block(number, history);
    if (is_of_another_form(number, trials, history)) of_others_.insert(number);
    return blocks_[number] = std::move(trials);
  }

  // Whether an earlier form of the experiment added other trials under this number: to run these there would pair them with the
  // references of then.
  bool is_of_another_form(int number, const std::vector<PlannedTrial>& trials, const History& history) const {
    return number < first_block_of_form_ &&
           std::any_of(trials.begin(), trials.end(), [&](const PlannedTrial& trial) {
             return !is_idle(trial.role) && !history.contains(trial);
           });
  }
  // From the first block that confirms on.
  int of_others_among_confirming() const {
    return static_cast<int>(std::distance(of_others_.lower_bound(confirms_from_), of_others_.end()));
  }

  const PlannedTrial* next_of_block(const std::vector<PlannedTrial>& trials, const History& history) {
    for (const PlannedTrial& trial : trials) {
      if (!history.contains(trial)) return &trial;
    }
    for (const PlannedTrial& trial : trials) {
      if (is_idle(trial.role)) continue;
      if (const PlannedTrial* again = rerun(trial, history)) return again;
    }
    return nullptr;
  }

  // One of its trials may yet come back disturbed, and be run again.
  static bool is_under_way(int number, const History& history) {
    return std::any_of(history.in_flight().begin(), history.in_flight().end(),
                       [&](const PlannedTrial& trial) { return trial.block == number; });
  }

  // While others are under way: of the blocks that are planned from the start, which rest on no trial's
  // outcome.
  const PlannedTrial* next_ahead(const History& history) {
    for (int number = at_block_ + 1; number <= last_planned_ && blocks_.contains(number); ++number) {
      const PlannedTrial* trial = next_of_block(blocks_.at(number), history);
      if (trial != nullptr) return affordable(*trial, history) ? trial : nullptr;
    }
    return nullptr;
  }

  const PlannedTrial* rerun(const PlannedTrial& trial, const History& history) {
    auto again = rerun_of(trial, history, plan_);
    if (!again) return nullptr;
    reruns_.push_back(std::move(*again));
    return &reruns_.back();
  }

  bool affordable(const PlannedTrial& trial, const History& history) const {
    const auto& budget = plan_.experiment.budget;
    // Further blocks leave what the confirmation will take.
    const int reserved = trial.block > last_planned_ && !trial.confirms ? trials_to_confirm() : 0;
    // Once the trials are spent, only the windows that close a block are still of use.
    if (budget.trials && trial.role != TrialRole::idle_after &&
        history.begun_workload_trials() + reserved >= *budget.trials)
      return false;
    if (!budget.time) return true;
    double mine = 0, all = 0;
    int of_mine = 0, of_all = 0;
    for (const FinishedTrial& one : history.trials()) {
      if (is_idle(one.role) != is_idle(trial.role)) continue;
      all += one.slot_s;
      ++of_all;
      if (one.point != trial.point) continue;
      mine += one.slot_s;
      ++of_mine;
    }
    const double expected = of_mine > 0 ? mine / of_mine : of_all > 0 ? all / of_all : 0;
    // The first workload trial of a block, or behind the start of a service, brings its warm-ups with it.
    const auto services = [&](const PlannedTrial& t) -> const std::string& {
      return plan_.points[static_cast<std::size_t>(t.point)].services;
    };
    const auto before =
        std::find_if(history.trials().rbegin(), history.trials().rend(),
                     [&](const FinishedTrial& t) { return t.block == trial.block && !is_idle(t.role); });
    const bool is_cold =
        !is_idle(trial.role) && (before == history.trials().rend() || services(*before) != services(trial));
    const int slots = 1 + (is_cold ? plan_.experiment.conditions.warm_up : 0);
    const double to_confirm =
        history.workload_trials() > 0 ? reserved * history.spent().value() / history.workload_trials() : 0;
    return history.committed().value() + slots * expected + to_confirm <= budget.time->value();
  }

  struct Candidate {
    int point;
    double variance;  // of its mean logarithm, as far as the first blocks tell
  };

  // Composed from the blocks before it only: the same whether it is asked for before or in the middle of the
  // block.
  std::vector<PlannedTrial> further_block(int number, const History& history) {
    if (number <= last_planned_ || repeat_.max <= repeat_.min) return {};
    int spent = 0;
    for (const FinishedTrial& trial : history.trials()) {
      if (trial.block < number && !is_idle(trial.role) && trial.role != TrialRole::warm_up) ++spent;
    }
    const auto candidates = find_candidates(number, history);
    const auto& budget = plan_.experiment.budget;
    const std::size_t half = budget.any() ? (candidates.size() + 1) / 2 : candidates.size();
    std::vector<int> chosen;
    std::set<std::string> scenarios;
    int left = budget.trials ? *budget.trials - spent - trials_to_confirm() : std::numeric_limits<int>::max();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      // A remainder too small for a block of its own goes into this one.
      if (i >= half && left >= least_block()) break;
      const Candidate& candidate = candidates[i];
      const PlanPoint& point = plan_.points[static_cast<std::size_t>(candidate.point)];
      const bool with_references = options_.references && reference_of_.contains(point.scenario) &&
                                   reference_of_.at(point.scenario) != candidate.point &&
                                   !scenarios.contains(point.scenario);
      const int costs = 1 + (with_references ? 2 : 0);
      if (costs > left) continue;
      left -= costs;
      scenarios.insert(point.scenario);
      chosen.push_back(candidate.point);
    }
    if (chosen.empty()) return {};
    return schedule_block(plan_.points, chosen, number, next_position(), options_);
  }

  // The same points in each.
  std::vector<PlannedTrial> confirming_block(int number) {
    if (number >= confirms_from_ + of_others_among_confirming() + repeat_.confirm || !finalists_) return {};
    if (!to_confirm_) {
      to_confirm_ = finalists_(confirms_from_);
      std::set<int> references;
      for (const int point : *to_confirm_) {
        const auto reference = reference_of_.find(plan_.points[static_cast<std::size_t>(point)].scenario);
        if (!options_.references && reference != reference_of_.end()) references.insert(reference->second);
      }
      to_confirm_->insert(to_confirm_->end(), references.begin(), references.end());
    }
    if (to_confirm_->empty()) return {};
    auto trials = schedule_block(plan_.points, *to_confirm_, number, next_position(), options_);
    for (PlannedTrial& trial : trials) trial.confirms = true;
    return trials;
  }

  std::map<std::string, int> points_of_scenarios() const {
    std::map<std::string, int> points;
    for (const PlanPoint& point : plan_.points) ++points[point.scenario];
    return points;
  }
  // Of all scenarios together.
  int most_of_a_confirming_block() const {
    int trials = 0;
    for (const auto& [scenario, size] : points_of_scenarios()) {
      if (size < 2 || !reference_of_.contains(scenario)) continue;
      trials += std::min(size - 1, most_finalists) + (options_.references ? 2 : 1);
    }
    return trials;
  }
  // In blocks that are not composed yet. Of a budget the rest: what it is for is not known before.
  int most_of_further_blocks() const {
    if (only_block_ || confirms_from_ != 0 || repeat_.max <= repeat_.min) return 0;
    int most = 0;
    for (const auto& [scenario, size] : points_of_scenarios()) {
      const bool beside_references = options_.references && size > 1 && reference_of_.contains(scenario);
      // Each point's further blocks at once, or one by one where a budget chooses among them.
      const int others = beside_references ? size - 1 : size;
      const int with_references = plan_.experiment.budget.any() ? others : 1;
      most += (repeat_.max - repeat_.min) * (others + (beside_references ? 2 * with_references : 0));
    }
    for (const auto& [number, trials] : blocks_) {
      if (number <= last_planned_) continue;
      most -= static_cast<int>(std::count_if(trials.begin(), trials.end(),
                                             [](const PlannedTrial& trial) { return !is_idle(trial.role); }));
    }
    return std::max(0, most);
  }
  // In blocks that are not composed yet.
  int left_to_confirm() const {
    if (confirms_from_ == 0) return trials_to_confirm();
    int composed = 0;
    const std::vector<PlannedTrial>* one = nullptr;  // the same in each
    for (auto at = blocks_.lower_bound(confirms_from_); at != blocks_.end(); ++at) {
      if (of_others_.contains(at->first)) continue;
      ++composed;
      if (one == nullptr) one = &at->second;
    }
    if (one == nullptr) return trials_to_confirm();
    const auto of_each = std::count_if(one->begin(), one->end(),
                                       [](const PlannedTrial& trial) { return !is_idle(trial.role); });
    return std::max(0, repeat_.confirm - composed) * static_cast<int>(of_each);
  }
  int trials_to_confirm() const { return finalists_ ? repeat_.confirm * most_of_a_confirming_block() : 0; }

  // Of the first trial after all blocks that are composed.
  int next_position() const {
    int position = 1;
    for (const auto& [block, trials] : blocks_) {
      position += static_cast<int>(trials.size());
      if (!trials.empty()) position = std::max(position, trials.back().position + 1);
    }
    return position;
  }

  // A point and its references.
  int least_block() const { return options_.references && plan_.points.size() > 1 ? 3 : 1; }

  std::vector<BlockedValue> first_blocks(const std::string& scenario, const History& history) const {
    std::vector<BlockedValue> values;
    // Of these blocks alone: what ran later must not move what they said.
    std::vector<FinishedTrial> first;
    for (const FinishedTrial& trial : history.trials()) {
      if (plan_.points[static_cast<std::size_t>(trial.point)].scenario == scenario && is_planned(trial.block))
        first.push_back(trial);
    }
    for (const FinishedTrial& trial : by_totals(first, objective_of_point())) {
      if (trial.counts && trial.objective && *trial.objective > 0)
        values.push_back({trial.point, trial.block, *trial.objective});
    }
    return values;
  }

  std::function<const ObjectiveSpec&(int point)> objective_of_point() const {
    return [this](int point) -> const ObjectiveSpec& {
      const auto workload = static_cast<std::size_t>(plan_.points[static_cast<std::size_t>(point)].workload);
      return objective_of(plan_.experiment, plan_.experiment.workloads[workload]);
    };
  }

  // Not one that was added, to this form of the experiment or an earlier one.
  bool is_planned(int block) const {
    return std::any_of(plan_.trials.begin(), plan_.trials.end(),
                       [&](const PlannedTrial& one) { return one.block == block; });
  }

  // How noisy each point is, by the first blocks alone and with the others in view: to look again and again,
  // and at each point's own few trials, is to run on what was noisy by luck.
  NoiseModel noise_of_first_blocks(const std::string& scenario, const History& history) const {
    return {first_blocks(scenario, history), static_cast<int>(plan_.points.size())};
  }

  // In how many blocks a scenario is run for its savings to be known to `until`. Decided once, from the first
  // blocks' scatter about point + block, over all its points, and not looked at again: who stops as soon as
  // an interval happens to be narrow stops on luck, and the interval does not hold what it says.
  int wanted_blocks(const std::string& scenario, const History& history) const {
    const BlockModel model(first_blocks(scenario, history), static_cast<int>(plan_.points.size()));
    // Of one trial against the mean of two references.
    const double trials =
        options_.references && reference_of_.contains(scenario) && has_others(scenario) ? 1.5 : 1;
    for (int blocks = repeat_.min; blocks < repeat_.max; ++blocks) {
      if (blocks < 2 || model.degrees_of_freedom() < 1) continue;
      if (student_t(0.95, blocks - 1) * std::sqrt(trials * model.error_variance() / blocks) <= *repeat_.until)
        return blocks;
    }
    return repeat_.max;
  }

  std::vector<Candidate> find_candidates(int number, const History& history) const {
    std::map<int, std::set<int>> blocks_of_point, counted_blocks;
    std::vector<FinishedTrial> before;
    for (const FinishedTrial& trial : history.trials()) {
      if (trial.block < number) before.push_back(trial);
    }
    for (const FinishedTrial& trial : by_totals(before, objective_of_point())) {
      if (!is_idle(trial.role) && trial.role != TrialRole::warm_up)
        blocks_of_point[trial.point].insert(trial.block);
      if (trial.counts && trial.objective && *trial.objective > 0)
        counted_blocks[trial.point].insert(trial.block);
    }
    std::map<std::string, int> wanted;
    std::map<std::string, NoiseModel> noise;
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      const int point = static_cast<int>(i);
      const std::string& scenario = plan_.points[i].scenario;
      const auto reference = reference_of_.find(scenario);
      const bool is_reference = reference != reference_of_.end() && reference->second == point;
      if (static_cast<int>(blocks_of_point[point].size()) >= repeat_.max) continue;
      // The reference is run twice in every block of its scenario; alone it is no reason for one.
      if (is_reference && options_.references && has_others(scenario)) continue;
      // A point that never counted is not made to count by running it again and again: its causes are not
      // chance.
      if (counted_blocks[point].empty()) continue;
      if (repeat_.until) {
        if (!wanted.contains(scenario)) wanted[scenario] = wanted_blocks(scenario, history);
        if (static_cast<int>(blocks_of_point[point].size()) >= wanted[scenario]) continue;
      }
      if (!noise.contains(scenario)) noise.emplace(scenario, noise_of_first_blocks(scenario, history));
      const NoiseModel& model = noise.at(scenario);
      candidates.push_back({point, (model.known() ? model.variance(point) : 1.0) /
                                       static_cast<double>(counted_blocks[point].size())});
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.variance > b.variance; });
    return candidates;
  }

  bool has_others(const std::string& scenario) const {
    return std::count_if(plan_.points.begin(), plan_.points.end(),
                         [&](const PlanPoint& p) { return p.scenario == scenario; }) > 1;
  }

  const Plan& plan_;
  ScheduleOptions options_;
  RepeatSpec repeat_;
  Finalists finalists_;
  std::optional<std::vector<int>> to_confirm_;
  int first_block_of_form_;
  std::set<int> of_others_;  // added by an earlier form of the experiment: done
  int confirms_from_ = 0;    // the first block that does; 0: not begun
  int last_planned_ = 0;     // of the blocks that are planned from the start
  std::map<std::string, int> reference_of_;
  std::map<int, std::vector<PlannedTrial>> blocks_;
  std::deque<PlannedTrial> reruns_;  // stable addresses: next() hands them out
  std::optional<int> only_block_;
  int at_block_;
};

const Registered<StrategyKind> full({.name = "full",
                                     .place = 10,
                                     .what = "every setting in randomised complete blocks, planned ahead",
                                     .make = [](StrategyRequest request) -> std::unique_ptr<Strategy> {
                                       return std::make_unique<RandomisedBlocks>(std::move(request));
                                     }});

}  // namespace
}  // namespace dvfs_plan
