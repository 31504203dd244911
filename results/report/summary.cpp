#include "results/report/summary.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "results/report/constraint_checks.hpp"
#include "results/report/drift.hpp"
#include "results/report/long_ones.hpp"
#include "results/report/nodes.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/one_unit.hpp"
#include "results/report/point_means.hpp"
#include "results/report/sensor_part.hpp"
#include "results/report/settings_order.hpp"
#include "results/report/side_by_side.hpp"
#include "results/report/trade_offs.hpp"
#include "results/statistics/estimate.hpp"
#include "results/statistics/groups.hpp"
#include "results/statistics/winner.hpp"
#include "results/trial/owed_trials.hpp"

namespace dvfs_plan {
namespace {

// "train + serve" is "serve + train": of several at once now this begins first, now that.
bool same_regions(const std::string& a, const std::string& b) {
  const auto names_of = [](const std::string& text) {
    std::vector<std::string> names = split_words(text);
    std::sort(names.begin(), names.end());
    return names;
  };
  return a == b || names_of(a) == names_of(b);
}

// The trials of one scenario, their points numbered by axis values.
class Scenario {
 public:
  Scenario(std::string name, const ExperimentRow& experiment, std::vector<const TrialRow*> trials,
           std::optional<SearchSummary> search)
      : experiment_(experiment),
        objective_spec_(experiment.objective_for(trials.front()->workload)),
        trials_(std::move(trials)) {
    result_.objective = objective_spec_;
    result_.energy_by_gauge = experiment_.energy_by_gauge;
    for (const ExperimentRow::Growth& growth : experiment.grown)
      grown_from_ = std::max(grown_from_, growth.first_block.value_or(0));
    if (const auto target = experiment.targets.find(trials_.front()->workload);
        target != experiment.targets.end())
      result_.target = target->second;
    result_.scenario = std::move(name);
    result_.search = std::move(search);
    number_points();
  }

  // In short, as one machine says it: its best, and whether `asked` (a point's key) is told apart from it.
  ScenarioSummary brief(const std::string& asked) {
    const auto at = index_.find(asked);
    asked_ = {at == index_.end() ? -1 : at->second};
    return finish();
  }

  ScenarioSummary finish() {
    find_machines();
    for (std::size_t i = 0; i < result_.points.size(); ++i) count(i);
    collect_blocks();
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      if (result_.search)
        compare_by_search(result_.points[i]);
      else
        compare(i);
    }
    for (PointSummary& point : result_.points) check_constraints(point, objective_spec_.constraints);
    rank();
    if (!asked_.empty()) return std::move(result_);
    trade_offs();
    set_drift(result_, {experiment_, trials_, several_nodes()});
    return std::move(result_);
  }

 private:
  void number_points() {
    std::map<std::string, PointSummary> points;
    for (const TrialRow* trial : trials_) {
      PointSummary& point = points[trial->point];
      point.point = trial->point;
      point.workload = trial->workload;
      point.is_reference = trial->is_reference;
      point.settings = trial->settings;
    }
    for (auto& [key, point] : points) result_.points.push_back(std::move(point));
    std::stable_sort(result_.points.begin(), result_.points.end(),
                     [](const PointSummary& a, const PointSummary& b) {
                       return earlier_settings(a.settings, b.settings);
                     });
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      index_[result_.points[i].point] = static_cast<int>(i);
      if (result_.points[i].is_reference) result_.reference = i;
    }
    // Looked up once: 64 machines have 64 000 trials.
    trials_of_.resize(result_.points.size());
    for (const TrialRow* trial : trials_) {
      const int index = index_.at(trial->point);
      index_of_trial_[trial] = index;
      trials_of_[static_cast<std::size_t>(index)].push_back(trial);
    }
    for (const auto& of_point : trials_of_) {
      unequal_.merge(work_of_totals(of_point, objective_spec_));
      std::vector<const TrialRow*> fresh;
      std::copy_if(of_point.begin(), of_point.end(), std::back_inserter(fresh),
                   [&](const TrialRow* trial) { return confirms(*trial); });
      unequal_fresh_.merge(work_of_totals(fresh, objective_spec_));
    }
  }

  // Before the experiment grew others were confirmed, or against others.
  bool confirms(const TrialRow& trial) const { return trial.confirms && trial.block >= grown_from_; }

  int index_of(const TrialRow& trial) const { return index_of_trial_.at(&trial); }

