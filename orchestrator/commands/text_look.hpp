// How an answer on stdout is to look.
#pragma once

#include "base/output.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {

inline TextLook text_look() {
  return {uses_colour(), answer_columns()};
}

}  // namespace dvfs_plan
