// An error that one of several files gave, with the file's name in it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {

inline Error error_of_file(const std::string& file, const Error& error) {
  const std::string_view what = error.what();
  return what.find(file) != std::string_view::npos
             ? error
             : Error(error.code(), fmt::format("{}: {}", printable(file), what), error.hint());
}

}  // namespace dvfs_plan