  WorkOfTrial work_of(const TrialRow& trial) const { return dvfs_plan::work_of(trial, unequal_); }

  void count(std::size_t i) {
    PointSummary& point = result_.points[i];
    set_means(point, {trials_of_[i], unequal_, objective_spec_, !result_.search, several_nodes(),
                      !result_.target.empty()});
    result_.trials += point.trials;
    result_.counted += point.counted;
    for (const auto& [verdict, trials] : point.not_counted) result_.not_counted[verdict] += trials;
    for (const TrialRow* trial : trials_of_[i]) {
      if (!trial->counts()) continue;
      if (std::none_of(result_.regions.begin(), result_.regions.end(),
                       [&](const std::string& one) { return same_regions(one, trial->region); }))
        result_.regions.push_back(trial->region);
    }
  }

  bool several_nodes() const { return nodes_.size() > 1; }
  int node_of(const TrialRow& trial) const { return several_nodes() ? nodes_.at(trial.node) : 0; }

  // What repeats is the machine where there are several, as its blocks share what it is; else the block.
  std::vector<BlockedValue> by_replicate(const std::vector<GroupedValue>& values) const {
    if (several_nodes()) return means_of_groups(values, static_cast<int>(result_.points.size()));
    std::vector<BlockedValue> blocked;
    for (const GroupedValue& value : values) blocked.push_back({value.point, value.block, value.value});
    return blocked;
  }

  void find_machines() {
    for (const TrialRow* trial : trials_) {
      if (trial->counts() && !trial->node.empty())
        nodes_.emplace(trial->node, static_cast<int>(nodes_.size()));
    }
    // Versions before 1.2.2 went on with a joined file: of what they ran no machine is on record.
    const bool nameless =
        !nodes_.empty() && std::any_of(trials_.begin(), trials_.end(), [](const TrialRow* trial) {
          return trial->counts() && trial->node.empty();
        });
    if (nameless) nodes_.emplace("", static_cast<int>(nodes_.size()));
  }

  void collect_blocks() {
    std::vector<GroupedValue> energy, time, objective, fresh;
    std::map<int, std::set<int>> where;  // of each point, the blocks with an objective
    for (const TrialRow* trial : trials_) {
      if (!trial->counts() || result_.points[static_cast<std::size_t>(index_of(*trial))].of_the_lucky)
        continue;
      const auto add = [&](std::vector<GroupedValue>& into, const std::optional<double>& value) {
        if (value && *value > 0) into.push_back({index_of(*trial), node_of(*trial), trial->block, *value});
      };
      const WorkOfTrial work = work_of(*trial);
      add(energy, work.energy_in_logs);
      add(time, work.time_in_logs);
      add(objective, work.objective_in_logs);
      if (confirms(*trial)) add(fresh, dvfs_plan::work_of(*trial, unequal_fresh_).objective_in_logs);
    }
    energy_ = by_replicate(energy);
    time_ = by_replicate(time);
    objective_ = by_replicate(objective);
    grouped_objective_ = objective;
    // A work that did nothing in any of its trials has no objective, and nothing to be compared by.
    for (const BlockedValue& value : objective_) where[value.point].insert(value.block);
    fresh_ = by_replicate(fresh);
    result_.connected =
        where.empty() || reached_by_blocks(where, where.begin()->first).size() == where.size();
    const auto in_all = [&](const auto& one) { return one.second == where.begin()->second; };
    result_.balanced =
        std::all_of(where.begin(), where.end(), in_all) && is_balanced_within_groups(objective);
  }

  // What the sensors add to the mean ratio of two points, relative, over all their trials or `of` them.
  double sensor_part(const PointSummary& a, const PointSummary& b,
                     const std::vector<BlockedValue>* of = nullptr) const {
    const auto trials_a_value = [&](const PointSummary& point) {
      if (of == nullptr || !point.energy) return 1.0;
      const auto mine = std::count_if(of->begin(), of->end(), [&](const BlockedValue& value) {
        return &result_.points[static_cast<std::size_t>(value.point)] == &point;
      });
      return static_cast<double>(point.energy->n) / static_cast<double>(std::max<std::ptrdiff_t>(1, mine));
    };
    return sensors_of_ratio(a, b, result_.energy_by_gauge, trials_a_value(a), trials_a_value(b));
  }

