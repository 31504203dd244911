#include "results/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/report/nodes.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/settings_order.hpp"
#include "results/report/side_by_side.hpp"
#include "results/report/trade_offs.hpp"
#include "results/statistics/groups.hpp"
#include "results/statistics/winner.hpp"

namespace dvfs_plan {
namespace {

// What several trials of one block have in common, the block's own level, is one thing and not several: a block's mean is one value. Of one
// block alone nothing tells how blocks differ. Of several machines each is one. `blocks_differ`: they are repetitions, no rounds of a search.
std::optional<Estimate> estimate_of(const std::vector<double>& values, const std::vector<std::string>& nodes,
                                    const std::vector<std::string>& blocks,
                                    const std::vector<SensorPart>& sensors, bool blocks_differ) {
  const bool one_machine =
      std::all_of(nodes.begin(), nodes.end(), [](const std::string& node) { return node.empty(); });
  if (!one_machine || !blocks_differ) return estimate_of_groups(values, nodes, sensors);
  auto result = estimate_of_groups(values, blocks, sensors);
  if (result && values.size() > 1 && std::all_of(blocks.begin(), blocks.end(), [&](const std::string& one) {
        return one == blocks.front();
      }))
    result->half_width.reset();
  return result;
}

// Values of one quantity over the counted trials of a point, with the sensors' share of each, and the machine of each where
// there are several.
struct Values {
  std::vector<double> values;
  std::vector<SensorPart> sensor;
  std::vector<std::string> nodes, blocks;
  const TrialRow* of = nullptr;  // that is being added
  void add(const std::optional<double>& value, const std::optional<SensorPart>& relative) {
    if (!value) return;
    values.push_back(*value);
    nodes.push_back(of->node);
    blocks.push_back(std::to_string(of->block));
    if (relative)
      sensor.push_back({std::abs(*value) * relative->half_width, std::abs(*value) * relative->systematic});
  }
  std::optional<Estimate> estimate(bool blocks_differ) const {
    return estimate_of(values, nodes, blocks, sensor, blocks_differ);
  }
};

// The trials of one scenario, their points numbered by axis values.
class Scenario {
 public:
  Scenario(std::string name, const ExperimentRow& experiment, std::vector<const TrialRow*> trials,
           std::optional<SearchSummary> search)
      : experiment_(experiment),
        objective_spec_(experiment.objective_for(trials.front()->workload)),
        trials_(std::move(trials)) {
    result_.objective = objective_spec_;
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
    for (std::size_t i = 0; i < result_.points.size(); ++i) count(i);
    collect_blocks();
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      if (result_.search)
        compare_by_search(result_.points[i]);
      else
        compare(i);
    }
    for (PointSummary& point : result_.points) check_constraints(point);
    rank();
    if (!asked_.empty()) return std::move(result_);
    trade_offs();
    drift();
    drift_of_metrics();
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
    for (const auto& of_point : trials_of_) unequal_.merge(work_of_totals(of_point, objective_spec_));
  }

  int index_of(const TrialRow& trial) const { return index_of_trial_.at(&trial); }

  // Per unit of work where the objective is, else per run.
  WorkOfTrial work_of(const TrialRow& trial) const {
    const auto found = unequal_.find(&trial);
    return found == unequal_.end() ? own_work(trial) : found->second;
  }

  bool blocks_differ() const { return !result_.search; }

