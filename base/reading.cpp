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
  }
  return "?";
}

}  // namespace dvfs_plan
