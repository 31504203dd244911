#include "results/report/text_table.hpp"

#include <algorithm>

namespace dvfs_plan {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void TextTable::row(std::vector<std::string> cells, bool strong) {
  widths_.resize(std::max(widths_.size(), cells.size()));
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
  rows_.push_back({std::move(cells), strong});
}

std::string TextTable::text(bool colour) const {
  std::string text;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      line += row.cells[i] + std::string(widths_[i] - width_of(row.cells[i]) + (i == 0 ? 1 : 3), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += (colour && row.strong ? "\x1b[1m" + line + "\x1b[0m" : line) + "\n";
  }
  return text;
}

}  // namespace dvfs_plan