  void count(std::size_t i) {
    PointSummary& point = result_.points[i];
    Values energy, above_idle, time, power, objective, per_unit, work_energy, work_time, edp, ed2p;
    std::vector<std::string> keys;
    std::vector<double> bounds;  // of trials that did not reach the target
    for (const TrialRow* trial : trials_of_[i]) {
      if (trial->role == TrialRole::warm_up) continue;
      ++point.trials;
      ++result_.trials;
      if (trial->censored()) {
        ++point.censored;
        if (trial->more_than) bounds.push_back(*trial->more_than);
        continue;
      }
      if (!trial->counts()) {
        ++point.not_counted[trial->verdict];
        ++result_.not_counted[trial->verdict];
        continue;
      }
      ++point.counted;
      ++result_.counted;
      for (Values* quantity : {&energy, &above_idle, &time, &power, &objective, &per_unit, &work_energy,
                               &work_time, &edp, &ed2p})
        quantity->of = trial;
      if (std::find(result_.regions.begin(), result_.regions.end(), trial->region) == result_.regions.end())
        result_.regions.push_back(trial->region);
      std::optional<SensorPart> sensor;
      if (trial->energy_half_width_j && trial->energy_j && *trial->energy_j > 0)
        sensor = SensorPart{*trial->energy_half_width_j / *trial->energy_j,
                            trial->energy_systematic_j.value_or(0) / *trial->energy_j};
      energy.add(trial->energy_j, sensor);
      std::optional<SensorPart> above_idle_sensor;
      if (trial->above_idle_j && *trial->above_idle_j != 0 && trial->time_s && trial->energy_half_width_j &&
          trial->idle_half_width_w) {
        above_idle_sensor =
            SensorPart{std::hypot(*trial->energy_half_width_j, *trial->idle_half_width_w * *trial->time_s) /
                           std::abs(*trial->above_idle_j),
                       trial->energy_systematic_j.value_or(0) / std::abs(*trial->above_idle_j)};
      }
      above_idle.add(trial->above_idle_j, above_idle_sensor);
      const WorkOfTrial work = work_of(*trial);
      work_energy.add(work.energy, sensor);
      work_time.add(work.time, std::nullopt);
      time.add(trial->time_s, std::nullopt);
      power.add(trial->mean_power_w, sensor);
      per_unit.add(trial->units ? work.energy : std::nullopt, sensor);
      edp.add(work.edp, sensor);
      ed2p.add(work.ed2p, sensor);
      objective.add(work.objective, objective_spec_.minimise == Objective::time ? std::nullopt : sensor);
      if (work.objective) keys.push_back(trial->key);
    }
    point.energy = energy.estimate(blocks_differ());
    point.above_idle = above_idle.estimate(blocks_differ());
    point.time = time.estimate(blocks_differ());
    point.work_energy = work_energy.estimate(blocks_differ());
    point.work_time = work_time.estimate(blocks_differ());
    point.power = power.estimate(blocks_differ());
    point.objective = objective.estimate(blocks_differ());
    point.energy_per_unit = per_unit.estimate(blocks_differ());
    point.edp = edp.estimate(blocks_differ());
    point.ed2p = ed2p.estimate(blocks_differ());
    describe(point, trials_of_[i]);
    if (point.censored > 0) {
      bounds.insert(bounds.end(), objective.values.begin(), objective.values.end());
      if (!bounds.empty())
        point.more_than =
            std::accumulate(bounds.begin(), bounds.end(), 0.0) / static_cast<double>(bounds.size());
      // The mean of those that did reach it is of the lucky ones.
      for (auto quantity : {&PointSummary::objective, &PointSummary::work_energy, &PointSummary::work_time,
                            &PointSummary::energy, &PointSummary::time, &PointSummary::energy_per_unit,
                            &PointSummary::edp, &PointSummary::ed2p, &PointSummary::above_idle})
        (point.*quantity).reset();
    }
    delivered_instead(point, trials_of_[i]);
    for (const std::size_t k : outliers(objective.values)) point.outliers.push_back(keys[k]);
  }

  // What its trials say beside time and energy.
  void describe(PointSummary& point, const std::vector<const TrialRow*>& trials) const {
    struct Told {
      std::vector<double> values, least, highest;
      std::vector<std::string> nodes, blocks;
      std::string unit;
      double count = 0, of = 0;
    };
    std::map<std::string, Told> metrics;
    std::map<std::string, std::vector<double>> boards;
    std::vector<double> shares;
    std::vector<std::vector<double>> times;
    for (const TrialRow* trial : trials) {
      if (!trial->counts()) continue;
      for (const auto& [name, value] : trial->metrics) {
        Told& told = metrics[name];
        told.values.push_back(value);
        told.nodes.push_back(trial->node);
        told.blocks.push_back(std::to_string(trial->block));
        const auto extremes = trial->extremes_of_metrics.find(name);
        told.least.push_back(extremes == trial->extremes_of_metrics.end() ? value : extremes->second.first);
        told.highest.push_back(extremes == trial->extremes_of_metrics.end() ? value
                                                                            : extremes->second.second);
        if (const auto unit = trial->units_of_metrics.find(name); unit != trial->units_of_metrics.end())
          told.unit = unit->second;
        const auto count = trial->counts_of_metrics.find(name);
        if (count == trial->counts_of_metrics.end()) continue;
        told.count += count->second.first;
        told.of += count->second.second;
      }
      for (const auto& [domain, joules] : trial->joules_of_boards) boards[domain].push_back(joules);
      if (trial->all_running_s && trial->time_s && *trial->time_s > 0)
        shares.push_back(*trial->all_running_s / (*trial->time_s * trial->runs));
      times.resize(std::max(times.size(), trial->instances.size()));
      point.instances.resize(std::max(point.instances.size(), trial->instances.size()));
      for (std::size_t i = 0; i < trial->instances.size(); ++i) {
        const TrialRow::Instance& one = trial->instances[i];
        point.instances[i].name = one.name;
        point.instances[i].workload = one.workload;
        const double work = one.units.value_or(one.runs);
        if (one.time_s && work > 0) times[i].push_back(*one.time_s / work);
      }
    }
    for (const auto& [name, told] : metrics) {
      MetricSummary metric{*estimate_of(told.values, told.nodes, told.blocks, {}, blocks_differ()),
                           estimate_of(told.least, told.nodes, told.blocks, {}, blocks_differ()),
                           estimate_of(told.highest, told.nodes, told.blocks, {}, blocks_differ()),
                           told.unit,
                           static_cast<int>(told.values.size()),
                           told.count,
                           told.of,
                           {},
                           {}};
      if (told.of > 0) {
        const ShareInterval interval = wilson_interval(told.count, told.of);
        metric.count_low = 100 * interval.low;
        metric.count_high = 100 * interval.high;
      }
      point.metrics.emplace(name, std::move(metric));
    }
    for (const auto& [domain, joules] : boards) point.joules_of_boards.emplace(domain, *estimate(joules));
    point.all_running_share = estimate(shares);
    for (std::size_t i = 0; i < times.size(); ++i) point.instances[i].time = estimate(times[i]);
  }

