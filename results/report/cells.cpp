#include "results/report/cells.hpp"

#include <fmt/format.h>

#include "results/report/amounts.hpp"

namespace dvfs_plan {

std::string cell(const std::optional<Estimate>& value, std::string_view unit) {
  return value ? amount(*value, unit) : "—";
}

std::string cell(const std::optional<Change>& change) {
  if (!change) return "—";
  std::string text = fmt::format("{:.1f} %", 100 * change->value);
  if (change->low) text += fmt::format(" [{:.1f}, {:.1f}]", 100 * *change->low, 100 * *change->high);
  return text;
}

std::optional<Estimate> throughput(const PointSummary& point) {
  if (!point.work_time || point.work_time->mean <= 0) return std::nullopt;
  Estimate rate;
  rate.n = point.work_time->n;
  rate.mean = 1 / point.work_time->mean;
  rate.median = 1 / point.work_time->median;
  if (point.work_time->half_width) rate.half_width = *point.work_time->half_width * rate.mean * rate.mean;
  return rate;
}

}  // namespace dvfs_plan
