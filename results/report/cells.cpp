#include "results/report/cells.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dvfs_plan {

std::string cell(const std::optional<Estimate>& value, std::string_view unit) {
  if (!value) return "—";
  std::string text = fmt::format("{:#.4g} {}", value->mean, unit);
  if (!value->half_width) return text;
  // Of a value near zero a share says nothing.
  if (*value->half_width < std::abs(value->mean))
    text += fmt::format(" ±{:.1f} %", 100 * *value->half_width / std::abs(value->mean));
  else
    text += fmt::format(" ±{:.2g} {}", *value->half_width, unit);
  return text;
}

std::string cell(const std::optional<Change>& change) {
  if (!change) return "—";
  std::string text = fmt::format("{:.1f} %", 100 * change->value);
  if (change->low) text += fmt::format(" [{:.1f}, {:.1f}]", 100 * *change->low, 100 * *change->high);
  return text;
}

}  // namespace dvfs_plan