  // What boards ran at where it was not what was asked for, over the trials that count.
  void delivered_instead(PointSummary& point, const std::vector<const TrialRow*>& trials) const {
    std::vector<double> shares, limits;
    int counted = 0;
    for (const TrialRow* trial : trials) {
      if (!trial->counts()) continue;
      ++counted;
      std::set<std::string> axes;
      for (const TrialRow::Applied& setting : trial->applied) {
        if (setting.as_requested != false || !setting.delivered) continue;
        const auto [at, is_new] = point.delivered_instead.try_emplace(setting.axis);
        DeliveredInstead& instead = at->second;
        instead.low_hz = is_new ? *setting.delivered : std::min(instead.low_hz, *setting.delivered);
        instead.high_hz = std::max(instead.high_hz, *setting.delivered);
        if (axes.insert(setting.axis).second) ++instead.trials;
      }
      if (trial->power_cap_share) shares.push_back(*trial->power_cap_share);
      if (trial->power_limit_w) limits.push_back(*trial->power_limit_w);
    }
    for (auto& [axis, instead] : point.delivered_instead) instead.of = counted;
    const auto mean = [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    };
    if (!shares.empty()) point.power_cap_share = mean(shares);
    if (!limits.empty()) point.power_limit_w = mean(limits);
  }

  // What repeats: the machine where there are several, else the block.
  int replicate_of(const TrialRow& trial) const {
    return several_nodes() ? nodes_.at(trial.node) : trial.block;
  }
  bool several_nodes() const { return nodes_.size() > 1; }

  void collect_blocks() {
    for (const TrialRow* trial : trials_) {
      if (trial->counts() && !trial->node.empty())
        nodes_.emplace(trial->node, static_cast<int>(nodes_.size()));
    }
    for (const TrialRow* trial : trials_) {
      if (!trial->counts() || result_.points[static_cast<std::size_t>(index_of(*trial))].censored > 0)
        continue;
      const auto add = [&](std::vector<BlockedValue>& into, const std::optional<double>& value) {
        if (value && *value > 0) into.push_back({index_of(*trial), replicate_of(*trial), *value});
      };
      const WorkOfTrial work = work_of(*trial);
      add(energy_, work.energy_in_logs);
      add(time_, work.time_in_logs);
      add(objective_, work.objective_in_logs);
      // Before the experiment grew others were confirmed, or against others.
      if (trial->confirms && trial->block >= grown_from_) add(fresh_, work.objective_in_logs);
      auto& mine = blocks_of_[index_of(*trial)];
      if (work.objective_in_logs) ++mine[replicate_of(*trial)];
    }
    // Of several machines each is one repetition: its blocks share what it is.
    if (several_nodes()) {
      for (std::vector<BlockedValue>* values : {&energy_, &time_, &objective_, &fresh_})
        *values = means_of_groups(*values);
    }
    if (!blocks_of_.empty()) {
      std::map<int, std::set<int>> where;
      for (const auto& [point, blocks] : blocks_of_) {
        for (const auto& [block, count] : blocks) where[point].insert(block);
      }
      result_.connected =
          where.empty() || reached_by_blocks(where, where.begin()->first).size() == where.size();
    }
    // Plain means compare where each point counts in all of the blocks, and as often in each of them: of the reference's two trials in a
    // block one that is lost gives that block less weight in its mean than in the others'.
    for (const auto& [point, blocks] : blocks_of_) {
      const auto& first = blocks_of_.begin()->second;
      result_.balanced = result_.balanced && blocks.size() == first.size() &&
                         std::equal(blocks.begin(), blocks.end(), first.begin(),
                                    [](const auto& a, const auto& b) { return a.first == b.first; }) &&
                         (several_nodes() || std::all_of(blocks.begin(), blocks.end(), [&](const auto& one) {
                            return one.second == blocks.begin()->second;
                          }));
    }
  }

