// How an answer on stdout is to look.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/output.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {

inline TextLook text_look() {
  return {uses_colour(), answer_columns()};
}

// Lines as wide as the terminal, but for those that are commands to be copied ("fix: sudo ...").
inline std::string fitted(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    const auto begins = line.find_first_not_of(' ');
    const bool command = begins != std::string_view::npos && line.substr(begins).starts_with("fix:");
    result += command ? std::string(line) : wrapped(line, answer_columns());
    at = end;
  }
  return result;
}

}  // namespace dvfs_plan
