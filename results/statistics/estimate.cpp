#include "results/statistics/estimate.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <numeric>

namespace dvfs_plan {

namespace statistics = boost::math::statistics;

namespace {

// Around 0: Boost 1.81 returns the middle value itself, not its distance from the centre it is given.
double median_deviation(std::vector<double> values, double centre) {
  for (double& value : values) value -= centre;
  return statistics::median_absolute_deviation(values.begin(), values.end(), 0.0);
}

}  // namespace

double average_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double q) {
  const double rank = std::ceil(q * static_cast<double>(values.size())) - 1;
  const auto at = values.begin() +
                  static_cast<std::ptrdiff_t>(std::clamp(rank, 0.0, static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

ShareInterval wilson_interval(double count, double of) {
  if (of <= 0) return {};
  const double z = normal_quantile(0.95), share = count / of, weight = 1 / (1 + z * z / of);
  const double middle = weight * (share + z * z / (2 * of));
  const double half = weight * z * std::sqrt(share * (1 - share) / of + z * z / (4 * of * of));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

double normal_quantile(double confidence) {
  return boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2);
}

double student_t(double confidence, double degrees_of_freedom) {
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), 0.5 + confidence / 2);
}

std::optional<SensorPart> of_mean(const std::vector<std::optional<SensorPart>>& sensors, std::size_t count) {
  double squares = 0, systematic = 0, known = 0;
  for (const auto& one : sensors) {
    if (!one) continue;
    squares += std::max(0.0, one->half_width * one->half_width - one->systematic * one->systematic);
    systematic += one->systematic;
    ++known;
  }
  if (known == 0) return std::nullopt;
  systematic /= known;
  return SensorPart{std::hypot(std::sqrt(squares / known / static_cast<double>(count)), systematic),
                    systematic};
}

double scatter_half_width(const Estimate& estimate) {
  if (!estimate.half_width) return 0;
  const double sensors = estimate.sensor_half_width.value_or(0);
  return std::sqrt(std::max(0.0, std::pow(*estimate.half_width, 2) - sensors * sensors));
}

std::optional<Estimate> estimate(const std::vector<double>& values,
                                 const std::vector<std::optional<SensorPart>>& sensors) {
  if (values.empty()) return std::nullopt;
  Estimate result;
  result.n = static_cast<int>(values.size());
  // Around the first value: a large common offset must not eat the spread.
  std::vector<double> around(values);
  for (double& value : around) value -= values.front();
  const double mean = statistics::mean(around.begin(), around.end());
  result.mean = values.front() + mean;
  auto sorted = around;  // the median of Boost.Math reorders what it is given
  result.median = values.front() + statistics::median(sorted.begin(), sorted.end());
  if (const auto part = of_mean(sensors, values.size())) {
    result.systematic_half_width = part->systematic;
    result.sensor_half_width = part->half_width;
  }
  if (result.n < 2) return result;
  result.standard_deviation = std::sqrt(statistics::sample_variance(around.begin(), around.end()));
  if (result.n >= 3) result.mad = median_deviation(values, result.median);
  const double from_spread = student_t(0.95, result.n - 1) * *result.standard_deviation / std::sqrt(result.n);
  result.half_width = std::hypot(from_spread, result.sensor_half_width.value_or(0));
  return result;
}

std::vector<std::size_t> outliers(const std::vector<double>& values) {
  constexpr std::size_t least = 5;
  constexpr double limit = 3.5, scale = 0.6745;
  std::vector<std::size_t> found;
  if (values.size() < least) return found;
  auto work = values;
  const double middle = statistics::median(work.begin(), work.end());
  const double mad = median_deviation(values, middle);
  if (!(mad > 0)) return found;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (scale * std::abs(values[i] - middle) / mad > limit) found.push_back(i);
  }
  return found;
}

}  // namespace dvfs_plan