  // What the sensors add to the mean ratio of two points, relative, over all their trials or `of` them. What
  // is the same in all trials of both cancels in it as far as it is equal: of a short region against a long
  // one, the difference stays.
  double sensor_part(const PointSummary& a, const PointSummary& b,
                     const std::vector<BlockedValue>* of = nullptr) const {
    double squares = 0, systematic = 0;
    for (const PointSummary* point : {&a, &b}) {
      if (!point->energy || !point->energy->sensor_half_width || point->energy->mean <= 0) continue;
      const double all = *point->energy->sensor_half_width / point->energy->mean,
                   same = point->energy->systematic_half_width / point->energy->mean;
      double share = 1;
      if (of != nullptr) {
        const auto mine = std::count_if(of->begin(), of->end(), [&](const BlockedValue& value) {
          return &result_.points[static_cast<std::size_t>(value.point)] == point;
        });
        share =
            static_cast<double>(point->energy->n) / static_cast<double>(std::max<std::ptrdiff_t>(1, mine));
      }
      squares += std::max(0.0, all * all - same * same) * share;
      // What a gauge's means smear over an edge has the sign of the step there, which is each point's own.
      systematic = experiment_.energy_by_gauge ? std::hypot(systematic, same) : same - systematic;
    }
    return std::hypot(std::sqrt(squares), systematic);
  }

  void compare(std::size_t i) {
    PointSummary& point = result_.points[i];
    if (!result_.reference || i == *result_.reference) return;
    const int mine = static_cast<int>(i), reference = static_cast<int>(*result_.reference);
    const double sensor = sensor_part(point, result_.points[*result_.reference]);
    point.saving = paired_change(energy_, mine, reference, ChangeOf::saving, sensor);
    point.slowdown = paired_change(time_, mine, reference, ChangeOf::increase);
    point.gain = paired_change(objective_, mine, reference, ChangeOf::saving,
                               objective_spec_.minimise == Objective::time ? 0 : sensor);
    compare_means(point, result_.points[*result_.reference]);
  }

  void compare_means(PointSummary& point, const PointSummary& reference) const {
    const auto &mine = point.objective, &theirs = reference.objective;
    if (!result_.balanced || several_nodes() || !point.gain || !point.gain->low || !mine || !theirs ||
        !(theirs->mean > 0) || !mine->half_width || !theirs->half_width)
      return;
    const double gain = 1 - mine->mean / theirs->mean;
    if (gain >= *point.gain->low && gain <= *point.gain->high) return;
    point.gain_of_means = gain;
    point.means_told_apart =
        std::abs(mine->mean - theirs->mean) > std::hypot(*mine->half_width, *theirs->half_width);
  }

  // Most points of a search are run in one block only; what the whole surface says stands for the pairs.
  void compare_by_search(PointSummary& point) const {
    const auto known = result_.search->to_reference.find(point.point);
    if (known == result_.search->to_reference.end() || point.counted == 0) return;
    const bool interval = result_.search->scatter_known;
    const auto as_change = [&](const SurfaceChange& c) {
      return Change{point.counted, c.value, interval ? std::optional(c.low) : std::nullopt,
                    interval ? std::optional(c.high) : std::nullopt};
    };
    if (known->second.saving) point.saving = as_change(*known->second.saving);
    point.slowdown = as_change(known->second.slowdown);
    point.gain = as_change(known->second.gain);
  }

