#include "results/compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "base/units.hpp"
#include "results/compare/broken_limits.hpp"
#include "results/compare/called_alike.hpp"
#include "results/compare/failures.hpp"
#include "results/compare/same_question.hpp"
#include "results/report/causes.hpp"
#include "results/report/sensor_part.hpp"
#include "results/report/units_told.hpp"
#include "results/statistics/between_nights.hpp"
#include "results/statistics/noise_model.hpp"

namespace dvfs_plan {
namespace {

constexpr double quantities_judged = 3;  // energy, time, power

using Quantity = std::optional<double> (*)(const TrialRow&);
std::optional<double> energy_of(const TrialRow& trial) {
  return trial.work_energy();
}
std::optional<double> time_of(const TrialRow& trial) {
  return trial.work_time();
}
std::optional<double> power_of(const TrialRow& trial) {
  return trial.mean_power_w;
}
std::optional<double> objective_of(const TrialRow& trial) {
  return trial.objective_value;
}

// One quantity of one scenario: values by point, and how they scatter.
struct NightValues {
  std::map<std::string, std::vector<double>> of_point;
  std::optional<NightError> error;
  std::map<std::string, double>
      noisier;  // by how much a point's own variance exceeds the common one, at least 1
  // The night's, as it is for one point: of a noisy point the common variance is too little.
  std::optional<NightError> error_of(const std::string& point) const {
    auto own = error;
    const auto factor = noisier.find(point);
    if (own && factor != noisier.end()) own->error *= factor->second;
    return own;
  }
};

void find_noisier(std::span<const BlockedValue> blocked, const std::vector<std::string>& points,
                  NightValues& night) {
  const NoiseModel noise(blocked, static_cast<int>(points.size()));
  const BlockModel model(blocked, static_cast<int>(points.size()));
  if (!noise.known() || !(model.error_variance() > 0)) return;
  for (std::size_t i = 0; i < points.size(); ++i)
    night.noisier[points[i]] = std::max(1.0, noise.variance(static_cast<int>(i)) / model.error_variance());
}

std::vector<const TrialRow*> counting(const std::vector<TrialRow>& trials, const std::string& scenario,
                                      Quantity quantity) {
  std::vector<const TrialRow*> found;
  for (const TrialRow& trial : trials) {
    const auto value = quantity(trial);
    if (trial.scenario == scenario && trial.counts() && value && *value > 0) found.push_back(&trial);
  }
  return found;
}

// The machine that ran each block, by number; empty where there is one.
std::map<int, int> nodes_of_blocks(const std::vector<const TrialRow*>& trials) {
  std::map<std::string, int> numbers;
  std::map<int, int> of_block;
  for (const TrialRow* trial : trials) {
    const int next = static_cast<int>(numbers.size());
    of_block[trial->block] = numbers.emplace(trial->node, next).first->second;
  }
  if (numbers.size() < 2) of_block.clear();
  return of_block;
}

// What one quantity of a scenario is, by point and by what repeats: blocks, or machines where there are several.
struct BlockedNight {
  std::vector<std::string> points;  // keys, as they are numbered in `values`
  std::vector<BlockedValue> values;
};

BlockedNight blocked_night(const std::vector<TrialRow>& trials, const std::string& scenario,
                           Quantity quantity) {
  BlockedNight night;
  std::map<std::string, int> index;
  std::vector<GroupedValue> grouped;
  const auto rows = counting(trials, scenario, quantity);
  const auto node_of = nodes_of_blocks(rows);
  for (const TrialRow* trial : rows) {
    const auto [at, is_new] = index.try_emplace(trial->point, static_cast<int>(index.size()));
    if (is_new) night.points.push_back(trial->point);
    const int node = node_of.empty() ? 0 : node_of.at(trial->block);
    grouped.push_back({at->second, node, trial->block, *quantity(*trial)});
  }
  if (!node_of.empty()) {
    night.values = means_of_groups(grouped, static_cast<int>(night.points.size()));
    return night;
  }
  for (const GroupedValue& one : grouped) night.values.push_back({one.point, one.block, one.value});
  return night;
}

NightValues levels_of(const std::vector<TrialRow>& trials, const std::string& scenario, Quantity quantity) {
  NightValues night;
  const auto [points, blocked] = blocked_night(trials, scenario, quantity);
  for (const BlockedValue& one : blocked)
    night.of_point[points[static_cast<std::size_t>(one.point)]].push_back(one.value);
  night.error = night_error(blocked, static_cast<int>(points.size()));
  find_noisier(blocked, points, night);
  return night;
}

// Of each point and block, the ratio to `base` (a point's key) in that block. What the base's own trials add is
// common to all points of a block and known by the number of blocks only.
NightValues ratios_of(const std::vector<TrialRow>& trials, const std::string& scenario,
                      const std::string& base_point, Quantity quantity) {
  NightValues night;
  std::map<int, std::vector<double>> references;
  const auto rows = counting(trials, scenario, quantity);
  for (const TrialRow* trial : rows) {
    if (trial->point == base_point) references[trial->block].push_back(std::log(*quantity(*trial)));
  }
  std::map<std::string, std::map<int, std::vector<double>>> logs;
  double references_a_block = 0;
  for (const auto& [block, values] : references)
    references_a_block += static_cast<double>(values.size()) / static_cast<double>(references.size());
  for (const TrialRow* trial : rows) {
    const auto base = references.find(trial->block);
    if (trial->point == base_point || base == references.end()) continue;
    logs[trial->point][trial->block].push_back(std::log(*quantity(*trial)) - estimate(base->second)->mean);
  }
  double squares = 0, degrees = 0;
  std::set<int> replicates;
  const auto node_of = nodes_of_blocks(rows);
  for (const auto& [point, of_block] : logs) {
    // Of several machines each is one repetition: its blocks share what it is.
    std::map<int, std::vector<double>> of_replicate;
    for (const auto& [block, more] : of_block)
      of_replicate[node_of.empty() ? block : node_of.at(block)].push_back(estimate(more)->mean);
    std::vector<double> values;
    for (const auto& [replicate, more] : of_replicate) {
      values.push_back(estimate(more)->mean);
      night.of_point[point].push_back(std::exp(values.back()));
      replicates.insert(replicate);
    }
    const auto mean = estimate(values);
    for (const double value : values) squares += std::pow(value - mean->mean, 2);
    degrees += static_cast<double>(values.size()) - 1;
  }
  if (degrees < 1) return night;
  night.noisier = levels_of(trials, scenario, quantity).noisier;
  const double shared =
      1 / (1 + std::max(1.0, references_a_block));  // of the variance of a ratio, the reference's
  night.error = NightError{(1 - shared) * squares / degrees, degrees, shared * squares / degrees,
                           std::max(1.0, static_cast<double>(replicates.size()) - 1)};
  return night;
}

// Of one night each point's mean level, the blocks' own taken out; of points that count in it.
std::map<std::string, double> levels_of_night(const ComparedResult& night, const std::string& scenario,
                                              Quantity quantity) {
  const auto [points, blocked] = blocked_night(night.trials, scenario, quantity);
  const auto levels = levels_of_points(blocked, static_cast<int>(points.size()));
  std::map<std::string, double> known;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (levels[i]) known.emplace(points[i], *levels[i]);
  }
  return known;
}

// Of several nights, each night's mean level; how nights differ is common to all points, and known by their
// number only.
NightValues levels_of_nights(const std::vector<ComparedResult>& nights, const std::string& scenario,
                             Quantity quantity) {
  NightValues all;
  for (const ComparedResult& night : nights) {
    for (const auto& [point, level] : levels_of_night(night, scenario, quantity))
      all.of_point[point].push_back(level);
  }
  double squares = 0, degrees = 0;
  for (const auto& [point, values] : all.of_point) {
    std::vector<double> logs;
    for (const double value : values) logs.push_back(std::log(value));
    const double mean = estimate(logs)->mean;
    for (const double log : logs) squares += (log - mean) * (log - mean);
    degrees += static_cast<double>(logs.size()) - 1;
  }
  if (degrees >= 1) all.error = NightError{0, 1, squares / degrees, static_cast<double>(nights.size()) - 1};
  return all;
}

// Keys of what these nights compare with.
std::set<std::string> references_of(const std::vector<ComparedResult>& nights, const std::string& scenario) {
  std::set<std::string> keys;
  for (const ComparedResult& night : nights) {
    for (const ScenarioSummary& one : night.summary.scenarios) {
      if (one.scenario == scenario && one.reference) keys.insert(one.points[*one.reference].point);
    }
  }
  return keys;
}

// "set.k = 3, set.k = 1", as they are called.
std::string references_text(const std::vector<ComparedResult>& nights, const std::string& scenario) {
  std::set<std::string> texts;
  for (const ComparedResult& night : nights) {
    for (const ScenarioSummary& one : night.summary.scenarios) {
      if (one.scenario == scenario)
        texts.insert(one.reference ? settings_text(one.points[*one.reference]) : "none");
    }
  }
  return join(std::vector<std::string>(texts.begin(), texts.end()), ", ");
}

// Where the two sides, or the nights of one, compare with different points. Empty: they do not.
std::string other_references(const ComparedScenario& scenario, const std::vector<ComparedResult>& ones,
                             const std::vector<ComparedResult>& others, bool of_levels) {
  auto all = references_of(ones, scenario.scenario);
  all.merge(references_of(others, scenario.scenario));
  if (all.size() < 2) return {};
  return fmt::format(
      "{}: the reference is {} before, {} after; savings are against each one's own{}", scenario.scenario,
      references_text(ones, scenario.scenario), references_text(others, scenario.scenario),
      of_levels               ? ""
      : scenario.base.empty() ? ", and no change is judged: neither counts on both sides"
                              : fmt::format(", changes against {} on both sides", scenario.base_called));
}

const PointSummary* find(const ScenarioSummary& scenario, const std::string& key) {
  const auto found = std::find_if(scenario.points.begin(), scenario.points.end(),
                                  [&](const PointSummary& p) { return p.point == key; });
  return found == scenario.points.end() ? nullptr : &*found;
}

const ScenarioSummary* find(const std::vector<ScenarioSummary>& scenarios, const std::string& name) {
  const auto found = std::find_if(scenarios.begin(), scenarios.end(),
                                  [&](const ScenarioSummary& one) { return one.scenario == name; });
  return found == scenarios.end() ? nullptr : &*found;
}

// Of a side's first night, and behind it what only later ones have: a night that was interrupted lacks scenarios and points.
std::vector<ScenarioSummary> scenarios_of(const std::vector<ComparedResult>& nights) {
  std::vector<ScenarioSummary> all = nights.front().summary.scenarios;
  for (const ComparedResult& night : nights) {
    for (const ScenarioSummary& one : night.summary.scenarios) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const ScenarioSummary& scenario) {
        return scenario.scenario == one.scenario;
      });
      if (known == all.end()) {
        all.push_back(one);
        continue;
      }
      for (const PointSummary& point : one.points) {
        if (find(*known, point.point) == nullptr) known->points.push_back(point);
      }
    }
  }
  return all;
}

