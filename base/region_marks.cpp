#include "base/region_marks.hpp"

#include <charconv>
#include <cmath>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t longest_line = 4096;
constexpr std::size_t longest_name = 64;
constexpr std::size_t most_marks = 1'000'000;
constexpr std::size_t most_needed_marks = 2 * most_marks;  // outermost regions and the wanted one
constexpr std::size_t most_sums = 10'000;
constexpr std::size_t most_open = 100'000;  // regions at a time, of all processes
constexpr std::size_t most_disbelieved = 10'000;
constexpr std::size_t bad_metrics_kept = 100;
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
  const auto word = next_word(rest), second = next_word(rest), third = next_word(rest);
  const auto fourth = next_word(rest), fifth = next_word(rest), sixth = next_word(rest);
  if (word.empty()) return;
  if (word == "lost") return fourth.empty() ? lost_line(second, text) : complain(text);
  if (word == "ready" && third.empty() && second.size() <= longest_name) {
    ready = true;
    return;
  }
  if (word != "begin" && word != "end" && word != "metric") return complain(text);
  RegionMark mark;
  mark.name = second;
  if (!is_name(mark.name)) return bad_mark(text);
  if (word == "metric") {
    const auto value = parse_number(third);
    const bool two_numbers =
        fourth != "1" && parse_number(fourth).has_value();  // "lat 1 500" is no 1 in units of 500
    const bool is_time = sixth.find_first_not_of("0123456789") == std::string_view::npos;
    if (!value || !std::isfinite(*value) || two_numbers || !is_time || !next_word(rest).empty() ||
        fifth.size() > longest_name) {
      if (bad_metrics.size() < bad_metrics_kept) bad_metrics.insert(mark.name);
      return complain(text);
    }
    mark.kind = RegionMark::Kind::metric;
    mark.value = *value;
    if (fourth != "-") mark.unit = fourth;
    mark.process = fifth;
    return keep_metric(std::move(mark), sixth, now);
  }
  if (!fifth.empty() || fourth.size() > longest_name) return bad_mark(text);
  mark.kind = word == "begin" ? RegionMark::Kind::begin : RegionMark::Kind::end;
  mark.process = fourth;
  keep(std::move(mark), third == "-" ? std::string_view{} : third, now);
}

// It began or ended something, and nobody knows what.
void RegionMarks::bad_mark(std::string_view text) {
  complain(text);
  ++lost;
}

void RegionMarks::lost_line(std::string_view count, std::string_view text) {
  const auto number = parse_number(count);
  if (!number || !(*number >= 1) || *number > 1e15) return complain(text);
  lost += static_cast<std::uint64_t>(*number);
}

void RegionMarks::keep_metric(RegionMark mark, std::string_view time, Nanoseconds now) {
  set_time(mark, time, now);
  if (marks.size() < most_marks) {
    marks.push_back(std::move(mark));
    return;
  }
  const std::pair key{mark.name, mark.unit};
  if (more_metrics.size() >= most_sums && !more_metrics.contains(key)) {
    ++lost;
    return;
  }
  RunningSum& sum = more_metrics[key];
  sum.sum += mark.value;
  sum.last = mark.value;
}

// Follows what is open, and says whether this mark goes into `marks`.
bool RegionMarks::is_kept(const RegionMark& mark) {
  const bool full = marks.size() >= most_marks, overfull = marks.size() >= most_needed_marks;
  if (mark.kind == RegionMark::Kind::begin) {
    const auto process = open_.find(mark.process);
    const bool inside =
        process != open_.end() && (process->second.size() > 1 || !process->second.contains(mark.name));
    const bool needed = wanted_.empty() ? !inside : mark.name == wanted_;
    if ((overfull && needed) || open_count_ >= most_open) {
      ++lost;
      return false;
    }
    const auto [open, is_new] = open_[mark.process].try_emplace(mark.name);
    if (is_new) ++open_count_;
    const bool kept = !full || needed;
    ++(kept ? open->second.kept : open->second.dropped);
    if (!kept) ++others_dropped;
    return kept;
  }
  const auto process = open_.find(mark.process);
  const auto open = process == open_.end() ? OfProcess::iterator{} : process->second.find(mark.name);
  if (process == open_.end() || open == process->second.end()) {
    if (overfull) ++lost;
    return !overfull;  // an end without its beginning: the judge tells
  }
  // The innermost ends first, and it was dropped if any was.
  const bool dropped = open->second.dropped > 0;
  --(dropped ? open->second.dropped : open->second.kept);
  if (open->second.dropped == 0 && open->second.kept == 0) {
    process->second.erase(open);
    if (process->second.empty()) open_.erase(process);
    --open_count_;
  }
  if (dropped) ++others_dropped;
  return !dropped;
}

// As sent, where that can be.
void RegionMarks::set_time(RegionMark& mark, std::string_view time, Nanoseconds now) {
  mark.time = now;
  if (time.empty()) return;
  if (has_our_clock_ && !mark.process.empty() && asked_.size() < most_disbelieved &&
      asked_.insert(mark.process).second && !has_our_clock_(mark.process))
    disbelieved_.insert(mark.process);
  Nanoseconds sent = 0;
  const auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), sent);
  if (error != std::errc{} || end != time.data() + time.size()) {
    complain(time);
  } else if (sent < not_before_ || sent > now) {
    ++not_believed;
    // A clock that is another one: its times that could be are none either.
    if (!mark.process.empty() && disbelieved_.size() < most_disbelieved) disbelieved_.insert(mark.process);
  } else if (disbelieved_.contains(mark.process)) {
    ++not_believed;
  } else {
    mark.time = sent;
    mark.sent = true;
  }
}

void RegionMarks::keep(RegionMark mark, std::string_view time, Nanoseconds now) {
  set_time(mark, time, now);
  if (!mark.sent) all_sent_ = false;
  if (is_kept(mark)) marks.push_back(std::move(mark));
}

}  // namespace dvfs_plan