  // An estimate with its interval for one constraint at one point.
  struct Bounded {
    double value;
    std::optional<double> low, high;
  };
  static std::optional<Bounded> bounded(const std::optional<Estimate>& estimate) {
    if (!estimate) return std::nullopt;
    Bounded b{estimate->mean, std::nullopt, std::nullopt};
    if (estimate->half_width) {
      b.low = estimate->mean - *estimate->half_width;
      b.high = estimate->mean + *estimate->half_width;
    }
    return b;
  }
  std::optional<Bounded> value_of(const ConstraintSpec& constraint, const PointSummary& point) const {
    if (constraint.name == "power") return bounded(point.power);
    if (constraint.name == "time") return bounded(point.time);
    if (constraint.name == "energy") return bounded(point.energy);
    if (constraint.name == "slowdown") {
      if (point.is_reference) return Bounded{0, 0, 0};
      if (!point.slowdown) return std::nullopt;
      return Bounded{point.slowdown->value, point.slowdown->low, point.slowdown->high};
    }
    const auto metric = point.metrics.find(constraint.name);
    if (metric == point.metrics.end()) return std::nullopt;
    // Of several at once all must hold it: the worst of them.
    auto value =
        bounded(bounds_from_above(constraint.relation) ? metric->second.highest : metric->second.least);
    // Of a share that is a count both must say so: its trials, and the count, which knows that 100 of 100 is not all there are.
    if (metric->second.count_low && value->low) {
      value->low = std::min(*value->low, *metric->second.count_low);
      value->high = std::max(*value->high, *metric->second.count_high);
    }
    return value;
  }

  void check_constraints(PointSummary& point) {
    for (const ConstraintSpec& constraint : objective_spec_.constraints) {
      ConstraintCheck check{constraint.name, constraint_text(constraint), std::nullopt, std::nullopt,
                            std::nullopt};
      const auto told =
          is_measured(constraint.name) ? point.metrics.end() : point.metrics.find(constraint.name);
      const std::string unit = told == point.metrics.end() ? "" : told->second.unit;
      auto value = value_of(constraint, point);
      // A percentile is told by no trial that had too many requests unanswered: those that told it are the better ones.
      if (value && told != point.metrics.end() && told->second.trials < point.counted) {
        check.why_not = fmt::format("{} of the {} trials of {} told none",
                                    point.counted - told->second.trials, point.counted, point.point);
        value.reset();
      }
      if (value && !as_bounded(constraint, value->value, unit)) {
        check.why_not = why_not_comparable(constraint, unit);
        value.reset();
      }
      if (value) {
        if (told != point.metrics.end())
          check.unit = plain_unit(constraint.unit.empty() ? unit : constraint.unit);
        for (double* one :
             {&value->value, value->low ? &*value->low : nullptr, value->high ? &*value->high : nullptr}) {
          if (one != nullptr) *one = *as_bounded(constraint, *one, unit);
        }
        check.value = value->value;
        check.low = value->low;
        check.high = value->high;
        check.holds = holds(constraint.relation, value->value, constraint.limit);
        if (value->low) {
          check.certain = holds(constraint.relation, *value->low, constraint.limit) == *check.holds &&
                          holds(constraint.relation, *value->high, constraint.limit) == *check.holds;
        }
      }
      point.feasible = point.feasible && check.holds.value_or(false);
      point.constraints.push_back(check);
    }
  }

