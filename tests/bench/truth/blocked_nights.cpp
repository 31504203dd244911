#include "tests/bench/truth/blocked_nights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "experiments/plan/plan.hpp"
#include "results/report/finalists.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/winner.hpp"

namespace dvfs_plan::truth {
namespace {

constexpr int reference = 0;

std::vector<PlanPoint> points_of(const BlockConditions& conditions) {
  std::vector<PlanPoint> points(static_cast<std::size_t>(conditions.points));
  for (std::size_t p = 0; p < points.size(); ++p) {
    points[p].key = std::to_string(p);
    points[p].scenario = "w";
    points[p].reference = p == reference;
  }
  return points;
}

ScheduleOptions shuffled(std::uint64_t seed) {
  return {true, seed, true, false};
}

// One night's machine: what each point draws, how much it scatters, and what becomes of both over the night.
class Machine {
 public:
  Machine(const BlockConditions& c, std::uint64_t seed) : c_(c), random_(seed) {
    const auto points = static_cast<std::size_t>(c.points);
    truth.assign(points, 0);
    scatter_.assign(points, c.scatter);
    if (c.clear) {
      truth[1 + static_cast<std::size_t>(uniform_(random_) * static_cast<double>(points - 1))] =
          -60 * c.scatter;
    } else if (!c.alike) {
      const double valley = uniform_(random_) * static_cast<double>(points - 1);
      for (std::size_t p = 0; p < points; ++p)
        truth[p] =
            8 * c.scatter * std::pow((static_cast<double>(p) - valley) / static_cast<double>(points), 2);
    }
    best = static_cast<int>(std::min_element(truth.begin() + (c.alike ? 1 : 0), truth.end()) - truth.begin());
    if (c.noise == Noise::noisy_best) scatter_[static_cast<std::size_t>(best)] *= 10;
    if (c.noise == Noise::noisier_best) scatter_[static_cast<std::size_t>(best)] *= 2.5;
    if (c.noise == Noise::half_noisy) {
      for (std::size_t p = 1; p < points; p += 2) scatter_[p] *= 3;
    }
    steps_at_ = uniform_(random_) * c.blocks * trials_of_a_block();
  }

  std::vector<BlockedValue> run(const std::vector<PlannedTrial>& trials) {
    std::vector<BlockedValue> values;
    for (const PlannedTrial& trial : trials) {
      in_block_ = trial.block == block_ ? in_block_ + 1 : 0;
      block_ = trial.block;
      const auto p = static_cast<std::size_t>(trial.point);
      const double drift = next_drift();
      values.push_back(
          {trial.point, trial.block, 100 * std::exp(truth[p] + drift + scatter_[p] * normal_(random_))});
    }
    return values;
  }

  double saving_of(int point) const {
    return 1 - std::exp(truth[static_cast<std::size_t>(point)] - truth[reference]);
  }

  std::vector<double> truth;  // logarithms
  int best = 0;

 private:
  double trials_of_a_block() const { return c_.points + 1; }

  double next_drift() {
    walk_ += c_.drift_size / std::sqrt(trials_of_a_block()) * normal_(random_);
    const double so_far = run_++;
    switch (c_.drift) {
      case Drift::none:
        return 0;
      case Drift::linear:
        return c_.drift_size * in_block_ / trials_of_a_block();
      case Drift::settles_in_3:
        return c_.drift_size * std::exp(-in_block_ / 3.0);
      case Drift::settles_in_10:
        return c_.drift_size * std::exp(-in_block_ / 10.0);
      case Drift::settles_once:
        return c_.drift_size * std::exp(-so_far / 3.0);
      case Drift::step:
        return so_far > steps_at_ ? c_.drift_size : 0;
      case Drift::walk:
        return walk_;
    }
    return 0;
  }

  const BlockConditions& c_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> scatter_;
  double steps_at_ = 0, walk_ = 0;
  int in_block_ = 0, block_ = 0, run_ = 0;
};

bool holds(const Change& change, double truth) {
  return change.low && *change.low <= truth && truth <= *change.high;
}

std::vector<TrialRow> rows_of(const std::vector<PlannedTrial>& trials, Machine& machine) {
  const auto values = machine.run(trials);
  std::vector<TrialRow> rows;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    TrialRow row;
    row.key = trials[i].key;
    row.point = std::to_string(trials[i].point);
    row.workload = row.scenario = "w";
    row.is_reference = trials[i].point == reference;
    row.role = trials[i].role;
    row.block = trials[i].block;
    row.verdict = "ok";
    row.objective_value = row.energy_j = values[i].value;
    row.time_s = 1;
    row.settings = {{"p", row.point, static_cast<double>(trials[i].point)}};
    rows.push_back(row);
  }
  return rows;
}

ScenarioSummary told(const std::vector<TrialRow>& rows) {
  ExperimentRow experiment;
  experiment.energy_source = "system";
  experiment.axes = {{"p", "parameter"}};
  return summarise(experiment, rows).scenarios.at(0);
}

}  // namespace

