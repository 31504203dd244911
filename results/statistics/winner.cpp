#include "results/statistics/winner.hpp"

#include <algorithm>
#include <boost/random/chi_squared_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <map>
#include <set>

#include "experiments/plan/experiment.hpp"
#include "results/statistics/estimate.hpp"
#include "results/statistics/noise_model.hpp"

namespace dvfs_plan {
namespace {

constexpr double confidence = 0.95, outside_the_band = 0.005;
constexpr int draws_of_the_band = 10'000;
constexpr std::uint64_t seed_of_the_band = 20242;

// The band that holds the errors of all savings together: they share the reference's.
double simultaneous_quantile(int savings, double shared, double degrees) {
  boost::random::mt19937_64 random(seed_of_the_band);
  boost::random::normal_distribution<double> normal;
  boost::random::chi_squared_distribution<double> chi_squared(degrees);
  std::vector<double> largest;
  for (int i = 0; i < draws_of_the_band; ++i) {
    const double common = std::sqrt(shared) * normal(random);
    double most = 0;
    for (int k = 0; k < savings; ++k)
      most = std::max(most, std::abs(common + std::sqrt(1 - shared) * normal(random)));
    largest.push_back(most / std::sqrt(chi_squared(random) / degrees));
  }
  return quantile(largest, 1 - outside_the_band);
}

// The error of a saving: a mixture of normal distributions, as how noisy the two points are is known from few
// trials only. Its tails are heavier than Student's with the degrees of freedom of all points together, and a
// winner is more likely to be a noisy point.
class ErrorOfASaving {
 public:
  explicit ErrorOfASaving(std::vector<double> deviations) : deviations_(std::move(deviations)) {}
  double above(double error) const {
    double sum = 0;
    for (const double sd : deviations_)
      sum += sd > 0 ? std::erfc(error / (sd * std::sqrt(2.0))) / 2 : error < 0;
    return sum / static_cast<double>(deviations_.size());
  }
  // That `share` of the errors lie beyond, to either side.
  double beyond(double share) const {
    double low = 0, high = 40 * *std::max_element(deviations_.begin(), deviations_.end());
    for (int i = 0; i < 60; ++i) (2 * above((low + high) / 2) > share ? low : high) = (low + high) / 2;
    return high;
  }

 private:
  std::vector<double> deviations_;
};

// Of the best and those of `among` that lie so near that scatter alone may have put it before them: its level on a logarithmic scale, drawn
// towards their mean. `variance` of each point's level; as many as `levels`, the best's first.
double drawn_towards_its_rivals(const std::vector<double>& levels, const std::vector<double>& variance) {
  constexpr double not_told_apart = 1.96;  // standard deviations of a difference: 95 %
  std::vector<std::size_t> near;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] - levels[0] <= not_told_apart * std::sqrt(variance[i] + variance[0])) near.push_back(i);
  }
  if (near.size() < 2) return levels[0];
  double mean = 0, weight = 0, squares = 0;
  for (const std::size_t i : near) {
    mean += levels[i] / variance[i];
    weight += 1 / variance[i];
    squares += 1 / (variance[i] * variance[i]);
  }
  mean /= weight;
  // How much they truly spread: DerSimonian and Laird, Controlled Clinical Trials 7, 1986.
  double spread = 0;
  for (const std::size_t i : near) spread += (levels[i] - mean) * (levels[i] - mean) / variance[i];
  const double real =
      std::max(0.0, (spread - static_cast<double>(near.size() - 1)) / (weight - squares / weight));
  const double drawn = variance[0] / (variance[0] + real);
  return levels[0] + drawn * (mean - levels[0]);
}

// Whether the point had been named before the fresh blocks, and the points scatter so differently that the
// correction holds too rarely.
bool fresh_pairs_are_right(std::span<const BlockedValue> values, std::span<const BlockedValue> fresh,
                           int points, int best, std::span<const int> among) {
  constexpr double alike = 0.15;
  if (fresh.empty() || NoiseModel(values, points).noisy_share() <= alike) return false;
  std::set<int> fresh_blocks;
  for (const BlockedValue& value : fresh) fresh_blocks.insert(value.block);
  std::vector<BlockedValue> before;
  for (const BlockedValue& value : values) {
    if (!fresh_blocks.contains(value.block)) before.push_back(value);
  }
  const BlockModel model(before, points);
  const auto mine = model.level(best);
  return mine && std::all_of(among.begin(), among.end(), [&](int point) {
           const auto level = model.level(point);
           return point == best || !level || *mine <= *level;
         });
}

}  // namespace

std::set<int> reached_by_blocks(const std::map<int, std::set<int>>& blocks_of, int from) {
  std::set<int> points{from}, blocks;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [point, mine] : blocks_of) {
      const bool reached = points.contains(point) || std::any_of(mine.begin(), mine.end(), [&](int block) {
                             return blocks.contains(block);
                           });
      if (!reached) continue;
      grows = points.insert(point).second || grows;
      for (const int block : mine) grows = blocks.insert(block).second || grows;
    }
  }
  return points;
}