  // Each point's level for comparisons: its mean where all points count in the same blocks, else with the
  // blocks' level taken out.
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
    const auto value = [&](std::size_t i) {
      return result_.balanced ? result_.points[i].objective->mean
                              : model.level(static_cast<int>(i)).value_or(result_.points[i].objective->mean);
    };
    int known = 0;
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const PointSummary& point = result_.points[i];
      const bool constraints_known =
          std::all_of(point.constraints.begin(), point.constraints.end(),
                      [](const ConstraintCheck& c) { return c.holds.has_value(); });
      known += (point.objective && constraints_known) || point.more_than ? 1 : 0;
      if (!point.objective || !point.feasible) continue;
      feasible.push_back(static_cast<int>(i));
      if (!result_.best) {
        result_.best = i;
        continue;
      }
      const double difference = value(i) - value(*result_.best);
      const auto &mine = point.work_time, &best = result_.points[*result_.best].work_time;
      const bool faster = mine && best && mine->mean < best->mean;
      if (difference < 0 || (difference == 0 && faster)) result_.best = i;
    }
    const auto planned = experiment_.points_of_scenario.find(result_.scenario);
    result_.planned_points = planned == experiment_.points_of_scenario.end()
                                 ? static_cast<int>(result_.points.size())
                                 : planned->second;
    result_.unknown_points = std::max(0, result_.planned_points - known);
    if (!result_.best) return;
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
    // The pooled error may tell the reference apart where its own pairs do not: then it is not told apart.
    if (result_.reference && *result_.reference != *result_.best) {
      PointSummary& reference = result_.points[*result_.reference];
      const auto& gain = result_.points[*result_.best].gain;
      const PointSummary& best = result_.points[*result_.best];
      const bool by_means = !best.gain_of_means || (best.means_told_apart && *best.gain_of_means > 0);
      if (reference.feasible && reference.objective && (!gain || !gain->low || *gain->low <= 0 || !by_means))
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

  // How much less of the objective the best has than `other`: by blocks that confirm it, or with what it owes to having been
  // chosen taken out; nullopt where neither can be done.
  std::optional<NamedSaving> named_against(std::size_t other, const std::vector<int>& feasible) const {
    // Where there is but one beside the reference nobody chose.
    if (std::count_if(feasible.begin(), feasible.end(),
                      [&](int point) { return point != static_cast<int>(*result_.reference); }) < 2)
      return std::nullopt;
    const PointSummary &best = result_.points[*result_.best], &against = result_.points[other];
    const auto sensor = [&](const std::vector<BlockedValue>* of) {
      return objective_spec_.minimise == Objective::time ? 0 : sensor_part(best, against, of);
    };
    return named_saving(objective_, fresh_, static_cast<int>(result_.points.size()),
                        static_cast<int>(*result_.best), static_cast<int>(other), feasible, sensor(nullptr),
                        sensor(&fresh_));
  }

  void claim_gain(const std::vector<int>& feasible) {
    if (!result_.reference || *result_.reference == *result_.best) return;
    const int reference = static_cast<int>(*result_.reference);
    for (const int point : feasible) result_.chosen_among += point == reference ? 0 : 1;
    const auto said = named_against(*result_.reference, feasible);
    if (said) {
      result_.gain_corrected = true;
      result_.gain_of_best = said->change;
      result_.from_fresh_blocks = said->fresh;
    }
    result_.axis_effects = axis_effects(result_, [&](std::size_t other) -> GainOverPoint {
      if (const auto gain = named_against(other, feasible)) return {gain->change, true};
      return {paired_change(objective_, static_cast<int>(*result_.best), static_cast<int>(other),
                            ChangeOf::saving,
                            objective_spec_.minimise == Objective::time
                                ? 0
                                : sensor_part(result_.points[*result_.best], result_.points[other])),
              false};
    });
  }

  void after_ranking() {
    if (!result_.gain_of_best) result_.gain_of_best = result_.points[*result_.best].gain;
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const PointSummary& point = result_.points[i];
      if (!point.not_told_apart || !point.work_time) continue;
      if (!result_.fastest_not_told_apart ||
          point.work_time->mean < result_.points[*result_.fastest_not_told_apart].work_time->mean)
        result_.fastest_not_told_apart = i;
    }
    edges(result_.points[*result_.best]);
  }

