// Values of one point into a mean with its interval. Pure; distributions by Boost.Math.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace dvfs_plan {

struct Estimate {
  int n = 0;
  double mean = 0;
  double median = 0;
  std::optional<double> standard_deviation;  // two values at least
  std::optional<double> mad;                 // median absolute deviation, three at least
  // Of the 95 % interval: Student's t from the spread, and the sensors' own part, as the root of the squares.
  // nullopt for a single value: its spread is not known.
  std::optional<double> half_width;
  std::optional<double> sensor_half_width;  // the sensors' part of it
  double systematic_half_width = 0;  // of that, what is the same in all values and does not shrink with n
};

// Of the 95 % interval what the spread alone makes; 0 for a single value.
double scatter_half_width(const Estimate& estimate);

// What sensors add to one value, 95 %: in all, and of it what may be the same in each value.
struct SensorPart {
  double half_width = 0, systematic = 0;
};
// `sensors`: one a value, or empty where none is known; what is not known is taken to be as what is.
std::optional<Estimate> estimate(const std::vector<double>& values,
                                 const std::vector<std::optional<SensorPart>>& sensors = {});
// Of the mean of `count` values of which these parts are known. nullopt: none is.
std::optional<SensorPart> of_mean(const std::vector<std::optional<SensorPart>>& sensors, std::size_t count);

double average_of(std::span<const double> values);  // one at least

// Indices of values further than 3.5 scaled median absolute deviations from the median (Iglewicz and Hoaglin,
// modified z-score); none with fewer than five values or no deviation at all.
std::vector<std::size_t> outliers(const std::vector<double>& values);

// Of values in any order, by the nearest rank: the least of them that a share `q` lies at or below. At least
// one value.
double quantile(std::vector<double> values, double q);

// The 95 % interval of a share of which `count` of `of` were seen (Wilson 1927): it says something where all or none were.
struct ShareInterval {
  double low = 0, high = 1;
};
ShareInterval wilson_interval(double count, double of);

// Quantile of the normal distribution, two-sided at `confidence`.
double normal_quantile(double confidence);

// Quantile of Student's t, two-sided at `confidence`.
double student_t(double confidence, double degrees_of_freedom);

}  // namespace dvfs_plan