const AxisSetting* setting_of(const PointSummary& point, const std::string& axis) {
  const auto found = std::find_if(point.settings.begin(), point.settings.end(),
                                  [&](const AxisSetting& one) { return one.axis == axis; });
  return found == point.settings.end() ? nullptr : &*found;
}

// Axes that one side alone has, of settings that are compared.
std::set<std::string> axis_of_one_side(const ComparedScenario& scenario) {
  std::set<std::string> texts;
  const auto look = [&](const PointSummary& with, const PointSummary& without, const char* where,
                        const char* other) {
    for (const AxisSetting& one : with.settings) {
      if (setting_of(without, one.axis) != nullptr) continue;
      texts.insert(
          fmt::format("{}: {} alone has the axis {}; what ran at {} there is compared with what ran {}, "
                      "which is taken to "
                      "have run at that too",
                      scenario.scenario, where, one.axis, one.text, other));
    }
  };
  for (const ComparedPoint& point : scenario.points) {
    look(point.after, point.before, "after", "before");
    look(point.before, point.after, "before", "after");
  }
  return texts;
}

// What became of the trials of a point, and the clocks they ran at, over nights.
void add_up(const std::vector<const PointSummary*>& nights, PointSummary& point) {
  point.trials = point.counted = point.censored = point.untold = 0;
  point.not_counted.clear();
  point.delivered_instead.clear();
  for (const PointSummary* one : nights) {
    point.trials += one->trials;
    point.counted += one->counted;
    point.censored += one->censored;
    point.untold += one->untold;
    for (const auto& [verdict, count] : one->not_counted) point.not_counted[verdict] += count;
    for (const auto& [axis, instead] : one->delivered_instead) {
      const auto [at, is_new] = point.delivered_instead.try_emplace(axis, instead);
      if (is_new) at->second.trials = at->second.of = 0;
      at->second.low_hz = std::min(at->second.low_hz, instead.low_hz);
      at->second.high_hz = std::max(at->second.high_hz, instead.high_hz);
      at->second.trials += instead.trials;
    }
  }
  for (auto& [axis, instead] : point.delivered_instead) {
    for (const PointSummary* one : nights) {
      const auto own = one->delivered_instead.find(axis);
      instead.of += own == one->delivered_instead.end() ? one->counted : own->second.of;
    }
  }
}