  // Of each point's mean objective, what the sensors alone add, relative.
  std::vector<double> sensor_shares() const {
    std::vector<double> shares;
    for (const PointSummary& point : result_.points) {
      const bool known = point.objective && point.objective->sensor_half_width && point.objective->mean > 0;
      shares.push_back(known ? *point.objective->sensor_half_width / point.objective->mean : 0);
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

  void trade_offs() {
    auto& points = result_.points;
    std::vector<BlockedValue> edp, ed2p;
    for (const TrialRow* trial : trials_) {
      const WorkOfTrial work = work_of(*trial);
      const auto &e = work.energy_in_logs, &t = work.time_in_logs;
      if (!trial->counts() || !e || !t || *e <= 0 || *t <= 0) continue;
      edp.push_back({index_of(*trial), replicate_of(*trial), *e * *t});
      ed2p.push_back({index_of(*trial), replicate_of(*trial), *e * *t * *t});
    }
    const auto energy = levels(energy_, &PointSummary::work_energy),
               time = levels(time_, &PointSummary::work_time);
    if (!result_.balanced) {
      for (std::size_t i = 0; i < points.size(); ++i) {
        points[i].energy_level = energy[i];
        points[i].time_level = time[i];
      }
    }
    const auto of_edp = levels(edp, &PointSummary::edp), of_ed2p = levels(ed2p, &PointSummary::ed2p);
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
      result_.by_slowdown = least_energy_by_slowdown(points, energy);
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

  // What the sensors alone may make of the difference of two trials' objectives, relative.
  std::optional<double> sensor_part(const TrialRow& a, const TrialRow& b) const {
    if (objective_spec_.minimise == Objective::time) return 0;
    double squares = 0;
    for (const TrialRow* trial : {&a, &b}) {
      if (!trial->energy_half_width_j || trial->energy_j.value_or(0) <= 0) return std::nullopt;
      squares += std::pow(*trial->energy_half_width_j / *trial->energy_j, 2);
    }
    return std::sqrt(squares);
  }

  // A server that answers slower and slower: each point's mean in the second half of its blocks against that in the first.
  void drift_of_metrics() {
    if (several_nodes()) return;  // other blocks are other machines
    std::set<std::string> names;
    for (const ConstraintSpec& constraint : objective_spec_.constraints) {
      if (!is_measured(constraint.name)) names.insert(constraint.name);
    }
    int last_block = 0;
    for (const TrialRow* trial : trials_) {
      if (!trial->counts()) continue;
      last_block = std::max(last_block, trial->block);
      for (const auto& [name, value] : trial->metrics) {
        if (name.ends_with("_latency") || name.ends_with("_ttft") || name.ends_with("_tpot"))
          names.insert(name);
      }
    }
    for (const std::string& name : names) {
      if (const auto change = change_over_blocks(name, last_block, names.size()))
        result_.metric_drift.push_back({name, *change});
    }
  }

  // By each block's mean distance from its points' means: all that ran in a block shares one start of its services, and is one thing. `of`: how
  // many metrics are looked at; what is said by chance of one of them should not be more often than once in twenty. nullopt: nothing is shown.
  std::optional<Change> change_over_blocks(const std::string& name, int last_block, std::size_t of) const {
    std::map<int, std::map<int, std::vector<double>>> logs;  // by point and block
    for (const TrialRow* trial : trials_) {
      const auto metric = trial->metrics.find(name);
      if (trial->counts() && metric != trial->metrics.end() && metric->second > 0)
        logs[index_of(*trial)][trial->block].push_back(std::log(metric->second));
    }
    std::map<int, std::pair<double, int>> blocks;  // sum, and of how many points
    for (const auto& [point, of_blocks] : logs) {
      std::map<int, double> means;
      double all = 0;
      for (const auto& [block, values] : of_blocks)
        all += means[block] =
            std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      all /= static_cast<double>(means.size());
      // What ran in one half alone says nothing of a change.
      const auto in_half = [&](bool second) {
        return std::any_of(means.begin(), means.end(), [&](const auto& one) {
          return 2 * one.first != last_block + 1 && (2 * one.first > last_block + 1) == second;
        });
      };
      if (!in_half(false) || !in_half(true)) continue;
      for (const auto& [block, mean] : means) {
        blocks[block].first += mean - all;
        ++blocks[block].second;
      }
    }
    std::array<std::vector<double>, 2> halves;
    for (const auto& [block, sum] : blocks) {
      if (2 * block != last_block + 1)
        halves[2 * block > last_block + 1 ? 1 : 0].push_back(sum.first / sum.second);
    }
    // Of fewer how blocks differ among themselves is not known.
    constexpr std::size_t least = 2;
    if (halves[0].size() < least || halves[1].size() < least) return std::nullopt;
    std::array<double, 2> mean{};
    double squares = 0, parts = 0;
    for (std::size_t half = 0; half < 2; ++half) {
      const auto n = static_cast<double>(halves[half].size());
      mean[half] = std::accumulate(halves[half].begin(), halves[half].end(), 0.0) / n;
      for (const double value : halves[half]) squares += (value - mean[half]) * (value - mean[half]);
      parts += 1 / n;
    }
    const auto degrees = static_cast<double>(halves[0].size() + halves[1].size() - 2);
    const double error = std::sqrt(squares / degrees * parts), by = mean[1] - mean[0];
    const bool shown = std::abs(by) > error * student_t(1 - 0.05 / static_cast<double>(of), degrees);
    if (!shown || std::abs(std::expm1(by)) <= experiment_.drift_limit) return std::nullopt;
    const double half = error * student_t(0.95, degrees);
    return Change{static_cast<int>(degrees) + 2, std::expm1(by), std::expm1(by - half),
                  std::expm1(by + half)};
  }

  void drift() {
    std::map<int, std::pair<const TrialRow*, const TrialRow*>> blocks;
    const TrialRow *first = nullptr, *last = nullptr;
    std::vector<const TrialRow*> references;
    for (const TrialRow* trial : trials_) {
      if (!trial->counts() || !trial->is_reference || !work_of(*trial).objective_in_logs) continue;
      if (first == nullptr || trial->id < first->id) first = trial;
      if (last == nullptr || trial->id > last->id) last = trial;
      references.push_back(trial);
      if (trial->attempt > 1) continue;  // a rerun is at the block's end, whatever it repeats
      if (trial->role == TrialRole::reference_first) blocks[trial->block].first = trial;
      if (trial->role == TrialRole::reference_last) blocks[trial->block].second = trial;
    }
    if (first != nullptr && last != first && *work_of(*first).objective_in_logs > 0 && !several_nodes())
      result_.drift_of_night = *work_of(*last).objective_in_logs / *work_of(*first).objective_in_logs - 1;
    std::sort(references.begin(), references.end(),
              [](const TrialRow* a, const TrialRow* b) { return a->id < b->id; });
    std::map<std::string, double> begins;  // by node
    for (const TrialRow* trial : references) {
      const double value = *work_of(*trial).objective_in_logs;
      const double begin = begins.try_emplace(trial->node, value).first->second;
      const auto ends = blocks.find(trial->block);
      const bool of_drift =
          ends != blocks.end() && (ends->second.first == trial || ends->second.second == trial);
      if (begin > 0)
        result_.reference_trials.push_back(
            {trial->key, trial->node, trial->block, of_drift, value / begin - 1});
    }
    for (const auto& [block, ends] : blocks) {
      BlockDrift one;
      one.block = block;
      if (ends.first != nullptr) {
        one.first_value = work_of(*ends.first).objective_in_logs;
        one.first_temperature_c = ends.first->temperature_c;
      }
      if (ends.second != nullptr) {
        one.last_value = work_of(*ends.second).objective_in_logs;
        one.last_temperature_c = ends.second->temperature_c;
      }
      if (one.first_value && one.last_value && *one.first_value > 0) {
        one.change = *one.last_value / *one.first_value - 1;
        one.sensor_half_width = sensor_part(*ends.first, *ends.second);
        one.flagged =
            std::abs(*one.change) > std::max(experiment_.drift_limit, one.sensor_half_width.value_or(0));
      }
      result_.drift.push_back(one);
    }
  }

  const ExperimentRow& experiment_;
  const ObjectiveSpec& objective_spec_;  // of the workload
  std::vector<const TrialRow*> trials_;
  ScenarioSummary result_;
  std::map<std::string, int> index_;
  std::unordered_map<const TrialRow*, int> index_of_trial_;
  WorkOfTrials unequal_;                                 // of points whose trials did unequal work
  std::vector<std::vector<const TrialRow*>> trials_of_;  // by point
  std::vector<BlockedValue> energy_, time_, objective_;
  std::vector<BlockedValue> fresh_;              // of the objective, in blocks that confirm
  int grown_from_ = 0;                           // first block of what was added last
  std::map<int, std::map<int, int>> blocks_of_;  // of each point, how many count in each block
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
  int first_attempts = 0;
  std::map<std::string, bool>
      owed;  // trials that are run again when the night goes on, by the first attempt's key
  std::map<std::tuple<std::string, int, TrialRole>, bool> counts;  // of each planned trial, any attempt
  std::map<std::string, std::vector<const TrialRow*>, NaturalOrder> scenarios;
  for (const TrialRow& trial : trials) {
    if (trial.role == TrialRole::warm_up) continue;
    if (!trial.left_out.empty()) {
      ++summary.left_out[trial.left_out];
      continue;
    }
    ++summary.finished;
    if (trial.attempt == 1) ++first_attempts;
    const std::string first = trial.key.substr(0, trial.key.find(" rerun "));
    if (trial.given_up)
      owed[first] = true;
    else if (trial.attempt > 1)
      owed[first] = false;
    // A search does not owe any one trial; it owes what it asked a point for.
    bool& any = experiment.search ? counts[{trial.point, 0, TrialRole::point}]
                                  : counts[{trial.point, trial.block, trial.role}];
    any = any || trial.counts() || trial.censored();
    if (!trial.counts() && !trial.censored()) ++summary.not_counted[trial.verdict];
    scenarios[trial.scenario].push_back(&trial);
  }
  for (const auto& [planned, any] : counts) summary.unmended += any ? 0 : 1;
  first_attempts -=
      static_cast<int>(std::count_if(owed.begin(), owed.end(), [](const auto& one) { return one.second; }));
  summary.left = std::max(0, experiment.planned_trials - first_attempts);
  // What was left as the last trial began; a night that stopped by itself ran it, and owes it still.
  if (!experiment.search && experiment.trials_left && experiment.last_session_ended != "done" &&
      experiment.last_session_ended != "gave_up")
    summary.left = *experiment.trials_left;
  summary.planned = std::max(experiment.planned_trials, first_attempts + summary.left);
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
