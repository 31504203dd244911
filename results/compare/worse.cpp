#include "results/compare/worse.hpp"

#include <fmt/format.h>

#include <string_view>

namespace dvfs_plan {
namespace {

bool is_shown(const ChangeOfPoint& one, double limit) {
  return one.beyond_noise && one.change && one.change->low && *one.change->low > limit;
}

std::string perhaps_text(const ChangeOfPoint& one, std::string_view quantity, double limit) {
  const Change& change = *one.change;
  std::string text = fmt::format("{} is {:.1f} % higher", quantity, 100 * change.value);
  if (change.low)
    text += fmt::format(" (95 % interval {:+.1f} to {:+.1f} %)", 100 * *change.low, 100 * *change.high);
  return text + fmt::format(": that it rose by more than {:g} % is not shown", 100 * limit);
}

}  // namespace

bool worse_by_more_than(const Comparison& comparison, double limit) {
  for (const ComparedScenario& scenario : comparison.scenarios) {
    for (const ComparedPoint& point : scenario.points) {
      if (is_shown(point.energy, limit) || is_shown(point.time, limit)) return true;
    }
  }
  return false;
}

std::vector<std::string> perhaps_worse_by_more_than(const Comparison& comparison, double limit) {
  std::vector<std::string> texts;
  for (const ComparedScenario& scenario : comparison.scenarios) {
    for (const ComparedPoint& point : scenario.points) {
      const auto tell = [&](const ChangeOfPoint& one, std::string_view quantity) {
        if (one.change && one.change->value > limit && !is_shown(one, limit))
          texts.push_back(
              fmt::format("{}, {}: {}", scenario.scenario, point.called, perhaps_text(one, quantity, limit)));
      };
      tell(point.energy, "energy");
      tell(point.time, "time");
    }
  }
  return texts;
}

}  // namespace dvfs_plan
