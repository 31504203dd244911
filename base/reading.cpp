#include "base/reading.hpp"

namespace dvfs_plan {

std::string_view to_string(ReadingStatus status) {
  switch (status) {
    case ReadingStatus::ok:
      return "ok";
    case ReadingStatus::absent:
      return "absent";
    case ReadingStatus::denied:
      return "denied";
    case ReadingStatus::gone:
      return "gone";
    case ReadingStatus::impossible:
      return "impossible";
  }
  return "?";
}

std::string_view quantity_of(const Channel& channel) {
  const std::string_view name = channel.name;
  const auto slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

}  // namespace dvfs_plan
