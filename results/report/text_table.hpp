// Columns of text for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

// How a text is meant to look where it is read.
struct TextLook {
  bool colour = false;
  int columns = 0;  // of the terminal; 0: as wide as it takes
};

// Columns a text takes on a terminal: one a code point is enough for what reports print, none for colours.
std::size_t width_of(std::string_view text);

// Lines that are wider are broken at spaces, and go on as far in as they began. What has no space stays whole.
std::string wrapped(std::string_view text, int columns);

// A first row that heads the others, or none.
class TextTable {
 public:
  void row(std::vector<std::string> cells, bool strong = false);
  // One line a row; the first column is followed by one space, the others by three. Strong rows are bold if the look has colour. Where
  // that is wider than the terminal each row is a block instead: its first cells, then "title value" of the others, none of them broken.
  std::string text(const TextLook& look) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool strong;
  };
  std::string blocks(const TextLook& look) const;

  std::vector<Row> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace dvfs_plan
