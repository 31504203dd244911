// Columns of text for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

// Columns a text takes on a terminal: one a code point is enough for what reports print.
std::size_t width_of(std::string_view text);

class TextTable {
 public:
  void row(std::vector<std::string> cells, bool strong = false);
  // One line a row; the first column is followed by one space, the others by three. Strong rows are bold if
  // `colour`.
  std::string text(bool colour) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool strong;
  };
  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace dvfs_plan
