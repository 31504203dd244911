#include "base/whole_number.hpp"

#include <algorithm>

namespace dvfs_plan {

std::optional<std::string> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const auto point = text.find('.');
  std::string_view digits = text.substr(0, point);
  const std::string_view behind = point == std::string_view::npos ? "" : text.substr(point + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos ||
      behind.find_first_not_of('0') != std::string_view::npos)
    return std::nullopt;
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (negative && digits != "0" ? "-" : "") + std::string(digits);
}

}  // namespace dvfs_plan
