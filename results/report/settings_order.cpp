#include "results/report/settings_order.hpp"

#include <algorithm>

namespace dvfs_plan {

bool earlier_settings(const std::vector<AxisSetting>& a, const std::vector<AxisSetting>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].number && b[i].number && *a[i].number != *b[i].number) return *a[i].number < *b[i].number;
    if (a[i].number.has_value() != b[i].number.has_value()) return a[i].number.has_value();
    if (!a[i].number && a[i].text != b[i].text) return a[i].text < b[i].text;
  }
  return a.size() < b.size();
}

}  // namespace dvfs_plan
