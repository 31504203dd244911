#include "results/statistics/welch.hpp"

#include <algorithm>
#include <cmath>

#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

struct LogMean {
  double mean = 0;
  double squared_error = 0;  // of the mean
  double n = 0;
};

LogMean log_mean(std::span<const double> values) {
  LogMean m;
  m.n = static_cast<double>(values.size());
  for (const double value : values) m.mean += std::log(value) / m.n;
  if (values.size() < 2) return m;
  for (const double value : values) m.squared_error += std::pow(std::log(value) - m.mean, 2);
  m.squared_error /= (m.n - 1) * m.n;
  return m;
}

}  // namespace

std::optional<Change> welch_change(std::span<const double> before, std::span<const double> after, double confidence,
                                   double sensor_before, double sensor_after) {
  const auto positive = [](double value) { return value > 0; };
  if (before.empty() || after.empty() || !std::all_of(before.begin(), before.end(), positive) ||
      !std::all_of(after.begin(), after.end(), positive))
    return std::nullopt;
  const LogMean a = log_mean(before), b = log_mean(after);
  Change change;
  change.pairs = static_cast<int>(std::min(before.size(), after.size()));
  const double difference = b.mean - a.mean;
  change.value = std::exp(difference) - 1;
  if (before.size() < 2 || after.size() < 2) return change;
  const double variance = a.squared_error + b.squared_error;
  double half_width = 0;
  if (variance > 0) {
    half_width = student_t(confidence, std::min(a.n, b.n) - 1) * std::sqrt(variance);
  }
  // The sensors' half-widths are of 95 %.
  const double wider = normal_quantile(confidence) / normal_quantile(0.95);
  half_width = std::hypot(half_width, wider * sensor_before, wider * sensor_after);
  change.low = std::exp(difference - half_width) - 1;
  change.high = std::exp(difference + half_width) - 1;
  return change;
}

}  // namespace dvfs_plan
