#include "results/report/point_means.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "results/statistics/estimate.hpp"
#include "results/statistics/groups.hpp"

namespace dvfs_plan {
namespace {

// What several trials of one block have in common, the block's own level, is one thing and not several: a block's mean is one value. Of one
// block alone nothing tells how blocks differ. Of several machines each is one, and of one of them alone nothing tells how machines differ.
// A search's blocks are its rounds and no repetitions.
std::string repeats_as(const TrialRow& trial, const TrialsOfPoint& of) {
  return of.several_machines || !of.blocks_differ ? trial.node : std::to_string(trial.block);
}

// Values of one quantity over the counted trials of a point, with the sensors' share of each, and what repeats of each.
struct Values {
  std::vector<double> values = {};
  std::vector<std::optional<SensorPart>> sensor = {};  // of each value, or none
  std::vector<std::string> groups = {};
  double wider = 1;  // than the scatter of these values makes it, their interval (WorkOfTrial)
  void add(double value, const std::string& group) {
    values.push_back(value);
    groups.push_back(group);
  }
  void add(const std::optional<double>& value, const std::string& group,
           const std::optional<SensorPart>& relative) {
    if (!value) return;
    add(*value, group);
    sensor.emplace_back();
    if (relative)
      sensor.back() = {std::abs(*value) * relative->half_width, std::abs(*value) * relative->systematic};
  }
  std::optional<Estimate> estimate(const TrialsOfPoint& of) const {
    auto result = of.several_machines || !of.blocks_differ
                      ? estimate_of_groups(values, groups, sensor)
                      : estimate_of_values_in_groups(values, groups, sensor);
    const bool one = std::adjacent_find(groups.begin(), groups.end(), std::not_equal_to<>()) == groups.end();
    if (result && one && of.blocks_differ) result->half_width.reset();
    if (wider > 1 && result && result->half_width)
      result->half_width =
          std::hypot(wider * scatter_half_width(*result), result->sensor_half_width.value_or(0));
    return result;
  }
};

// Pooled, a good one's many would stand for a bad one's few.
void set_count_of_worst(MetricSummary& metric, const std::vector<std::pair<double, double>>& copies) {
  bool first = true;
  for (const auto& [count, of] : copies) {
    if (of <= 0) continue;
    const ShareInterval interval = wilson_interval(count, of);
    const double low = 100 * interval.low, high = 100 * interval.high;
    const auto [least_low, least_high] = first ? std::pair(low, high) : *metric.least_count;
    const auto [highest_low, highest_high] = first ? std::pair(low, high) : *metric.highest_count;
    metric.least_count = {std::min(low, least_low), std::min(high, least_high)};
    metric.highest_count = {std::max(low, highest_low), std::max(high, highest_high)};
    first = false;
  }
}

// What its trials say beside time and energy.
void describe(PointSummary& point, const TrialsOfPoint& of) {
  struct Told {
    Values value, least, highest;
    std::string unit;
    double count = 0, of = 0;
    std::vector<std::pair<double, double>> counts_of_copies = {};
  };
  std::map<std::string, Told> metrics;
  std::map<std::string, Values> boards;
  Values shares;
  std::vector<Values> times;
  for (const TrialRow* trial : of.trials) {
    if (!trial->counts()) continue;
    const std::string group = repeats_as(*trial, of);
    for (const std::string& name : trial->in_other_units) ++point.in_other_units[name];
    for (const auto& [name, value] : trial->metrics) {
      Told& told = metrics[name];
      told.value.add(value, group);
      const auto extremes = trial->extremes_of_metrics.find(name);
      told.least.add(extremes == trial->extremes_of_metrics.end() ? value : extremes->second.first, group);
      told.highest.add(extremes == trial->extremes_of_metrics.end() ? value : extremes->second.second, group);
      if (const auto unit = trial->units_of_metrics.find(name); unit != trial->units_of_metrics.end())
        told.unit = unit->second;
      const auto count = trial->counts_of_metrics.find(name);
      if (count == trial->counts_of_metrics.end()) continue;
      told.count += count->second.first;
      told.of += count->second.second;
      const auto copies = trial->counts_of_copies.find(name);
      if (copies == trial->counts_of_copies.end()) continue;
      told.counts_of_copies.resize(std::max(told.counts_of_copies.size(), copies->second.size()));
      for (std::size_t i = 0; i < copies->second.size(); ++i) {
        told.counts_of_copies[i].first += copies->second[i].first;
        told.counts_of_copies[i].second += copies->second[i].second;
      }
    }
    for (const auto& [domain, joules] : trial->joules_of_boards) boards[domain].add(joules, group);
    if (trial->all_running_s && trial->time_s && *trial->time_s > 0)
      shares.add(*trial->all_running_s / (*trial->time_s * trial->runs), group);
    times.resize(std::max(times.size(), trial->instances.size()));
    point.instances.resize(std::max(point.instances.size(), trial->instances.size()));
    for (std::size_t i = 0; i < trial->instances.size(); ++i) {
      const TrialRow::Instance& one = trial->instances[i];
      point.instances[i].name = one.name;
      point.instances[i].workload = one.workload;
      const double work = one.units.value_or(one.runs);
      if (one.time_s && work > 0) times[i].add(*one.time_s / work, group);
    }
  }
  for (const auto& [name, told] : metrics) {
    MetricSummary metric{*told.value.estimate(of),
                         told.least.estimate(of),
                         told.highest.estimate(of),
                         told.unit,
                         static_cast<int>(told.value.values.size()),
                         told.count,
                         told.of,
                         {},
                         {},
                         {},
                         {}};
    if (told.of > 0) {
      const ShareInterval interval = wilson_interval(told.count, told.of);
      metric.count_low = 100 * interval.low;
      metric.count_high = 100 * interval.high;
      metric.least_count = metric.highest_count = {*metric.count_low, *metric.count_high};
      set_count_of_worst(metric, told.counts_of_copies);
    }
    point.metrics.emplace(name, std::move(metric));
  }
  for (const auto& [domain, joules] : boards) point.joules_of_boards.emplace(domain, *joules.estimate(of));
  point.all_running_share = shares.estimate(of);
  for (std::size_t i = 0; i < times.size(); ++i) point.instances[i].time = times[i].estimate(of);
}

// What boards ran at where it was not what was asked for, over the trials that count.
void delivered_instead(PointSummary& point, const std::vector<const TrialRow*>& trials) {
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
  if (!shares.empty()) point.power_cap_share = average_of(shares);
  if (!limits.empty()) point.power_limit_w = average_of(limits);
}

// What the sensors alone may make of its energy.
std::optional<double> sensor_share(const TrialRow& trial) {
  if (!trial.energy_half_width_j || !trial.energy_j || *trial.energy_j <= 0) return std::nullopt;
  return *trial.energy_half_width_j / *trial.energy_j;
}

int untold(const std::vector<const TrialRow*>& trials) {
  std::set<std::pair<int, TrialRole>> without, with;
  for (const TrialRow* trial : trials) {
    if (trial->role == TrialRole::warm_up) continue;
    if (trial->counts() || trial->censored()) with.emplace(trial->block, trial->role);
    if (trial->verdict == "no_metric") without.emplace(trial->block, trial->role);
  }
  return static_cast<int>(
      std::count_if(without.begin(), without.end(), [&](const auto& one) { return !with.contains(one); }));
}

}  // namespace

void set_means(PointSummary& point, const TrialsOfPoint& of) {
  Values energy, above_idle, time, power, objective, per_unit, work_energy, work_time, edp, ed2p;
  std::vector<std::string> keys;
  // Of trials that did not reach the target; and of what the sensors alone may make of any trial's energy, shares.
  std::vector<double> bounds, sensor_shares;
  point.untold = untold(of.trials);
  for (const TrialRow* trial : of.trials) {
    if (trial->role == TrialRole::warm_up) continue;
    ++point.trials;
    if (trial->censored()) {
      ++point.censored;
      if (trial->more_than) bounds.push_back(*trial->more_than);
      if (const auto share = sensor_share(*trial)) sensor_shares.push_back(*share);
      continue;
    }
    if (!trial->counts()) {
      ++point.not_counted[trial->verdict];
      continue;
    }
    ++point.counted;
    const std::string group = repeats_as(*trial, of);
    std::optional<SensorPart> sensor;
    if (const auto share = sensor_share(*trial)) {
      sensor = SensorPart{*share, trial->energy_systematic_j.value_or(0) / *trial->energy_j};
      sensor_shares.push_back(*share);
    }
    const WorkOfTrial work = work_of(*trial, of.unequal);
    for (Values* const of_run : {&energy, &above_idle, &time}) of_run->wider = work.wider_of_run;
    for (Values* const of_work : {&objective, &per_unit, &work_energy, &work_time, &edp, &ed2p})
      of_work->wider = work.wider;
    point.wider = work.wider;
    energy.add(work.energy_of_run, group, sensor);
    if (trial->energy_j && !sensor) ++point.without_sensor_part;
    std::optional<SensorPart> above_idle_sensor;
    if (trial->above_idle_j && *trial->above_idle_j != 0 && trial->time_s && trial->energy_half_width_j &&
        trial->idle_half_width_w) {
      above_idle_sensor =
          SensorPart{std::hypot(*trial->energy_half_width_j, *trial->idle_half_width_w * *trial->time_s) /
                         std::abs(*trial->above_idle_j),
                     std::hypot(trial->energy_systematic_j.value_or(0),
                                trial->idle_systematic_w.value_or(0) * *trial->time_s) /
                         std::abs(*trial->above_idle_j)};
    }
    above_idle.add(work.above_idle_of_run, group, above_idle_sensor);
    work_energy.add(work.energy, group, sensor);
    work_time.add(work.time, group, std::nullopt);
    time.add(work.time_of_run, group, std::nullopt);
    power.add(trial->mean_power_w, group, sensor);
    point.in_units = point.in_units || trial->units.has_value();
    per_unit.add(trial->units ? work.energy : std::nullopt, group, sensor);
    edp.add(work.edp, group, sensor);
    ed2p.add(work.ed2p, group, sensor);
    objective.add(work.objective, group, of.objective.minimise == Objective::time ? std::nullopt : sensor);
    if (work.objective) keys.push_back(trial->key);
  }
  point.energy = energy.estimate(of);
  point.above_idle = above_idle.estimate(of);
  point.time = time.estimate(of);
  point.work_energy = work_energy.estimate(of);
  point.work_time = work_time.estimate(of);
  point.power = power.estimate(of);
  point.objective = objective.estimate(of);
  point.energy_per_unit = per_unit.estimate(of);
  point.edp = edp.estimate(of);
  point.ed2p = ed2p.estimate(of);
  describe(point, of);
  point.of_the_lucky = point.censored > 0 || (of.to_target && point.untold > 0);
  if (point.of_the_lucky) {
    bounds.insert(bounds.end(), objective.values.begin(), objective.values.end());
    const bool by_sensors = of.objective.minimise != Objective::time && !sensor_shares.empty();
    if (by_sensors) point.bound_sensor_share = average_of(sensor_shares);
    if (!bounds.empty() && point.censored > 0)
      point.more_than = average_of(bounds) * std::max(0.0, 1 - point.bound_sensor_share);
    // The mean of those that did reach it is of the lucky ones.
    for (auto quantity :
         {&PointSummary::objective, &PointSummary::work_energy, &PointSummary::work_time,
          &PointSummary::energy, &PointSummary::time, &PointSummary::energy_per_unit, &PointSummary::edp,
          &PointSummary::ed2p, &PointSummary::above_idle, &PointSummary::power})
      (point.*quantity).reset();
  }
  delivered_instead(point, of.trials);
  for (const std::size_t k : outliers(objective.values)) point.outliers.push_back(keys[k]);
}

}  // namespace dvfs_plan