class ScenarioComparison {
 public:
  ScenarioComparison(const std::vector<ComparedResult>& ones, const ScenarioSummary& before,
                     const std::vector<ComparedResult>& others, const ScenarioSummary& after,
                     bool energies_compare, bool of_levels)
      : ones_(ones),
        others_(others),
        energies_compare_(energies_compare),
        of_levels_(of_levels),
        before_(before),
        after_(after) {}

  ComparedScenario finish() {
    result_.scenario = before_.scenario;
    if (counts_units(before_)) result_.per = unit_of_work(before_);
    for (const PointSummary& point : before_.points) {
      const PointSummary* const other = find(after_, point.point);
      if (other != nullptr && same_settings(point, *other))
        add(point, *other);
      else {
        result_.only_before.push_back(point.point);
        if (over_nights(ones_, point).counted > 0) result_.lost.push_back(settings_text(point));
      }
    }
    for (const PointSummary& point : after_.points) {
      const PointSummary* const other = find(before_, point.point);
      if (other == nullptr || !same_settings(*other, point)) result_.only_after.push_back(point.point);
    }
    if (!of_levels_) find_base();
    if (energies_compare_) {
      judge(&ComparedPoint::energy, energy_of);
      judge(&ComparedPoint::power, power_of);
    }
    judge(&ComparedPoint::time, time_of);
    if (energies_compare_) result_.all_energy = all(&ComparedPoint::energy_level);
    result_.all_time = all(&ComparedPoint::time_level);
    compare_best();
    return std::move(result_);
  }

