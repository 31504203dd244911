#include "results/energy/gauge_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace dvfs_plan {
namespace {

constexpr double coarsest = 1000, finest = 1e-6;
constexpr double near_whole = 1e-4;  // of a step: what a sum in binary leaves of decimals
// So much less likely than one must it be that values are multiples of something by chance.
constexpr double no_chance = 1000;
// Of the power: a smaller step matters to nobody.
constexpr double least_step = 1e-4;

bool is_whole(double steps) {
  return std::abs(steps - std::round(steps)) < near_whole;
}

// Whether `numbers` of which nothing is known would all be multiples of this by chance.
bool may_be_by_chance(double divisor, std::size_t numbers) {
  return std::pow(divisor, static_cast<double>(numbers)) < no_chance;
}

std::vector<std::int64_t> in_units(const std::set<double>& levels, double unit) {
  std::vector<std::int64_t> numbers;
  for (const double level : levels) numbers.push_back(std::llround(level / unit));
  return numbers;
}

// What all, or how they differ, are multiples of beyond their decimals; 1 where it may be by chance: the first of them says nothing of the others.
double common_multiple(const std::vector<std::int64_t>& numbers) {
  std::int64_t of_all = 0, of_differences = 0;
  for (const std::int64_t one : numbers) {
    of_all = std::gcd(of_all, one);
    of_differences = std::gcd(of_differences, one - numbers.front());
  }
  const auto unless_by_chance = [](std::int64_t divisor, std::size_t others) {
    const auto by = static_cast<double>(divisor);
    return divisor > 1 && !may_be_by_chance(by, others) ? by : 1;
  };
  return std::max(unless_by_chance(of_all, numbers.size() - 1),
                  numbers.size() < 2 ? 1 : unless_by_chance(of_differences, numbers.size() - 2));
}

}  // namespace

double common_step(const std::set<double>& levels, std::optional<double> smallest_seen) {
  if (levels.empty() || !(std::max(std::abs(*levels.begin()), std::abs(*levels.rbegin())) < 1e9)) return 0;
  const auto all = [&](auto condition) { return std::all_of(levels.begin(), levels.end(), condition); };
  double step = 0;
  for (double decimals = coarsest; decimals > finest / 2 && step == 0; decimals /= 10) {
    // Of whole watts and less a single value tells: all of its other decimals are nought.
    if (decimals > 1 && (levels.size() < 2 || may_be_by_chance(decimals, levels.size()))) continue;
    if (all([&](double level) { return is_whole(level / decimals); }))
      step = decimals * common_multiple(in_units(levels, decimals));
  }
  if (smallest_seen && *smallest_seen > step &&
      all([&](double level) { return is_whole((level - *levels.begin()) / *smallest_seen); }))
    step = *smallest_seen;
  return step;
}

double told_in_steps_of(std::span<const Look> looks, std::optional<double> smallest_seen) {
  std::set<double> levels;
  double most = 0;
  for (const Look& one : looks) {
    levels.insert(one.value);
    most = std::max(most, std::abs(one.value));
  }
  const double step = most == 0 ? 0 : common_step(levels, smallest_seen);
  return step > least_step * most ? step : 0;
}

double rounding_half_width(const TimesOfLevels& levels, double step) {
  constexpr double normal_95 = 1.96, of_uniform = 0.2887;
  double all = 0, squares = 0;
  for (const auto& [level, time] : levels) {
    all += time;
    squares += time * time;
  }
  return step * std::min(all, all / 2 + normal_95 * of_uniform * std::sqrt(squares));
}

}  // namespace dvfs_plan
