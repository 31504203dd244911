#include "results/statistics/winner.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/random/chi_squared_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <map>
#include <set>

#include "results/statistics/estimate.hpp"
#include "results/statistics/noise_model.hpp"

namespace dvfs_plan {
namespace {

constexpr double confidence = 0.95, outside_the_band = 0.005;
constexpr int draws = 10'000;
constexpr std::uint64_t seed = 20242;

// The band that holds the errors of all savings together: they share the reference's.
double simultaneous_quantile(int savings, double shared, double degrees) {
  boost::random::mt19937_64 random(seed);
  boost::random::normal_distribution<double> normal;
  boost::random::chi_squared_distribution<double> chi_squared(degrees);
  std::vector<double> largest;
  for (int i = 0; i < draws; ++i) {
    const double common = std::sqrt(shared) * normal(random);
    double most = 0;
    for (int k = 0; k < savings; ++k)
      most = std::max(most, std::abs(common + std::sqrt(1 - shared) * normal(random)));
    largest.push_back(most / std::sqrt(chi_squared(random) / degrees));
  }
  return quantile(largest, 1 - outside_the_band);
}

// The half-width of a mixture of normal distributions.
double mixture_half_width(const std::vector<double>& deviations) {
  const boost::math::normal normal;
  const auto inside = [&](double half) {
    double sum = 0;
    for (const double sd : deviations) sum += sd > 0 ? 2 * boost::math::cdf(normal, half / sd) - 1 : 1;
    return sum / static_cast<double>(deviations.size());
  };
  double low = 0, high = 10 * *std::max_element(deviations.begin(), deviations.end());
  for (int i = 0; i < 60; ++i) (inside((low + high) / 2) < confidence ? low : high) = (low + high) / 2;
  return high;
}

}  // namespace

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
  const auto mine = model.level(best), base = model.level(reference);
  if (!noise.known() || model.degrees_of_freedom() < 1 || !mine || !base) return std::nullopt;

  std::vector<double> deviations;
  double of_best = 0, of_reference = 0;
  for (const NoiseModel::Draw& draw : noise.draws()) {
    const double a = draw.variance[static_cast<std::size_t>(best)] / trials[best],
                 b = draw.variance[static_cast<std::size_t>(reference)] / trials[reference];
    deviations.push_back(std::sqrt(a + b));
    of_best += a;
    of_reference += b;
  }
  const double degrees = model.degrees_of_freedom();
  const double error = mixture_half_width(deviations) / student_t(confidence, degrees);
  const double shared = of_reference / (of_best + of_reference);
  if (!(error > 0)) return std::nullopt;

  // How far the next best lies: the reference's own error has no part in who won.
  double gap = INFINITY;
  int savings = 0;
  for (const int point : among) {
    if (point == reference) continue;
    ++savings;
    const auto level = model.level(point);
    if (point != best && level) gap = std::min(gap, std::max(0.0, std::log(*level / *mine)));
  }
  const double saving = std::log(*base / *mine);
  const double won_from = std::isfinite(gap) ? saving - gap / (1 - shared) : -INFINITY;
  const double band = simultaneous_quantile(std::max(1, savings), shared, degrees);
  const boost::math::students_t t(degrees);
  // Of the errors that are possible at this truth, the share below what was seen; falls with the truth.
  const auto below = [&](double truth) {
    const auto above = [&](double z) { return boost::math::cdf(boost::math::complement(t, z)); };
    const double from = std::max((won_from - truth) / error, -band), seen = (saving - truth) / error;
    const double all = above(from) - above(band);
    return all > 0 ? std::clamp((above(from) - above(std::clamp(seen, from, band))) / all, 0.0, 1.0) : 0.0;
  };
  const auto where = [&](double share) {
    double low = saving - band * error, high = saving + band * error;
    for (int i = 0; i < 60; ++i) (below((low + high) / 2) > share ? low : high) = (low + high) / 2;
    return (low + high) / 2;
  };
  const double tail = (1 - confidence - outside_the_band) / (1 - outside_the_band) / 2;
  std::vector<int> common;
  std::set_intersection(blocks[best].begin(), blocks[best].end(), blocks[reference].begin(),
                        blocks[reference].end(), std::back_inserter(common));
  const double middle = where(0.5);
  Change change{static_cast<int>(common.size()), 1 - std::exp(-middle), std::nullopt, std::nullopt};
  change.low = 1 - std::exp(-(middle - std::hypot(middle - where(1 - tail), sensor)));
  change.high = 1 - std::exp(-(middle + std::hypot(where(tail) - middle, sensor)));
  return change;
}

}  // namespace dvfs_plan
