#include "results/energy/told_pace.hpp"

#include <algorithm>
#include <cmath>

#include "results/energy/median.hpp"

namespace dvfs_plan {
namespace {

// Times between lines on either side that tell the pace there: a source that speaks when it has counted so much speaks faster under load.
constexpr std::size_t around = 5, fewest = 3;
// So many times as long as between the lines around: one was left out.
constexpr double left_out = 2;
// Of a uniform distribution half its range by its standard deviation, which is 1.73, and somewhat more as some tens of lines tell it.
constexpr double half_range = 2;

struct Usual {
  double least = 0, most = INFINITY;  // of what is usual before and behind
};

Usual usual_around(const std::vector<double>& apart, std::size_t i) {
  const auto begin = apart.begin();
  const auto at = static_cast<std::ptrdiff_t>(i), end = static_cast<std::ptrdiff_t>(apart.size());
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(0, at - static_cast<std::ptrdiff_t>(around)),
                       last = std::min(end, at + 1 + static_cast<std::ptrdiff_t>(around));
  std::vector<double> sides;
  const auto add = [&](std::ptrdiff_t from, std::ptrdiff_t to) {
    if (to - from >= static_cast<std::ptrdiff_t>(fewest))
      sides.push_back(upper_median(std::vector<double>(begin + from, begin + to)));
  };
  add(first, at);
  add(at + 1, last);
  if (sides.empty()) return {};
  const auto [least, most] = std::minmax_element(sides.begin(), sides.end());
  return {*least, *most};
}

}  // namespace

ToldPace told_pace(std::span<const Look> lines) {
  ToldPace pace{std::vector<double>(lines.size(), 0), std::vector<bool>(lines.size(), false)};
  std::vector<double> apart;
  for (std::size_t i = 1; i < lines.size(); ++i) apart.push_back(lines[i].time - lines[i - 1].time);
  if (apart.empty()) return pace;
  double squares = 0;
  for (std::size_t i = 0; i < apart.size(); ++i) {
    const Usual usual = usual_around(apart, i);
    const double too_soon = std::max(0.0, usual.least - apart[i]);
    squares += too_soon * too_soon;
    pace.off[i] = std::max(pace.off[i], too_soon);
    pace.off[i + 1] = std::max(pace.off[i + 1], too_soon);
    pace.after_silence[i + 1] = apart[i] > left_out * usual.most;
  }
  // Two lines that are late by as much come as soon behind each other as two that are in time.
  const double of_all = half_range * std::sqrt(squares / static_cast<double>(apart.size()));
  for (double& one : pace.off) one = std::max(one, of_all);
  return pace;
}

}  // namespace dvfs_plan
