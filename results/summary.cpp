#include "results/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// Numbers before words, numbers by size.
bool earlier_settings(const std::vector<AxisSetting>& a, const std::vector<AxisSetting>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].number && b[i].number && *a[i].number != *b[i].number) return *a[i].number < *b[i].number;
    if (a[i].number.has_value() != b[i].number.has_value()) return a[i].number.has_value();
    if (!a[i].number && a[i].text != b[i].text) return a[i].text < b[i].text;
  }
  return a.size() < b.size();
}

struct PointTrials {
  PointSummary summary;
  std::vector<double> energy, time, power, objective;
  std::map<int, double> energy_of_block, time_of_block;
};

// 1 - ratio or ratio - 1 with its interval, from the ratios' logarithms: a ratio of 1/2 and one of 2
// are equally far from "no change".
std::optional<Change> paired_change(const std::map<int, double>& values,
                                    const std::map<int, double>& reference, bool saving) {
  std::vector<double> logs;
  for (const auto& [block, value] : values) {
    const auto other = reference.find(block);
    if (other != reference.end() && value > 0 && other->second > 0)
      logs.push_back(std::log(value / other->second));
  }
  const auto mean = estimate(logs);
  if (!mean) return std::nullopt;
  const auto as_change = [&](double log_ratio) {
    return saving ? 1 - std::exp(log_ratio) : std::exp(log_ratio) - 1;
  };
  Change change{mean->n, as_change(mean->mean), std::nullopt, std::nullopt};
  if (mean->half_width) {
    change.low = as_change(mean->mean + (saving ? *mean->half_width : -*mean->half_width));
    change.high = as_change(mean->mean - (saving ? *mean->half_width : -*mean->half_width));
  }
  return change;
}

std::optional<std::size_t> find_best(const std::vector<PointSummary>& points) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].objective) continue;
    if (!best) {
      best = i;
      continue;
    }
    const PointSummary& leader = points[*best];
    const double difference = points[i].objective->mean - leader.objective->mean;
    if (difference < 0 || (difference == 0 && points[i].time->mean < leader.time->mean)) best = i;
  }
  return best;
}

std::vector<std::string> edges(const std::vector<PointSummary>& points, const PointSummary& best) {
  std::vector<std::string> at_edge;
  for (std::size_t a = 0; a < best.settings.size(); ++a) {
    std::set<double> numbers;
    for (const PointSummary& point : points) {
      if (a < point.settings.size() && point.settings[a].number) numbers.insert(*point.settings[a].number);
    }
    const auto& mine = best.settings[a].number;
    if (mine && numbers.size() > 1 && (*mine == *numbers.begin() || *mine == *numbers.rbegin())) {
      at_edge.push_back(best.settings[a].axis);
    }
  }
  return at_edge;
}

ScenarioSummary finish(std::string scenario, std::vector<PointTrials>& points) {
  ScenarioSummary result;
  result.scenario = std::move(scenario);
  std::stable_sort(points.begin(), points.end(), [](const PointTrials& a, const PointTrials& b) {
    return earlier_settings(a.summary.settings, b.summary.settings);
  });
  const auto reference =
      std::find_if(points.begin(), points.end(), [](const PointTrials& p) { return p.summary.is_reference; });
  for (PointTrials& point : points) {
    point.summary.energy = estimate(point.energy);
    point.summary.time = estimate(point.time);
    point.summary.power = estimate(point.power);
    point.summary.objective = estimate(point.objective);
    if (reference != points.end() && !point.summary.is_reference) {
      point.summary.saving = paired_change(point.energy_of_block, reference->energy_of_block, true);
      point.summary.slowdown = paired_change(point.time_of_block, reference->time_of_block, false);
    }
    result.points.push_back(point.summary);
  }
  if (reference != points.end()) result.reference = static_cast<std::size_t>(reference - points.begin());
  result.best = find_best(result.points);
  if (result.best) result.best_at_edge_of = edges(result.points, result.points[*result.best]);
  return result;
}

std::string settings_text(const PointSummary& point) {
  std::vector<std::string> parts;
  for (const AxisSetting& setting : point.settings) parts.push_back(setting.axis + " = " + setting.text);
  return parts.empty() ? "the machine as it is" : join(parts, ", ");
}