  // By what the interval of a point's mean is wider since a few of its trials did most of the work, relative: it is none of the sensors', and is
  // added as theirs.
  double added(const PointSummary& point, std::optional<Estimate> PointSummary::*of) const {
    const std::optional<Estimate>& mean = point.*of;
    if (point.wider <= 1 || !mean || !mean->half_width || !(mean->mean > 0)) return 0;
    return scatter_half_width(*mean) / mean->mean * std::sqrt(1 - 1 / (point.wider * point.wider));
  }
  double added(const PointSummary& a, const PointSummary& b,
               std::optional<Estimate> PointSummary::*of) const {
    return std::hypot(added(a, of), added(b, of));
  }
  // What is added to the ratio of the objective, over all trials of both or `of` them.
  double added_to_objective(const PointSummary& a, const PointSummary& b,
                            const std::vector<BlockedValue>* of = nullptr) const {
    const bool of_time = objective_spec_.minimise == Objective::time;
    double all = of_time ? 0 : sensor_part(a, b, of);
    for (const PointSummary* point : {&a, &b}) {
      const double mine = added(*point, &PointSummary::objective);
      if (mine == 0) continue;
      const auto count =
          of == nullptr ? 0 : std::count_if(of->begin(), of->end(), [&](const BlockedValue& value) {
            return &result_.points[static_cast<std::size_t>(value.point)] == point;
          });
      const double fewer =
          count > 0 ? std::sqrt(static_cast<double>(point->objective->n) / static_cast<double>(count)) : 1;
      all = std::hypot(all, mine * fewer);
    }
    return all;
  }

  void compare(std::size_t i) {
    PointSummary& point = result_.points[i];
    if (!result_.reference || i == *result_.reference) return;
    const int mine = static_cast<int>(i), reference = static_cast<int>(*result_.reference);
    const PointSummary& other = result_.points[*result_.reference];
    point.saving =
        paired_change(energy_, mine, reference, ChangeOf::saving,
                      std::hypot(sensor_part(point, other), added(point, other, &PointSummary::work_energy)));
    point.slowdown = paired_change(time_, mine, reference, ChangeOf::increase,
                                   added(point, other, &PointSummary::work_time));
    point.gain =
        paired_change(objective_, mine, reference, ChangeOf::saving, added_to_objective(point, other));
    compare_means(i, *result_.reference);
  }

  bool means_are_comparable(const PointSummary& one, const PointSummary& other) const {
    return result_.balanced && !several_nodes() && one.objective && other.objective &&
           other.objective->mean > 0 && one.objective->half_width && other.objective->half_width;
  }
  bool means_told_apart(const PointSummary& a, const PointSummary& b) const {
    return std::abs(a.objective->mean - b.objective->mean) >
           std::hypot(*a.objective->half_width, *b.objective->half_width);
  }

  double mean_logarithm_of_objective(std::size_t point) const {
    double sum = 0;
    int count = 0;
    for (const BlockedValue& value : objective_) {
      if (value.point != static_cast<int>(point)) continue;
      sum += std::log(value.value);
      ++count;
    }
    return count > 0 ? sum / count : 0;
  }

  // What the blocks' ratios tell apart is what trials mostly take. Where one of the two is seldom very high, their means, of which nothing is
  // told apart then, may lie less far apart, or the other way round: here by a quarter and more.
  bool differs_mostly_but_not_by_means(std::size_t a, std::size_t b) const {
    const PointSummary &one = result_.points[a], &other = result_.points[b];
    if (!means_are_comparable(one, other) || !(one.objective->mean > 0) || means_told_apart(one, other))
      return false;
    const double by_most = mean_logarithm_of_objective(a) - mean_logarithm_of_objective(b);
    const double by_means = std::log(one.objective->mean / other.objective->mean);
    constexpr double least = 0.75;
    return by_most != 0 && by_means / by_most < least;
  }

  void compare_means(std::size_t at, std::size_t reference_at) {
    PointSummary& point = result_.points[at];
    const PointSummary& reference = result_.points[reference_at];
    if (!point.gain || !point.gain->low || !means_are_comparable(point, reference)) return;
    const double gain = 1 - point.objective->mean / reference.objective->mean;
    // Trials that are alike to the last place have an interval of no width, of which rounding is outside.
    const bool inside =
        gain >= *point.gain->low - rounding_of_shares && gain <= *point.gain->high + rounding_of_shares;
    const bool beyond_zero = *point.gain->low > 0 || *point.gain->high < 0;
    if (inside && !(beyond_zero && differs_mostly_but_not_by_means(at, reference_at))) return;
    point.gain_of_means = gain;
    point.means_told_apart = means_told_apart(point, reference);
  }

