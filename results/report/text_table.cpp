#include "results/report/text_table.hpp"

#include <algorithm>
#include <numeric>

namespace dvfs_plan {
namespace {

constexpr std::string_view bold = "\x1b[1m", plain = "\x1b[0m";

std::size_t gap_behind(std::size_t column) {
  return column == 0 ? 1 : 3;
}

std::string styled(const std::string& line, bool strong) {
  return strong ? std::string(bold) + line + std::string(plain) : line;
}

void wrap_line(std::string_view line, std::size_t columns, std::string& text) {
  if (width_of(line) <= columns) {
    text += line;
    return;
  }
  const std::size_t indent = std::min(line.find_first_not_of(' '), columns / 2);
  std::size_t at = 0, width = 0;
  bool first = true;
  while (at < line.size()) {
    // A word with the spaces before it.
    const std::size_t word = line.find_first_not_of(' ', at);
    if (word == std::string_view::npos) break;
    const std::size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view with_spaces = line.substr(at, end - at), alone = line.substr(word, end - word);
    if (!first && width + width_of(with_spaces) > columns) {
      text += '\n' + std::string(indent, ' ');
      text += alone;
      width = indent + width_of(alone);
    } else {
      text += with_spaces;
      width += width_of(with_spaces);
    }
    first = false;
    at = end;
  }
}

}  // namespace

std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\x1b[") {
      i = std::min(text.find('m', i), text.size());
      continue;
    }
    width += (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 ? 1 : 0;
  }
  return width;
}

std::string wrapped(std::string_view text, int columns) {
  if (columns <= 0) return std::string(text);
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    wrap_line(text.substr(at, end - at), static_cast<std::size_t>(columns), result);
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

void TextTable::row(std::vector<std::string> cells, bool strong) {
  widths_.resize(std::max(widths_.size(), cells.size()));
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
  rows_.push_back({std::move(cells), strong});
}

std::string TextTable::text(const TextLook& look) const {
  std::size_t width = 0;
  for (std::size_t i = 0; i < widths_.size(); ++i)
    width += widths_[i] + (i + 1 < widths_.size() ? gap_behind(i) : 0);
  if (look.columns > 0 && width > static_cast<std::size_t>(look.columns) && rows_.size() > 1)
    return blocks(look);
  std::string text;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.cells.size(); ++i)
      line += row.cells[i] + std::string(widths_[i] - width_of(row.cells[i]) + gap_behind(i), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += styled(line, look.colour && row.strong) + "\n";
  }
  return text;
}

std::string TextTable::blocks(const TextLook& look) const {
  constexpr std::string_view indent = "    ";
  const std::vector<std::string>& head = rows_.front().cells;
  const auto most = static_cast<std::size_t>(look.columns);
  std::string text;
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    const Row& row = rows_[r];
    std::string line;
    bool titled = false;  // the first of its cells that has something to say stands alone, before the others
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string& cell = row.cells[i];
      const bool has_title = i < head.size() && head[i].find_first_not_of(' ') != std::string::npos;
      if (!has_title && !titled) {
        // A mark, or a name.
        line += cell + ' ';
        continue;
      }
      if (cell.empty()) continue;
      std::string item = has_title ? head[i] + ' ' + cell : cell;
      if (!titled) {
        line += item;
        titled = true;
        continue;
      }
      const std::size_t begins = line.rfind('\n') == std::string::npos ? 0 : line.rfind('\n') + 1;
      // ", ", the item, and the comma that may follow.
      if (width_of(std::string_view(line).substr(begins)) + 2 + width_of(item) + 1 > most)
        line += ",\n" + std::string(indent) + item;
      else
        line += ", " + item;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += styled(line, look.colour && row.strong) + "\n";
  }
  return text;
}

}  // namespace dvfs_plan