 private:
  // Of one key. Keys leave out the value at which trials ran before its axis was there, and that may be another one in each file; one that
  // has no such axis is taken to have run there (`axis_of_one_side`).
  static bool same_settings(const PointSummary& a, const PointSummary& b) {
    return std::all_of(a.settings.begin(), a.settings.end(), [&](const AxisSetting& one) {
      const AxisSetting* const other = setting_of(b, one.axis);
      return other == nullptr || other->text == one.text;
    });
  }

  // What each night says of the point.
  std::vector<const PointSummary*> in_nights(const std::vector<ComparedResult>& nights,
                                             const std::string& point) const {
    std::vector<const PointSummary*> all;
    for (const ComparedResult& night : nights) {
      for (const ScenarioSummary& scenario : night.summary.scenarios) {
        const PointSummary* const one =
            scenario.scenario == before_.scenario ? find(scenario, point) : nullptr;
        if (one != nullptr) all.push_back(one);
      }
    }
    return all;
  }

  // Of several nights the mean of what each says of the point.
  PointSummary over_nights(const std::vector<ComparedResult>& nights, PointSummary point) const {
    if (!of_levels_) return point;
    const auto all = in_nights(nights, point.point);
    for (auto field : {&PointSummary::work_energy, &PointSummary::work_time, &PointSummary::power}) {
      std::vector<double> logs, shares;
      for (const PointSummary* one : all) {
        if (!(one->*field) || !((one->*field)->mean > 0)) continue;
        logs.push_back(std::log((one->*field)->mean));
        if ((one->*field)->sensor_half_width) shares.push_back(sensor_share(one->*field));
        if (!(point.*field)) point.*field = one->*field;
      }
      if (logs.empty()) {
        (point.*field).reset();
        continue;
      }
      Estimate& mean = *(point.*field);
      mean.mean = std::exp(estimate(logs)->mean);
      mean.sensor_half_width.reset();  // not the first night's
      if (!shares.empty()) mean.sensor_half_width = mean.mean * estimate(shares)->mean;
    }
    add_up(all, point);
    std::vector<double> savings;
    for (const PointSummary* one : all) {
      if (one->saving) savings.push_back(one->saving->value);
    }
    if (point.censored > 0) {
      savings.clear();
      for (auto field : {&PointSummary::work_energy, &PointSummary::work_time, &PointSummary::power})
        (point.*field).reset();
    }
    // Savings against several references have no mean.
    if (savings.empty() || references_of(nights, before_.scenario).size() > 1)
      point.saving.reset();
    else
      point.saving =
          Change{static_cast<int>(savings.size()), estimate(savings)->mean, std::nullopt, std::nullopt};
    return point;
  }

  void add(const PointSummary& first_before, const PointSummary& first_after) {
    const PointSummary before = over_nights(ones_, first_before), after = over_nights(others_, first_after);
    ComparedPoint one;
    one.point = before.point;
    one.called = settings_text(before);
    one.before = before;
    one.after = after;
    const auto level = [](const std::optional<Estimate>& a, const std::optional<Estimate>& b) {
      return a && b && a->mean > 0 && b->mean > 0 ? std::optional(b->mean / a->mean - 1) : std::nullopt;
    };
    if (energies_compare_) one.energy_level = level(before.work_energy, after.work_energy);
    one.time_level = level(before.work_time, after.work_time);
    one.broken_limits = broken_limits(in_nights(ones_, before.point), in_nights(others_, before.point));
    one.unknown_limits = unknown_limits(in_nights(ones_, before.point), in_nights(others_, before.point));
    if (before.saving) one.saving_before = before.saving->value;
    if (after.saving) one.saving_after = after.saving->value;
    result_.points.push_back(std::move(one));
  }

  void judge(ChangeOfPoint ComparedPoint::*field, Quantity quantity) {
    const auto values_of = [&](const std::vector<ComparedResult>& nights) {
      return of_levels_ ? levels_of_nights(nights, before_.scenario, quantity)
                        : ratios_of(nights.front().trials, before_.scenario, result_.base, quantity);
    };
    const NightValues before = values_of(ones_), after = values_of(others_);
    const auto change = [&](const ComparedPoint& point, double confidence) -> std::optional<Change> {
      const auto a = before.of_point.find(point.point), b = after.of_point.find(point.point);
      if (a == before.of_point.end() || b == after.of_point.end()) return std::nullopt;
      const auto sensors = [&](const PointSummary& one, const ScenarioSummary& night) {
        if (quantity == time_of) return 0.0;
        const PointSummary* const base = of_levels_ ? nullptr : find(night, result_.base);
        return base == nullptr ? sensor_share(one.work_energy)
                               : sensors_of_ratio(one, *base, night.energy_by_gauge);
      };
      return change_between(a->second, before.error_of(point.point), b->second, after.error_of(point.point),
                            confidence, sensors(point.before, before_), sensors(point.after, after_));
    };
    int known = 0;
    for (ComparedPoint& point : result_.points) {
      (point.*field).change = change(point, 0.95);
      known += (point.*field).change && (point.*field).change->low ? 1 : 0;
    }
    result_.compared = std::max(result_.compared, known);
    for (ComparedPoint& point : result_.points) {
      const auto strict = change(point, 1 - level_of_changes / (quantities_judged * std::max(1, known)));
      (point.*field).beyond_noise = strict && is_beyond_zero(*strict);
    }
  }