std::string to_string(Drift drift) {
  const char* names[] = {"no drift",
                         "linear in each block",
                         "settles in 3 trials, each block",
                         "settles in 10 trials, each block",
                         "settles in 3 trials, once",
                         "a step",
                         "a random walk"};
  return names[static_cast<int>(drift)];
}

std::string to_string(Noise noise) {
  const char* names[] = {"equal noise", "best 10 x as noisy", "best 2.5 x as noisy",
                         "half of them 3 x as noisy"};
  return names[static_cast<int>(noise)];
}

BlockOutcome state_a_night(const BlockConditions& c, std::uint64_t seed, bool with_set) {
  Machine machine(c, seed);
  const auto points = static_cast<std::size_t>(c.points);
  const auto values = machine.run(schedule(points_of(c), c.blocks, shuffled(seed)));
  BlockOutcome outcome;
  for (int p = 1; p < c.points; ++p) {
    const auto change = paired_change(values, p, reference, ChangeOf::saving);
    if (!change || !change->low) continue;
    ++outcome.savings;
    outcome.savings_hold += holds(*change, machine.saving_of(p)) ? 1 : 0;
    outcome.savings_width += *change->high - *change->low;
  }
  if (!with_set) return outcome;
  const BlockModel model(values, c.points);
  std::vector<int> all(points);
  std::iota(all.begin(), all.end(), 0);
  const auto set = model.not_worse_than_best(all, 0.05);
  outcome.best_in_set = std::find(set.begin(), set.end(), machine.best) != set.end();
  outcome.set = static_cast<int>(set.size());
  const int named = *std::min_element(all.begin(), all.end(),
                                      [&](int a, int b) { return *model.level(a) < *model.level(b); });
  const auto corrected = winners_saving(values, c.points, named, reference, all);
  const auto plain = paired_change(values, named, reference, ChangeOf::saving);
  if (!corrected || !plain || !plain->low) return outcome;
  outcome.named = true;
  outcome.named_holds = holds(*corrected, machine.saving_of(named));
  outcome.plain_holds = holds(*plain, machine.saving_of(named));
  outcome.named_width = *corrected->high - *corrected->low;
  outcome.plain_width = *plain->high - *plain->low;
  return outcome;
}

ConfirmedOutcome confirm_a_night(const BlockConditions& c, int confirming, std::uint64_t seed) {
  Machine machine(c, seed);
  const auto points = points_of(c);
  auto rows = rows_of(schedule(points, c.blocks, shuffled(seed)), machine);
  const ScenarioSummary screened = told(rows);
  const auto keys = finalists(screened);
  ConfirmedOutcome outcome;
  if (keys.empty()) return outcome;  // the reference is the best
  std::vector<int> chosen;
  for (const std::string& key : keys) chosen.push_back(std::stoi(key));
  for (int block = c.blocks + 1; block <= c.blocks + confirming; ++block) {
    auto fresh = rows_of(schedule_block(points, chosen, block, 1, shuffled(seed)), machine);
    for (TrialRow& row : fresh) row.confirms = true;
    rows.insert(rows.end(), fresh.begin(), fresh.end());
  }
  const ScenarioSummary all = told(rows);
  const auto judge = [&](const ScenarioSummary& scenario, Claim& claim) {
    if (!scenario.best || !scenario.gain_of_best || !scenario.gain_of_best->low) return;
    const int named = std::stoi(scenario.points[*scenario.best].point);
    claim.stated = true;
    claim.holds = holds(*scenario.gain_of_best, machine.saving_of(named));
    claim.width = *scenario.gain_of_best->high - *scenario.gain_of_best->low;
    claim.worse_than_best = 1 - std::exp(machine.truth[static_cast<std::size_t>(machine.best)] -
                                         machine.truth[static_cast<std::size_t>(named)]);
  };
  judge(screened, outcome.corrected);
  judge(all, outcome.confirmed);
  outcome.went_by_fresh_blocks = all.from_fresh_blocks;
  return outcome;
}

}  // namespace dvfs_plan::truth