std::optional<Change> winners_saving(std::span<const BlockedValue> values, int points, int best,
                                     int reference, std::span<const int> among, double sensor) {
  if (best == reference) return std::nullopt;
  const BlockModel model(values, points);
  const NoiseModel noise(values, points);
  std::map<int, std::set<int>> blocks;
  std::map<int, double> trials;
  for (const BlockedValue& value : values) {
    blocks[value.point].insert(value.block);
    ++trials[value.point];
  }
  const std::set<int> reached = reached_by_blocks(blocks, best);
  if (!reached.contains(reference)) return std::nullopt;
  const auto mine = model.level(best), base = model.level(reference);
  // Of one block the reference's two trials alone tell of noise: what that corrects is beyond all bounds.
  constexpr int least_degrees = 3;
  if (!noise.known() || model.degrees_of_freedom() < least_degrees || !mine || !base) return std::nullopt;

  // Of the draws, so many: each cut of the interval goes through all of them.
  constexpr std::size_t every = 4;
  std::vector<double> deviations;
  double of_best = 0, of_reference = 0;
  for (std::size_t i = 0; i < noise.draws().size(); i += every) {
    const NoiseModel::Draw& draw = noise.draws()[i];
    const double a = draw.variance[static_cast<std::size_t>(best)] / trials[best],
                 b = draw.variance[static_cast<std::size_t>(reference)] / trials[reference];
    deviations.push_back(std::sqrt(a + b));
    of_best += a;
    of_reference += b;
  }
  if (!(of_best + of_reference > 0)) return std::nullopt;
  const double degrees = model.degrees_of_freedom();
  const ErrorOfASaving error(std::move(deviations));
  const double shared = of_reference / (of_best + of_reference);

  // How far the next best lies: the reference's own error has no part in who won.
  double gap = INFINITY;
  int savings = 0;
  const auto variance_of = [&](int point) { return noise.variance(point) / trials[point]; };
  std::vector<double> levels{std::log(*mine)}, variances{variance_of(best)};
  for (const int point : among) {
    if (point == reference) continue;
    ++savings;
    const auto level = model.level(point);
    if (point == best || !level || !reached.contains(point)) continue;
    gap = std::min(gap, std::max(0.0, std::log(*level / *mine)));
    levels.push_back(std::log(*level));
    variances.push_back(variance_of(point));
  }
  // Who won by nothing tells nothing of himself by having won: the interval would shrink to one end of the
  // band.
  constexpr double one_deviation = 0.3173, least_gap = 0.1;
  gap = std::max(gap, least_gap * error.beyond(one_deviation));
  const double saving = std::log(*base / *mine);
  const double won_from = std::isfinite(gap) ? saving - gap / (1 - shared) : -INFINITY;
  const double band = simultaneous_quantile(std::max(1, savings), shared, degrees) *
                      error.beyond(1 - confidence) / student_t(confidence, degrees);
  // Of the errors that are possible at this truth, the share below what was seen; falls with the truth.
  const auto below = [&](double truth) {
    const double from = std::max(won_from - truth, -band), seen = saving - truth;
    const double all = error.above(from) - error.above(band);
    return all > 0
               ? std::clamp((error.above(from) - error.above(std::clamp(seen, from, band))) / all, 0.0, 1.0)
               : 1.0;
  };
  const auto where = [&](double share) {
    double low = saving - band, high = saving + band;
    for (int i = 0; i < 60; ++i) (below((low + high) / 2) > share ? low : high) = (low + high) / 2;
    return (low + high) / 2;
  };
  const double tail = (1 - confidence - outside_the_band) / (1 - outside_the_band) / 2;
  std::vector<int> common;
  std::set_intersection(blocks[best].begin(), blocks[best].end(), blocks[reference].begin(),
                        blocks[reference].end(), std::back_inserter(common));
  const double middle = where(0.5);
  Change change{static_cast<int>(common.size()), 1 - std::exp(-middle), std::nullopt, std::nullopt};
  const double down = std::hypot(middle - where(1 - tail), sensor),
               up = std::hypot(where(tail) - middle, sensor);
  // In the above points lend each other their scatter. Of a point that scatters more than the others, which
  // few trials of it do not show, that is too little: it is not stated closer than by its own pairs, and with
  // one pair not at all.
  const auto own = paired_change(values, best, reference, ChangeOf::saving, sensor);
  const auto with_value = [&] {
    const double drawn = std::log(*base) - drawn_towards_its_rivals(levels, variances);
    change.value = -std::expm1(-drawn);
    // Its mean is below the reference's: at most nothing of that is left. What would be beyond is the few trials' noise.
    if (saving > 0 && (!change.high || *change.high > 0)) change.value = std::max(0.0, change.value);
    if (change.low && change.high) change.value = std::clamp(change.value, *change.low, *change.high);
    return change;
  };
  if (!own || !own->low) return with_value();
  const double wider = std::max(1.0, std::log((1 - *own->low) / (1 - *own->high)) / (down + up));
  change.low = share_of_log_ratio(-(middle - wider * down), ChangeOf::saving);
  change.high = share_of_log_ratio(-(middle + wider * up), ChangeOf::saving);
  // Where a point's ratio to the others changed from block to block (a cap that came at midnight), and not all ran in each, the levels
  // say another thing than the pairs do: which of the two is so is not known, and both are in the interval.
  const double by_pairs = -std::log1p(-own->value);
  if (std::abs(saving - by_pairs) > rounding_of_shares &&
      (1 - std::exp(-saving) < *own->low || 1 - std::exp(-saving) > *own->high) &&
      (own->value < *change.low || own->value > *change.high)) {
    change.low = std::min(*change.low, *own->low);
    change.high = std::max(*change.high, *own->high);
  }
  return with_value();
}

std::optional<NamedSaving> named_saving(std::span<const BlockedValue> values,
                                        std::span<const BlockedValue> fresh, int points, int best,
                                        int reference, std::span<const int> among, double sensor,
                                        double fresh_sensor) {
  if (fresh_pairs_are_right(values, fresh, points, best, among)) {
    const auto change = paired_change(fresh, best, reference, ChangeOf::saving, fresh_sensor);
    if (change && change->pairs >= least_confirming_blocks) return NamedSaving{*change, true};
  }
  const auto change = winners_saving(values, points, best, reference, among, sensor);
  return change ? std::optional(NamedSaving{*change, false}) : std::nullopt;
}

}  // namespace dvfs_plan