  // What changes are relative to: the reference of the one before, or of the one after, that counts on both sides.
  void find_base() {
    for (const ScenarioSummary* side : {&before_, &after_}) {
      if (!side->reference) continue;
      const std::string& key = side->points[*side->reference].point;
      const auto found = std::find_if(result_.points.begin(), result_.points.end(),
                                      [&](const ComparedPoint& one) { return one.point == key; });
      const auto has_mean = [](const PointSummary& point) {
        return point.counted > 0 && point.censored == 0;
      };
      if (found == result_.points.end() || !has_mean(found->before) || !has_mean(found->after)) continue;
      result_.base = key;
      result_.base_called = found->called;
      return;
    }
  }

  // How much higher the night as a whole lies. Without an interval: what shifts a night shifts all its points
  // together, and two nights do not tell how much that scatters.
  ChangeOfPoint all(std::optional<double> ComparedPoint::*level) const {
    std::vector<double> logs;
    for (const ComparedPoint& point : result_.points) {
      if (point.*level) logs.push_back(std::log1p(*(point.*level)));
    }
    const auto mean = estimate(logs);
    ChangeOfPoint result;
    if (mean)
      result.change =
          Change{static_cast<int>(logs.size()), std::expm1(mean->mean), std::nullopt, std::nullopt};
    return result;
  }

  void compare_best() {
    if (before_.best) result_.best_before = before_.points[*before_.best].point;
    if (!after_.best) return;
    const PointSummary& best = after_.points[*after_.best];
    result_.best_after = best.point;
    if (!result_.best_before || !energies_compare_) return;
    // By the first night in which both count: one that was interrupted lacks points. Where none is, by one that has both.
    const ScenarioSummary* of_night = nullptr;
    const auto first_with = [&](int counted) {
      return std::find_if(others_.begin(), others_.end(), [&](const ComparedResult& night) {
        of_night = find(night.summary.scenarios, after_.scenario);
        if (of_night == nullptr) return false;
        const PointSummary* const former = find(*of_night, *result_.best_before);
        const PointSummary* const now = find(*of_night, best.point);
        return former != nullptr && now != nullptr && former->counted >= counted && now->counted >= counted;
      });
    };
    auto night_of_both = first_with(1);
    if (night_of_both == others_.end()) night_of_both = first_with(0);
    if (night_of_both == others_.end()) return;
    const PointSummary* const old = find(*of_night, *result_.best_before);
    result_.old_best_feasible = old->feasible;
    const std::vector<ConstraintCheck>& then = before_.points[*before_.best].constraints;
    result_.old_best_held =
        std::any_of(old->constraints.begin(), old->constraints.end(), [&](const ConstraintCheck& now) {
          return now.holds == false && std::any_of(then.begin(), then.end(), [&](const ConstraintCheck& was) {
                   return was.text == now.text && was.holds != false;
                 });
        });
    result_.old_best_known = old->objective.has_value() &&
                             std::all_of(old->constraints.begin(), old->constraints.end(),
                                         [](const ConstraintCheck& one) { return one.holds.has_value(); });
    const auto by_nights = old->point != best.point ? cost_by_nights(old->point, best.point) : std::nullopt;
    if (by_nights)
      result_.cost_of_old_best = by_nights;
    else if (old->point != best.point)
      set_cost_of_old_best(*night_of_both, *of_night, *old, best);
    // A night says so of its own best alone, which is not always that of all of them.
    const bool is_its_best =
        !by_nights && of_night->best && of_night->points[*of_night->best].point == best.point;
    const auto& cost = result_.cost_of_old_best;
    result_.old_best_not_told_apart = is_its_best || old->point == best.point
                                          ? old->not_told_apart
                                          : !cost || !cost->low || (*cost->low <= 0 && *cost->high >= 0);
  }

  // Of several nights in which both count each is one repetition, whatever the order in which they are named. nullopt: there is one at most.
  std::optional<Change> cost_by_nights(const std::string& old, const std::string& best) const {
    std::vector<BlockedValue> values;
    std::vector<double> shares_of_old, shares_of_best;
    for (std::size_t night = 0; night < others_.size(); ++night) {
      const ScenarioSummary* const scenario = find(others_[night].summary.scenarios, after_.scenario);
      if (scenario == nullptr) continue;
      const auto levels = levels_of_night(others_[night], after_.scenario, objective_of);
      const auto of_old = levels.find(old), of_best = levels.find(best);
      if (of_old == levels.end() || of_best == levels.end()) continue;
      values.push_back({1, static_cast<int>(night), of_old->second});
      values.push_back({0, static_cast<int>(night), of_best->second});
      for (auto [point, shares] : {std::pair{&old, &shares_of_old}, std::pair{&best, &shares_of_best}}) {
        if (const PointSummary* const one = find(*scenario, *point))
          shares->push_back(sensor_share(one->objective));
      }
    }
    constexpr std::size_t of_one_night = 2;
    if (values.size() <= of_one_night || shares_of_old.empty() || shares_of_best.empty()) return std::nullopt;
    return paired_change(values, 1, 0, ChangeOf::increase,
                         std::hypot(estimate(shares_of_old)->mean, estimate(shares_of_best)->mean));
  }

