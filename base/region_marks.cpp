#include "base/region_marks.hpp"

#include <charconv>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t longest_name = 64;
constexpr std::size_t most_marks = 1'000'000;
constexpr std::size_t most_late_metrics = 10'000;
constexpr std::size_t bad_lines_kept = 5;

std::string_view next_word(std::string_view& text) {
  const auto start = std::min(text.find_first_not_of(" \t\r"), text.size());
  const auto end = std::min(text.find_first_of(" \t\r", start), text.size());
  const auto word = text.substr(start, end - start);
  text.remove_prefix(end);
  return word;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && printable(std::string(name)) == name;
}

}  // namespace

void RegionMarks::feed(std::string_view bytes, Nanoseconds now) {
  while (!bytes.empty()) {
    const auto newline = bytes.find('\n');
    if (newline == std::string_view::npos) {
      if (rest_.size() + bytes.size() > longest_line) {
        if (!skipping_) complain(rest_.empty() ? bytes : rest_);
        skipping_ = true;
        rest_.clear();
      } else if (!skipping_) {
        rest_.append(bytes);
      }
      return;
    }
    if (skipping_) {
      skipping_ = false;
    } else if (rest_.empty()) {
      line(bytes.substr(0, newline), now);
    } else {
      rest_.append(bytes.substr(0, newline));
      line(rest_, now);
    }
    rest_.clear();
    bytes.remove_prefix(newline + 1);
  }
}

void RegionMarks::finish(Nanoseconds now) {
  if (!rest_.empty()) line(rest_, now);
  rest_.clear();
}

void RegionMarks::complain(std::string_view text) {
  ++bad;
  if (bad_lines.size() < bad_lines_kept) bad_lines.push_back(printable(std::string(text.substr(0, 120))));
}

void RegionMarks::line(std::string_view text, Nanoseconds now) {
  std::string_view rest = text;
  const auto word = next_word(rest);
  if (word.empty()) return;
  RegionMark mark;
  mark.name = next_word(rest);
  const auto third = next_word(rest), fourth = next_word(rest);
  const bool no_more = next_word(rest).empty();
  if (word == "metric") {
    const auto value = parse_number(third);
    if (!is_name(mark.name) || !value || !no_more) return complain(text);
    mark.kind = RegionMark::Kind::metric;
    mark.value = *value;
    mark.unit = fourth;
    return keep(std::move(mark), {}, now);
  }
  if ((word != "begin" && word != "end") || !is_name(mark.name) || !fourth.empty()) return complain(text);
  mark.kind = word == "begin" ? RegionMark::Kind::begin : RegionMark::Kind::end;
  keep(std::move(mark), third, now);
}

void RegionMarks::keep(RegionMark mark, std::string_view time, Nanoseconds now) {
  // Beyond the cap: what closes a region that was kept, and numbers, still matter.
  const bool closes = mark.kind == RegionMark::Kind::end && open_.erase(mark.name) > 0;
  if (marks.size() >= most_marks) {
    const bool number = mark.kind == RegionMark::Kind::metric && ++late_metrics_ <= most_late_metrics;
    if (!closes && !number) {
      ++dropped;
      return;
    }
  } else if (mark.kind == RegionMark::Kind::begin) {
    open_.insert(mark.name);
  }
  mark.time = now;
  if (!time.empty()) {
    Nanoseconds sent = 0;
    const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), sent);
    if (error != std::errc{} || end != time.data() + time.size()) {
      complain(time);
    } else if (sent < not_before_ || sent > now) {
      ++not_believed;
    } else {
      mark.time = sent;
      mark.sent = true;
    }
  }
  if (mark.kind != RegionMark::Kind::metric && !mark.sent) all_sent_ = false;
  marks.push_back(std::move(mark));
}

}  // namespace dvfs_plan