  // Most points of a search are run in one block only; what the whole surface says stands for the pairs.
  void compare_by_search(PointSummary& point) const {
    const auto known = result_.search->to_reference.find(point.point);
    if (known == result_.search->to_reference.end() || point.counted == 0) return;
    const bool interval = result_.search->scatter_known;
    const auto as_change = [&](const SurfaceChange& c) {
      const bool told = interval && std::isfinite(c.low) && std::isfinite(c.high);
      return Change{point.counted, c.value, told ? std::optional(c.low) : std::nullopt,
                    told ? std::optional(c.high) : std::nullopt};
    };
    if (known->second.saving) point.saving = as_change(*known->second.saving);
    point.slowdown = as_change(known->second.slowdown);
    point.gain = as_change(known->second.gain);
  }

  // Each point's level for comparisons: its mean where all points count in the same blocks, else with the blocks' level taken out: by what it
  // is of the reference in the blocks that both ran in, as its row says, so that what other points did there has no part in it; where
  // there is none, by the model of all points and blocks.
  std::vector<std::optional<double>> levels(const std::vector<BlockedValue>& values,
                                            std::optional<Estimate> PointSummary::*mean) const {
    std::vector<std::optional<double>> levels;
    std::optional<BlockModel> model;
    if (!result_.balanced) model.emplace(values, static_cast<int>(result_.points.size()));
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const std::optional<Estimate>& estimate = result_.points[i].*mean;
      std::optional<double>& level = levels.emplace_back();
      if (estimate) level = estimate->mean;
      if (estimate && model) level = model->level(static_cast<int>(i)).value_or(estimate->mean);
    }
    if (model && result_.reference && !result_.search) {
      const int reference = static_cast<int>(*result_.reference);
      const auto base = model->level(reference);
      for (std::size_t i = 0; i < levels.size(); ++i) {
        const auto saved = base && levels[i] && static_cast<int>(i) != reference
                               ? paired_change(values, static_cast<int>(i), reference, ChangeOf::saving)
                               : std::nullopt;
        if (saved) levels[i] = *base * (1 - saved->value);
      }
    }
    return levels;
  }

  // The search names the best and tells the others apart by its model of the whole surface.
  void rank_by_search() {
    result_.planned_points = static_cast<int>(result_.search->points.size()) + result_.search->hopeless;
    result_.spread_known = result_.search->scatter_known;
    for (const SearchPoint& known : result_.search->points) {
      const auto at = index_.find(known.point);
      if (at == index_.end()) continue;
      PointSummary& point = result_.points[static_cast<std::size_t>(at->second)];
      point.not_told_apart = known.run && known.not_told_apart;
      if (result_.search->best == known.point && point.feasible)
        result_.best = static_cast<std::size_t>(at->second);
    }
    if (!result_.best) result_.search->best.reset();
    if (result_.best) after_ranking();
  }

  void rank() {
    if (result_.search) return rank_by_search();
    const BlockModel model(objective_, static_cast<int>(result_.points.size()));
    std::vector<int> feasible;
    const auto levels_of_points = levels(objective_, &PointSummary::objective);
    const auto times = times_of_points();
    int known = 0;
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      PointSummary& point = result_.points[i];
      point.objective_level = levels_of_points[i];
      const bool constraints_known =
          std::all_of(point.constraints.begin(), point.constraints.end(),
                      [](const ConstraintCheck& c) { return c.holds.has_value(); });
      const bool breaks =
          std::any_of(point.constraints.begin(), point.constraints.end(),
                      [](const ConstraintCheck& c) { return c.holds == false && !c.may_hold(); });
      known += (point.objective && constraints_known) || breaks || point.more_than ? 1 : 0;
      if (!point.objective || !point.feasible) continue;
      feasible.push_back(static_cast<int>(i));
      if (!result_.best) {
        result_.best = i;
        continue;
      }
      const double difference = *point.objective_level - *result_.points[*result_.best].objective_level;
      const auto mine = times[i], best = times[*result_.best];
      const bool faster = mine && best && *mine < *best;
      if (difference < 0 || (difference == 0 && faster)) result_.best = i;
    }
    const auto planned = experiment_.points_of_scenario.find(result_.scenario);
    result_.planned_points = planned == experiment_.points_of_scenario.end()
                                 ? static_cast<int>(result_.points.size())
                                 : planned->second;
    result_.unknown_points = std::max(0, result_.planned_points - known);
    if (!result_.best) return;
    judge_bounds(model);
    result_.spread_known = model.degrees_of_freedom() > 0;
    for (const int i : model.not_worse_than_best(feasible, level_of_the_set, sensor_shares(), asked_))
      result_.points[static_cast<std::size_t>(i)].not_told_apart = true;
    result_.points[*result_.best].not_told_apart = true;
    // A single trial tells nothing of its own scatter: it is told apart from none.
    for (const int i : feasible) {
      if (result_.points[static_cast<std::size_t>(i)].counted < 2 ||
          result_.points[*result_.best].counted < 2)
        result_.points[static_cast<std::size_t>(i)].not_told_apart = true;
    }
    for (const int i : feasible) {
      const auto at = static_cast<std::size_t>(i);
      if (at != *result_.best && differs_mostly_but_not_by_means(at, *result_.best))
        result_.points[at].not_told_apart = true;
    }
    // The pooled error may tell the reference apart where its own pairs do not: then it is not told apart.
    if (result_.reference && *result_.reference != *result_.best) {
      PointSummary& reference = result_.points[*result_.reference];
      const auto& gain = result_.points[*result_.best].gain;
      const PointSummary& best = result_.points[*result_.best];
      const bool by_means = !best.gain_of_means || (best.means_told_apart && *best.gain_of_means > 0);
      if (reference.feasible && reference.objective &&
          (!gain || !gain->low || *gain->low <= rounding_of_shares || !by_means))
        reference.not_told_apart = true;
    }
    // Likewise of the others, where the reference is the best: what their row shows must not say otherwise.
    if (result_.reference && *result_.reference == *result_.best) {
      for (PointSummary& point : result_.points) {
        const auto& gain = point.gain;
        if (!point.is_reference && point.feasible && point.objective &&
            (!gain || !gain->low || *gain->high >= 0))
          point.not_told_apart = true;
      }
    }
    if (asked_.empty()) claim_gain(feasible);
    after_ranking();
  }

  // What trials of point `i` take at the least, those that reached the target too; by machine and block.
  std::vector<GroupedValue> bounds_of(std::size_t i) const {
    std::vector<GroupedValue> bounds;
    for (const TrialRow* trial : trials_of_[i]) {
      const auto bound = trial->censored() ? trial->more_than
                         : trial->counts() ? work_of(*trial).objective_in_logs
                                           : std::nullopt;
      // Of a machine on which nothing counts there is nothing to compare with.
      const bool of_one = !several_nodes() || nodes_.contains(trial->node);
      if (bound && *bound > 0 && of_one)
        bounds.push_back({static_cast<int>(i), node_of(*trial), trial->block, *bound});
    }
    return bounds;
  }

  // Of several machines each with its blocks' level taken out, as what is compared with (by_replicate).
  std::vector<BlockedValue> bounds_by_replicate(const std::vector<GroupedValue>& bounds, int best) const {
    std::map<int, std::vector<BlockedValue>> of_machines, counted;
    for (const GroupedValue& one : bounds)
      of_machines[one.group].push_back({one.point, one.block, one.value});
    if (!several_nodes()) return of_machines[0];
    const auto replicates = replicates_of(grouped_objective_);
    std::map<int, int> of_best;  // the replicate that it is in, by machine
    for (std::size_t i = 0; i < grouped_objective_.size(); ++i) {
      const GroupedValue& one = grouped_objective_[i];
      counted[one.group].push_back({one.point, one.block, one.value});
      if (one.point == best) of_best[one.group] = replicates[i];
    }
    std::vector<BlockedValue> of_each;
    for (const auto& [machine, mine] : of_machines) {
      const BlockModel model(counted[machine], static_cast<int>(result_.points.size()));
      if (const auto level = model.level(best) ? model.level_of(mine, best) : std::nullopt)
        of_each.push_back({mine.front().point, of_best.at(machine), *level});
    }
    return of_each;
  }

  // As of points that did.
  std::optional<double> level_of_bounds(const std::vector<BlockedValue>& bounds,
                                        const BlockModel& model) const {
    if (bounds.empty()) return std::nullopt;
    if (result_.reference) {
      const int reference = static_cast<int>(*result_.reference);
      std::vector<BlockedValue> both = bounds;
      std::copy_if(objective_.begin(), objective_.end(), std::back_inserter(both),
                   [&](const BlockedValue& value) { return value.point == reference; });
      const auto base = model.level(reference);
      const auto saved = bounds.front().point == reference
                             ? std::nullopt
                             : paired_change(both, bounds.front().point, reference, ChangeOf::saving);
      if (base && saved) return *base * (1 - saved->value);
    }
    return model.level_of(bounds, static_cast<int>(*result_.best));
  }

  // Of points that did not always reach the target: whether what they take at the least is more than the best takes.
  void judge_bounds(const BlockModel& model) {
    const std::size_t best_at = *result_.best;
    const int best = static_cast<int>(best_at);
    std::set<int> of_best;
    for (const BlockedValue& value : objective_) {
      if (value.point == best) of_best.insert(value.block);
    }
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      PointSummary& point = result_.points[i];
      if (!point.more_than) continue;
      const auto bounds = bounds_by_replicate(bounds_of(i), best);
      std::set<int> of_bounds;
      for (const BlockedValue& bound : bounds) of_bounds.insert(bound.block);
      if (of_bounds.empty()) continue;
      const bool by_means = result_.balanced && of_bounds == of_best;
      std::vector<double> values;
      for (const BlockedValue& bound : bounds) values.push_back(bound.value);
      const auto mine = by_means ? std::optional(average_of(values)) : level_of_bounds(bounds, model);
      const auto margin = margin_of_bound(point, values.size(), of_best.size(), model);
      point.worse_by_bound =
          mine && margin && std::log(*mine / *result_.points[best_at].objective_level) > *margin;
    }
  }
  // By how much a logarithm it has to be beyond the best's: scatter of both means, as of all points, and what the sensors may add to each.
  // nullopt: nothing tells the scatter.
  std::optional<double> margin_of_bound(const PointSummary& point, std::size_t trials, std::size_t of_best,
                                        const BlockModel& model) const {
    if (model.degrees_of_freedom() < 1) return std::nullopt;
    const double random = student_t(0.95, model.degrees_of_freedom()) *
                          std::sqrt(model.error_variance() *
                                    (1.0 / static_cast<double>(trials) + 1.0 / static_cast<double>(of_best)));
    const auto& best = result_.points[*result_.best].objective;
    const bool by_sensors = objective_spec_.minimise != Objective::time && best && best->mean > 0;
    const double of_best_sensors = by_sensors ? best->sensor_half_width.value_or(0) / best->mean : 0;
    return std::hypot(
        random, point.bound_sensor_share,
        std::hypot(of_best_sensors, added(result_.points[*result_.best], &PointSummary::objective)));
  }

  // How much less of the objective the best has than `other`: by blocks that confirm it, or with what it owes to having been
  // chosen taken out; nullopt where neither can be done.
  std::optional<NamedSaving> named_against(std::size_t other, const std::vector<int>& feasible) const {
    // Where there is but one beside the reference nobody chose.
    if (std::count_if(feasible.begin(), feasible.end(),
                      [&](int point) { return point != static_cast<int>(*result_.reference); }) < 2)
      return std::nullopt;
    const PointSummary &best = result_.points[*result_.best], &against = result_.points[other];
    const auto sensor = [&](const std::vector<BlockedValue>* of) {
      return added_to_objective(best, against, of);
    };
    return named_saving(objective_, fresh_, static_cast<int>(result_.points.size()),
                        static_cast<int>(*result_.best), static_cast<int>(other), feasible, sensor(nullptr),
                        sensor(&fresh_));
  }

  void claim_gain(const std::vector<int>& feasible) {
    if (!result_.reference || *result_.reference == *result_.best) return;
    const int reference = static_cast<int>(*result_.reference);
    for (const int point : feasible) result_.chosen_among += point == reference ? 0 : 1;
    // Where the two have no block in common nothing is said of them, here as in their rows.
    const auto said =
        result_.points[*result_.best].gain ? named_against(*result_.reference, feasible) : std::nullopt;
    if (said) {
      result_.gain_corrected = true;
      result_.gain_of_best = said->change;
      result_.from_fresh_blocks = said->fresh;
    }
    result_.axis_effects = axis_effects(result_, [&](std::size_t other) -> GainOverPoint {
      if (const auto gain = named_against(other, feasible)) return {gain->change, true};
      return {paired_change(objective_, static_cast<int>(*result_.best), static_cast<int>(other),
                            ChangeOf::saving,
                            added_to_objective(result_.points[*result_.best], result_.points[other])),
              false};
    });
  }

  // For who is faster: where not all count in the same blocks, with the blocks' level taken out.
  std::vector<std::optional<double>> times_of_points() const {
    if (!result_.balanced && !result_.search) return levels(time_, &PointSummary::work_time);
    std::vector<std::optional<double>> times;
    for (const PointSummary& point : result_.points)
      times.push_back(point.work_time ? std::optional(point.work_time->mean) : std::nullopt);
    return times;
  }

  void after_ranking() {
    if (!result_.gain_of_best) result_.gain_of_best = result_.points[*result_.best].gain;
    const auto times = times_of_points();
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      if (!result_.points[i].not_told_apart || !times[i]) continue;
      if (!result_.fastest_not_told_apart || *times[i] < *times[*result_.fastest_not_told_apart])
        result_.fastest_not_told_apart = i;
    }
    edges(result_.points[*result_.best]);
  }

  // Of each point's mean objective, what the sensors add, relative, and what unequal work does.
  std::vector<double> sensor_shares() const {
    std::vector<double> shares;
    for (const PointSummary& point : result_.points) {
      shares.push_back(std::hypot(sensor_share(point.objective), added(point, &PointSummary::objective)));
    }
    return shares;
  }

  void edges(const PointSummary& best) {
    for (std::size_t a = 0; a < best.settings.size(); ++a) {
      std::set<double> numbers;
      const auto look = [&](const auto& points) {
        for (const auto& point : points) {
          if (a < point.settings.size() && point.settings[a].number)
            numbers.insert(*point.settings[a].number);
        }
      };
      look(result_.points);
      if (result_.search) look(result_.search->points);  // those not run are swept too
      // A clock that was not delivered says nothing of what lies beyond it.
      if (best.delivered_instead.contains(best.settings[a].axis)) continue;
      const auto& mine = best.settings[a].number;
      if (mine && numbers.size() > 1 && (*mine == *numbers.begin() || *mine == *numbers.rbegin()))
        result_.best_at_edge_of.push_back(best.settings[a].axis);
    }
  }

  // For what a tolerated slowdown buys. Where means do not compare, each by what is stated of it, which is its saving against the
  // reference: a wider limit is not to save less.
  std::vector<std::optional<double>> energy_by_savings(std::vector<std::optional<double>> energy) const {
    if (result_.balanced && !result_.search) return energy;
    for (std::size_t i = 0; i < energy.size(); ++i) {
      const PointSummary& point = result_.points[i];
      if (point.is_reference && energy[i])
        energy[i] = 1;
      else
        energy[i] = point.saving ? std::optional(1 - point.saving->value) : std::nullopt;
    }
    return energy;
  }

  void trade_offs() {
    auto& points = result_.points;
    std::vector<GroupedValue> edp, ed2p;
    for (const TrialRow* trial : trials_) {
      const WorkOfTrial work = work_of(*trial);
      const auto &e = work.energy_in_logs, &t = work.time_in_logs;
      if (!trial->counts() || !e || !t || *e <= 0 || *t <= 0) continue;
      edp.push_back({index_of(*trial), node_of(*trial), trial->block, *e * *t});
      ed2p.push_back({index_of(*trial), node_of(*trial), trial->block, *e * *t * *t});
    }
    const auto energy = levels(energy_, &PointSummary::work_energy),
               time = levels(time_, &PointSummary::work_time);
    if (!result_.balanced) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        points[i].energy_level = energy[i];
        points[i].time_level = time[i];
      }
    }
    const auto of_edp = levels(by_replicate(edp), &PointSummary::edp),
               of_ed2p = levels(by_replicate(ed2p), &PointSummary::ed2p);
    const auto least = [&](const std::vector<std::optional<double>>& values, auto condition) {
      std::optional<std::size_t> found;
      for (std::size_t i = 0; i < points.size(); ++i) {
        if (values[i] && condition(points[i]) && (!found || *values[i] < *values[*found])) found = i;
      }
      return found;
    };
    const auto always = [](const PointSummary&) { return true; };
    result_.best_edp = least(of_edp, always);
    result_.best_ed2p = least(of_ed2p, always);
    if (result_.reference) {
      result_.by_slowdown = least_energy_by_slowdown(points, energy_by_savings(energy));
      result_.at_slowdown = at_usual_slowdowns(result_.by_slowdown);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!energy[i] || !time[i]) continue;
      points[i].on_pareto_front = true;
      for (std::size_t k = 0; k < points.size(); ++k) {
        if (!energy[k] || !time[k]) continue;
        const double e = *energy[k] - *energy[i], t = *time[k] - *time[i];
        if (e <= 0 && t <= 0 && (e < 0 || t < 0)) points[i].on_pareto_front = false;
      }
    }
  }

  const ExperimentRow& experiment_;
  const ObjectiveSpec& objective_spec_;  // of the workload
  std::vector<const TrialRow*> trials_;
  ScenarioSummary result_;
  std::map<std::string, int> index_;
  std::unordered_map<const TrialRow*, int> index_of_trial_;
  WorkOfTrials unequal_;                                 // of points whose trials did unequal work
  WorkOfTrials unequal_fresh_;                           // the same of those alone that confirm
  std::vector<std::vector<const TrialRow*>> trials_of_;  // by point
  std::vector<BlockedValue> energy_, time_, objective_;
  std::vector<GroupedValue> grouped_objective_;  // by machine and block
  std::vector<BlockedValue> fresh_;              // of the objective, in blocks that confirm
  int grown_from_ = 0;                           // first block of what was added last
  std::map<std::string, int> nodes_;             // machines, numbered, where there are any by name
  std::vector<int> asked_;                       // in brief: the points that are asked about; empty: all
};

}  // namespace