  void set_cost_of_old_best(const ComparedResult& night_of_both, const ScenarioSummary& of_night,
                            const PointSummary& old, const PointSummary& best) {
    const double sensors = sensors_of_objective(of_night, best, old);
    if (!of_night.balanced && !of_night.search) {
      // Means do not compare: by the blocks in which both count.
      const auto [points, blocked] = blocked_night(night_of_both.trials, after_.scenario, objective_of);
      const auto index = [&](const std::string& point) {
        return static_cast<int>(std::find(points.begin(), points.end(), point) - points.begin());
      };
      result_.cost_of_old_best =
          paired_change(blocked, index(old.point), index(best.point), ChangeOf::increase, sensors);
      return;
    }
    const NightValues night = levels_of(night_of_both.trials, after_.scenario, objective_of);
    const auto a = night.of_point.find(best.point), b = night.of_point.find(old.point);
    if (a != night.of_point.end() && b != night.of_point.end())
      result_.cost_of_old_best = change_between(a->second, night.error_of(best.point), b->second,
                                                night.error_of(old.point), 0.95, sensors, 0);
  }

  const std::vector<ComparedResult>&ones_, &others_;
  bool energies_compare_, of_levels_;
  const ScenarioSummary &before_, &after_;
  ComparedScenario result_;
};

// A point that ran at another clock than its name says, in one of the two or differently.
std::string delivered_otherwise(const ComparedScenario& scenario) {
  std::vector<std::string> points;
  for (const ComparedPoint& point : scenario.points) {
    // By what both have: an axis of one side alone is told by `axis_of_one_side`.
    const bool differs = std::any_of(
        point.before.settings.begin(), point.before.settings.end(), [&](const AxisSetting& before) {
          const AxisSetting* const after = setting_of(point.after, before.axis);
          return after != nullptr &&
                 setting_value_text(point.before, before) != setting_value_text(point.after, *after);
        });
    if (differs)
      points.push_back(
          fmt::format("{} before and {} after", settings_text(point.before), settings_text(point.after)));
  }
  return points.empty() ? ""
                        : fmt::format("{}: clocks that were delivered differ: {}", scenario.scenario,
                                      join(points, "; "));
}

// Nights of one side that name other settings than the first.
std::vector<std::string> other_answers(const std::vector<ComparedResult>& nights,
                                       const std::string& scenario) {
  std::vector<std::string> texts;
  std::set<std::string> settings;
  for (const ComparedResult& night : nights) {
    for (const ScenarioSummary& one : night.summary.scenarios) {
      if (one.scenario != scenario || !one.best) continue;
      const PointSummary& best = one.points[*one.best];
      settings.insert(best.point);  // what was delivered of it may differ
      texts.push_back(fmt::format("{} in {}", settings_text(best), night.file));
    }
  }
  return settings.size() > 1 ? texts : std::vector<std::string>{};
}

}  // namespace

std::optional<std::string> trial_in_both(const ComparedResult& one, const ComparedResult& other) {
  // Not by node and block: a merged result calls a night's machine as it likes, and its blocks are behind those of others.
  std::set<std::tuple<std::string, std::string, std::optional<double>>> begun;
  const auto identity = [](const TrialRow& trial) {
    return std::tuple(trial.point, trial.started_at, trial.time_s);
  };
  for (const TrialRow& trial : one.trials) begun.insert(identity(trial));
  for (const TrialRow& trial : other.trials) {
    if (trial.time_s && !trial.started_at.empty() && begun.contains(identity(trial))) return trial.key;
  }
  return std::nullopt;
}

namespace {

Comparison compare_called_alike(const std::vector<ComparedResult>& ones,
                                const std::vector<ComparedResult>& others);

std::string in_both_text(const Comparison& comparison) {
  return fmt::format(
      "the two have trials in common (the first is {}): they are one night, or one grew out of a copy of the "
      "other",
      *comparison.trial_in_both);
}

}  // namespace

Comparison compare(const std::vector<ComparedResult>& ones, const std::vector<ComparedResult>& others) {
  const auto renamed = called_alike(ones, others);
  return renamed ? compare_called_alike(renamed->first, renamed->second) : compare_called_alike(ones, others);
}

