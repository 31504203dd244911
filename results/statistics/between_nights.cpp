#include "results/statistics/between_nights.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

double log_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return sum / static_cast<double>(values.size());
}

// A part of a mean's variance and how well it is known.
struct PartOfVariance {
  double variance, degrees;
};

double satterthwaite(std::span<const PartOfVariance> parts) {
  double sum = 0, weighed = 0;
  for (const PartOfVariance& part : parts) {
    sum += part.variance;
    if (part.variance > 0) weighed += part.variance * part.variance / part.degrees;
  }
  return weighed > 0 ? std::max(1.0, sum * sum / weighed) : 1;
}

}  // namespace

std::optional<NightError> night_error(std::span<const BlockedValue> values, int points) {
  std::map<int, std::vector<double>> of_point;
  std::set<int> blocks;
  for (const BlockedValue& value : values) {
    of_point[value.point].push_back(value.value);
    blocks.insert(value.block);
  }
  double squares = 0, degrees = 0;
  for (const auto& [point, mine] : of_point) {
    const double mean = log_mean(mine);
    for (const double value : mine) squares += std::pow(std::log(value) - mean, 2);
    degrees += static_cast<double>(mine.size()) - 1;
  }
  if (degrees < 1) return std::nullopt;
  const double within_points = squares / degrees;
  const BlockModel model(values, points);
  if (model.degrees_of_freedom() < 1) return NightError{within_points, degrees, 0, 1};
  NightError night;
  night.error = model.error_variance();
  night.error_degrees = model.degrees_of_freedom();
  night.block = std::max(0.0, within_points - night.error);
  night.block_degrees = std::max(1.0, static_cast<double>(blocks.size()) - 1);
  return night;
}

std::optional<Change> change_between(std::span<const double> before,
                                     const std::optional<NightError>& error_before,
                                     std::span<const double> after,
                                     const std::optional<NightError>& error_after, double confidence,
                                     double sensor_before, double sensor_after) {
  const auto positive = [](double value) { return value > 0; };
  if (before.empty() || after.empty() || !std::all_of(before.begin(), before.end(), positive) ||
      !std::all_of(after.begin(), after.end(), positive))
    return std::nullopt;
  Change change;
  change.pairs = static_cast<int>(std::min(before.size(), after.size()));
  const double difference = log_mean(after) - log_mean(before);
  change.value = std::expm1(difference);
  if (!error_before || !error_after) return change;
  const auto a = static_cast<double>(before.size()), b = static_cast<double>(after.size());
  const PartOfVariance parts[] = {{error_before->error / a, error_before->error_degrees},
                                  {error_before->block / a, error_before->block_degrees},
                                  {error_after->error / b, error_after->error_degrees},
                                  {error_after->block / b, error_after->block_degrees}};
  double variance = 0;
  for (const PartOfVariance& part : parts) variance += part.variance;
  // The sensors' half-widths are of 95 %.
  const double wider = normal_quantile(confidence) / normal_quantile(0.95);
  const double half_width = std::hypot(student_t(confidence, satterthwaite(parts)) * std::sqrt(variance),
                                       wider * sensor_before, wider * sensor_after);
  change.low = std::expm1(difference - half_width);
  change.high = std::expm1(difference + half_width);
  return change;
}

}  // namespace dvfs_plan