std::string objective_words(Objective objective) {
  switch (objective) {
    case Objective::energy:
      return "the least energy";
    case Objective::time:
      return "the least time";
    case Objective::edp:
      return "the least energy-delay product";
    case Objective::ed2p:
      return "the least energy-delay-squared product";
  }
  return {};
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string change_text(const Change& change, std::string_view more, std::string_view less) {
  const bool positive = change.value >= 0;
  std::string text = fmt::format("{} {}", percent(std::abs(change.value)), positive ? more : less);
  if (change.low && change.high) {
    // Said from the side of the word: "3 % more (95 % interval 1 % to 5 %)".
    const double low = positive ? *change.low : -*change.high, high = positive ? *change.high : -*change.low;
    text += fmt::format(" (95 % interval {:.1f} to {:.1f} %)", low * 100, high * 100);
  } else {
    text += " (one pair of trials: no interval)";
  }
  return text;
}

}  // namespace

std::optional<Estimate> estimate(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  Estimate result;
  result.n = static_cast<int>(values.size());
  // Around the first value: a large common offset must not eat the spread.
  double sum = 0;
  for (const double value : values) sum += value - values.front();
  result.mean = values.front() + sum / result.n;
  if (result.n < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.standard_deviation = std::sqrt(squares / (result.n - 1));
  const boost::math::students_t t(result.n - 1);
  result.half_width = boost::math::quantile(t, 0.975) * *result.standard_deviation / std::sqrt(result.n);
  return result;
}

Summary summarise(const ExperimentRow& experiment, const std::vector<TrialRow>& trials,
                  std::vector<std::string> warnings) {
  Summary summary;
  summary.warnings = std::move(warnings);
  summary.experiment = experiment;
  std::vector<std::string> order;
  std::map<std::string, std::map<std::string, PointTrials>> scenarios;
  for (const TrialRow& trial : trials) {
    ++summary.finished;
    if (!scenarios.contains(trial.scenario)) order.push_back(trial.scenario);
    PointTrials& point = scenarios[trial.scenario][trial.point];
    point.summary.point = trial.point;
    point.summary.workload = trial.workload;
    point.summary.is_reference = trial.is_reference;
    point.summary.settings = trial.settings;
    ++point.summary.trials;
    if (trial.verdict != "ok") {
      ++point.summary.not_counted[trial.verdict];
      ++summary.not_counted[trial.verdict];
      continue;
    }
    ++point.summary.counted;
    if (trial.energy_j) {
      point.energy.push_back(*trial.energy_j);
      point.energy_of_block[trial.block] = *trial.energy_j;
    }
    if (trial.time_s) {
      point.time.push_back(*trial.time_s);
      point.time_of_block[trial.block] = *trial.time_s;
    }
    if (trial.mean_power_w) point.power.push_back(*trial.mean_power_w);
    if (trial.objective_value) point.objective.push_back(*trial.objective_value);
  }
  std::sort(order.begin(), order.end());
  for (const std::string& name : order) {
    std::vector<PointTrials> points;
    for (auto& [key, point] : scenarios[name]) points.push_back(std::move(point));
    summary.scenarios.push_back(finish(name, points));
  }
  return summary;
}

std::vector<std::string> answer_sentences(const Summary& summary) {
  std::vector<std::string> sentences;
  for (const ScenarioSummary& scenario : summary.scenarios) {
    if (!scenario.best) {
      sentences.push_back(fmt::format("{}: no trial counts, so there is no best point.", scenario.scenario));
      continue;
    }
    const PointSummary& best = scenario.points[*scenario.best];
    std::string text = fmt::format("{}: {} at {}", scenario.scenario,
                                   objective_words(summary.experiment.objective), settings_text(best));
    if (best.energy) text += fmt::format(", {:.4g} J", best.energy->mean);
    if (best.time) text += fmt::format(" in {:.4g} s", best.time->mean);
    text += fmt::format(" ({} {} count{})", best.counted, best.counted == 1 ? "trial" : "trials",
                        best.counted == 1 ? "s" : "");
    if (scenario.points.size() == 1) {
      text += ". It is the only point";
    } else if (best.is_reference) {
      text += ". This is the reference point itself";
    } else if (scenario.reference && (best.saving || best.slowdown)) {
      text +=
          fmt::format(". Against the reference ({}):", settings_text(scenario.points[*scenario.reference]));
      if (best.saving) text += " " + change_text(*best.saving, "less energy", "more energy");
      if (best.saving && best.slowdown) text += ",";
      if (best.slowdown) text += " " + change_text(*best.slowdown, "slower", "faster");
    } else {
      text += ". No trial of the reference point counts, so no saving can be stated";
    }
    text += ".";
    for (const std::string& axis : scenario.best_at_edge_of) {
      text += fmt::format(" The best lies at the edge of what was swept on {}; the optimum may lie beyond.",
                          axis);
    }
    sentences.push_back(text);
  }
  return sentences;
}

}  // namespace dvfs_plan