namespace {

Comparison compare_called_alike(const std::vector<ComparedResult>& ones,
                                const std::vector<ComparedResult>& others) {
  Comparison comparison;
  const ComparedResult &before = ones.front(), &after = others.front();
  const auto names = [](const std::vector<ComparedResult>& nights) {
    std::vector<std::string> files;
    for (const ComparedResult& night : nights) files.push_back(night.file);
    return join(files, ", ");
  };
  comparison.name_before = names(ones);
  comparison.name_after = names(others);
  comparison.of_levels = ones.size() > 1 && others.size() > 1;
  comparison.same_plan = true;
  for (const auto* nights : {&ones, &others}) {
    for (const ComparedResult& night : *nights)
      comparison.same_plan = comparison.same_plan && night.plan_hash == before.plan_hash;
  }
  SameQuestion same = same_question(ones, others);
  comparison.warnings = std::move(same.warnings);
  comparison.energies_compare = same.same_energies;
  comparison.machine = machine_differences(ones, others);
  const auto scenarios_before = scenarios_of(ones), scenarios_after = scenarios_of(others);
  for (const ScenarioSummary& scenario : scenarios_before) {
    for (const ScenarioSummary& other : scenarios_after) {
      if (other.scenario != scenario.scenario) continue;
      comparison.work_in_common = true;
      SameWork work = same_work(scenario, ones, other, others);
      for (std::string& warning : work.warnings) comparison.warnings.push_back(std::move(warning));
      if (comparison.of_levels) {
        for (const auto* side : {&ones, &others}) {
          const auto answers = other_answers(*side, scenario.scenario);
          if (!answers.empty())
            comparison.warnings.push_back(fmt::format(
                "{}: the nights of one side name different settings ({}); the first one's is marked",
                scenario.scenario, join(answers, ", ")));
        }
      }
      if (!work.is_one) continue;
      comparison.scenarios.push_back(
          ScenarioComparison(ones, scenario, others, other, comparison.energies_compare, comparison.of_levels)
              .finish());
      if (std::string differs =
              other_references(comparison.scenarios.back(), ones, others, comparison.of_levels);
          !differs.empty())
        comparison.warnings.push_back(std::move(differs));
    }
  }
  for (const ComparedScenario& scenario : comparison.scenarios) {
    if (const std::string differs = delivered_otherwise(scenario); !differs.empty())
      comparison.warnings.push_back(differs);
    for (const std::string& text : axis_of_one_side(scenario)) comparison.warnings.push_back(text);
  }
  for (const auto& lost : {no_longer_counting(comparison), not_known_after(comparison)})
    comparison.warnings.insert(comparison.warnings.end(), lost.begin(), lost.end());
  for (const auto& more_often : {limits_broken(comparison), failing_more_often(comparison)}) {
    for (const WorseAfter& one : more_often) comparison.warnings.push_back(one.text);
  }
  if (!comparison.of_levels) comparison.trial_in_both = trial_in_both(before, after);
  if (comparison.trial_in_both) comparison.warnings.push_back(in_both_text(comparison));
  for (const auto* nights : {&ones, &others}) {
    for (const ComparedResult& night : *nights) {
      if (!night.damaged.empty())
        comparison.warnings.push_back(fmt::format("{}: {}", night.file, night.damaged));
    }
  }
  const auto all_nights = [&](auto holds) {
    return std::all_of(ones.begin(), ones.end(), holds) && std::all_of(others.begin(), others.end(), holds);
  };
  if (!all_nights([&](const ComparedResult& night) { return night.commands == before.commands; }))
    comparison.warnings.push_back("the workloads' commands differ: their trials may not be the same work");
  if (!comparison.work_in_common)
    comparison.warnings.push_back(
        "the two have no work in common: no workload and parameters of the one are in the other");
  return comparison;
}

}  // namespace

std::optional<Change> change_against_reference(const std::vector<TrialRow>& before,
                                               const std::vector<TrialRow>& after,
                                               const std::string& scenario, const std::string& point,
                                               double confidence, double sensor_before, double sensor_after) {
  const auto reference = std::find_if(before.begin(), before.end(), [&](const TrialRow& trial) {
    return trial.scenario == scenario && trial.is_reference;
  });
  if (reference == before.end()) return std::nullopt;
  const NightValues then = ratios_of(before, scenario, reference->point, objective_of),
                    now = ratios_of(after, scenario, reference->point, objective_of);
  const auto a = then.of_point.find(point), b = now.of_point.find(point);
  if (a == then.of_point.end() || b == now.of_point.end()) return std::nullopt;
  return change_between(a->second, then.error_of(point), b->second, now.error_of(point), confidence,
                        sensor_before, sensor_after);
}

std::vector<std::string> not_run_after(const Comparison& comparison) {
  std::vector<std::string> texts;
  for (const ComparedScenario& scenario : comparison.scenarios) {
    for (const std::string& called : scenario.lost)
      texts.push_back(fmt::format("{}, {}: it was not run after; trials of it counted before",
                                  scenario.scenario, called));
  }
  return texts;
}

