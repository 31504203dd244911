#include "base/error.hpp"

#include <system_error>

namespace dvfs_plan {

std::string system_error_text(const std::string& what, int error_number) {
  return what + ": " + std::generic_category().message(error_number);
}

}  // namespace dvfs_plan