ScenarioSummary summarise_in_brief(const ExperimentRow& experiment, const std::string& scenario,
                                   const std::vector<const TrialRow*>& trials, const std::string& asked) {
  return Scenario(scenario, experiment, trials, std::nullopt).brief(asked);
}

Summary summarise(const ExperimentRow& experiment, const std::vector<TrialRow>& trials,
                  std::vector<std::string> warnings, std::vector<std::string> sensors, Searches searches) {
  Summary summary;
  summary.warnings = std::move(warnings);
  summary.sensors = std::move(sensors);
  summary.experiment = experiment;
  OwedTrials owed;
  std::map<std::tuple<std::string, int, TrialRole>, bool> counts;  // of each planned trial, any attempt
  std::map<std::string, std::vector<const TrialRow*>, NaturalOrder> scenarios;
  OneUnit one_unit(trials);
  LongOnes long_ones(trials);
  for (std::string& line : long_ones.warnings()) summary.warnings.push_back(std::move(line));
  for (const TrialRow& trial : trials) {
    if (trial.role == TrialRole::warm_up) continue;
    if (!trial.left_out.empty()) {
      ++summary.left_out[trial.left_out];
      continue;
    }
    ++summary.attempts;
    if (trial.attempt == 1) ++summary.finished;
    owed.look_at(trial.key, trial.attempt, trial.given_up);
    // A search does not owe any one trial; it owes what it asked a point for.
    bool& any = experiment.search ? counts[{trial.point, 0, TrialRole::point}]
                                  : counts[{trial.point, trial.block, trial.role}];
    any = any || trial.counts() || trial.censored();
    const TrialRow& seen = *long_ones.of(trial);
    if (!seen.counts() && !seen.censored()) ++summary.not_counted[seen.verdict];
    scenarios[trial.scenario].push_back(one_unit.of(seen));
  }
  for (const auto& [planned, any] : counts) summary.unmended += any ? 0 : 1;
  summary.done = summary.finished - owed.count();
  summary.left = std::max(0, experiment.planned_trials - summary.done);
  // What was left as the last trial began; a night that stopped by itself ran it, and owes it still.
  if (!experiment.search && experiment.trials_left && experiment.last_session_ended != "done")
    summary.left = experiment.last_session_ended == "gave_up"
                       ? std::max(summary.left, *experiment.trials_left)
                       : *experiment.trials_left;
  summary.planned = std::max(experiment.planned_trials, summary.done + summary.left);
  // A search that is done has no trials left, however many it might have run.
  const bool of_one_machine =
      std::all_of(trials.begin(), trials.end(), [](const TrialRow& trial) { return trial.node.empty(); });
  if (experiment.search && of_one_machine && experiment.last_session_ended == "done") summary.left = 0;
  for (auto& [name, mine] : scenarios) {
    const auto search = searches.find(name);
    summary.scenarios.push_back(
        Scenario(name, experiment, mine,
                 search == searches.end() ? std::nullopt : std::optional(std::move(search->second)))
            .finish());
  }
  compare_with_alone(summary, trials);
  compare_nodes(summary, trials);
  return summary;
}

}  // namespace dvfs_plan