std::vector<std::string> not_judged(const Comparison& comparison) {
  std::vector<std::string> texts;
  if (comparison.trial_in_both)
    texts.push_back("nothing can be said of a night against itself: " + in_both_text(comparison));
  for (const ComparedScenario& scenario : comparison.scenarios) {
    const auto any = [&](auto what) {
      return std::any_of(scenario.points.begin(), scenario.points.end(), what);
    };
    const auto is_judged = [](const ChangeOfPoint& one) { return one.change && one.change->low; };
    const std::string why =
        scenario.base.empty() && !comparison.of_levels ? "no reference counts on both sides"
        : comparison.of_levels                         ? "no setting counts in two nights of each side"
                               : "no setting counts beside the reference in blocks enough of both sides";
    if (any([](const ComparedPoint& p) { return p.before.work_energy.has_value(); }) &&
        !any([&](const ComparedPoint& p) { return is_judged(p.energy); }))
      texts.push_back(fmt::format("{}: of its energy nothing can be said: {}", scenario.scenario,
                                  comparison.energies_compare ? why : "the two measured different things"));
    if (!any([&](const ComparedPoint& p) { return is_judged(p.time); }))
      texts.push_back(fmt::format("{}: of its time nothing can be said: {}", scenario.scenario, why));
  }
  if (comparison.scenarios.empty())
    texts.push_back(comparison.work_in_common ? "what the two have in common is told per different work"
                                              : "the two have no work in common");
  return texts;
}

namespace {

// Points of which none counts after; `by_own`: mostly by what they did themselves, and not by what others did, or a meter.
std::vector<std::string> none_counts_after(const Comparison& comparison, bool by_own) {
  std::vector<std::string> texts;
  for (const ComparedScenario& scenario : comparison.scenarios) {
    for (const ComparedPoint& point : scenario.points) {
      const PointSummary& after = point.after;
      if (point.before.counted == 0 || after.counted > 0 || after.trials == 0) continue;
      const int own = failures_of(after).failed + after.untold + after.censored;
      if ((2 * own >= after.trials) != by_own) continue;
      std::vector<std::string> causes;
      if (!after.not_counted.empty()) causes.push_back(causes_text(after.not_counted));
      if (after.censored > 0)
        causes.push_back(fmt::format("{} that did not reach the target", after.censored));
      texts.push_back(
          fmt::format("{}, {}: of its {} none counts after ({}); before {}", scenario.scenario, point.called,
                      counted(after.trials, "trial"), join(causes, ", "),
                      point.before.counted == 1 ? "1 did" : fmt::format("{} did", point.before.counted)));
    }
  }
  return texts;
}

}  // namespace

std::vector<std::string> no_longer_counting(const Comparison& comparison) {
  return none_counts_after(comparison, true);
}

std::vector<std::string> not_known_after(const Comparison& comparison) {
  auto texts = none_counts_after(comparison, false);
  for (const ComparedScenario& scenario : comparison.scenarios) {
    for (const ComparedPoint& point : scenario.points) {
      for (const UnknownLimit& one : point.unknown_limits)
        texts.push_back(fmt::format("{}, {}: {}", scenario.scenario, point.called, unknown_limit_text(one)));
    }
  }
  return texts;
}

std::vector<WorseAfter> limits_broken(const Comparison& comparison) {
  std::vector<WorseAfter> found;
  for (const ComparedScenario& scenario : comparison.scenarios) {
    const double level = level_of_changes / static_cast<double>(scenario.points.size());
    for (const ComparedPoint& point : scenario.points) {
      for (const BrokenLimit& one : point.broken_limits)
        found.push_back({fmt::format("{}, {}: {}", scenario.scenario, point.called,
                                     broken_limit_text(one, comparison.of_levels)),
                         one.chance <= level});
    }
  }
  return found;
}

std::vector<WorseAfter> failing_more_often(const Comparison& comparison) {
  std::vector<WorseAfter> found;
  for (const ComparedScenario& scenario : comparison.scenarios) {
    const double level = level_of_changes / static_cast<double>(scenario.points.size());
    for (const ComparedPoint& point : scenario.points) {
      const PointSummary &before = point.before, &after = point.after;
      if (before.counted == 0 || after.counted == 0) continue;
      const auto judge = [&](const Failures& then, const Failures& now, const std::string& what,
                             const std::string& so) {
        if (!fails_more_often(then, now)) return;
        found.push_back({fmt::format("{}, {}: of its {} after, {}, of {} before {}; {}", scenario.scenario,
                                     point.called, counted(now.of, "trial"), what, then.of,
                                     then.failed == 0 ? "none" : std::to_string(then.failed), so),
                         chance_of(then, now) <= level});
      };
      const std::string of_others = "what is told of it is of the others";
      const Failures now = failures_of(after);
      judge(failures_of(before), now, failures_text(now), of_others);
      const auto silent_of = [](const PointSummary& one) {
        return Failures{one.untold, one.untold + one.counted + one.censored, "no_metric"};
      };
      judge(silent_of(before), silent_of(after),
            fmt::format("{} did not tell what was asked for", after.untold), of_others);
      const auto missed_by = [](const PointSummary& one) {
        return Failures{one.censored, one.counted + one.censored, {}};
      };
      judge(missed_by(before), missed_by(after), fmt::format("{} did not reach the target", after.censored),
            "what it takes is known from below alone");
    }
  }
  return found;
}

}  // namespace dvfs_plan
