#include "results/report/drift.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace dvfs_plan {
namespace {

// What the sensors alone may make of the difference of two trials' objectives, relative.
std::optional<double> sensors_of_two(const TrialRow& a, const TrialRow& b, Objective minimised) {
  if (minimised == Objective::time) return 0;
  double squares = 0;
  for (const TrialRow* trial : {&a, &b}) {
    if (!trial->energy_half_width_j || trial->energy_j.value_or(0) <= 0) return std::nullopt;
    squares += std::pow(*trial->energy_half_width_j / *trial->energy_j, 2);
  }
  return std::sqrt(squares);
}

// By each block's mean distance from its points' means: all that ran in a block shares one start of its services, and is one thing. `of`: how
// many metrics are looked at; what is said by chance of one of them should not be more often than once in twenty. nullopt: nothing is shown.
std::optional<Change> change_over_blocks(const TrialsOfNight& night, const std::string& name, int last_block,
                                         std::size_t of) {
  std::map<std::string, std::map<int, std::vector<double>>> logs;  // by point and block
  for (const TrialRow* trial : night.trials) {
    const auto metric = trial->metrics.find(name);
    if (trial->counts() && metric != trial->metrics.end() && metric->second > 0)
      logs[trial->point][trial->block].push_back(std::log(metric->second));
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
  if (!shown || std::abs(std::expm1(by)) <= night.experiment.drift_limit) return std::nullopt;
  const double half = error * student_t(0.95, degrees);
  return Change{static_cast<int>(degrees) + 2, std::expm1(by), std::expm1(by - half), std::expm1(by + half)};
}

// A server that answers slower and slower: each point's mean in the second half of its blocks against that in the first.
void set_drift_of_metrics(ScenarioSummary& scenario, const TrialsOfNight& night) {
  if (night.several_nodes) return;  // other blocks are other machines
  std::set<std::string> names;
  for (const ConstraintSpec& constraint : scenario.objective.constraints) {
    if (!is_measured(constraint.name)) names.insert(constraint.name);
  }
  int last_block = 0;
  for (const TrialRow* trial : night.trials) {
    if (!trial->counts()) continue;
    last_block = std::max(last_block, trial->block);
    for (const auto& [name, value] : trial->metrics) {
      if (name.ends_with("_latency") || name.ends_with("_ttft") || name.ends_with("_tpot"))
        names.insert(name);
    }
  }
  for (const std::string& name : names) {
    if (const auto change = change_over_blocks(night, name, last_block, names.size()))
      scenario.metric_drift.push_back({name, *change});
  }
}

void set_drift_of_reference(ScenarioSummary& scenario, const TrialsOfNight& night) {
  std::map<int, std::pair<const TrialRow*, const TrialRow*>> blocks;
  const TrialRow *first = nullptr, *last = nullptr;
  std::vector<const TrialRow*> references;
  for (const TrialRow* trial : night.trials) {
    // Of each trial's own work: what a unit took in it.
    if (!trial->counts() || !trial->is_reference || !trial->objective_value) continue;
    if (first == nullptr || trial->id < first->id) first = trial;
    if (last == nullptr || trial->id > last->id) last = trial;
    references.push_back(trial);
    if (trial->attempt > 1) continue;  // a rerun is at the block's end, whatever it repeats
    if (trial->role == TrialRole::reference_first) blocks[trial->block].first = trial;
    if (trial->role == TrialRole::reference_last) blocks[trial->block].second = trial;
  }
  if (first != nullptr && last != first && *first->objective_value > 0 && !night.several_nodes)
    scenario.drift_of_night = *last->objective_value / *first->objective_value - 1;
  std::sort(references.begin(), references.end(),
            [](const TrialRow* a, const TrialRow* b) { return a->id < b->id; });
  std::map<std::string, double> begins;  // by node
  for (const TrialRow* trial : references) {
    const double value = *trial->objective_value;
    const double begin = begins.try_emplace(trial->node, value).first->second;
    const auto ends = blocks.find(trial->block);
    const bool of_drift =
        ends != blocks.end() && (ends->second.first == trial || ends->second.second == trial);
    if (begin > 0)
      scenario.reference_trials.push_back(
          {trial->key, trial->node, trial->block, of_drift, value / begin - 1});
  }
  for (const auto& [block, ends] : blocks) {
    BlockDrift one;
    one.block = block;
    if (ends.first != nullptr) {
      one.first_value = ends.first->objective_value;
      one.first_temperature_c = ends.first->temperature_c;
    }
    if (ends.second != nullptr) {
      one.last_value = ends.second->objective_value;
      one.last_temperature_c = ends.second->temperature_c;
    }
    if (one.first_value && one.last_value && *one.first_value > 0) {
      one.change = *one.last_value / *one.first_value - 1;
      one.sensor_half_width = sensors_of_two(*ends.first, *ends.second, scenario.objective.minimise);
      one.flagged =
          std::abs(*one.change) > std::max(night.experiment.drift_limit, one.sensor_half_width.value_or(0));
    }
    scenario.drift.push_back(one);
  }
}

}  // namespace

void set_drift(ScenarioSummary& scenario, const TrialsOfNight& night) {
  set_drift_of_reference(scenario, night);
  set_drift_of_metrics(scenario, night);
}

}  // namespace dvfs_plan
