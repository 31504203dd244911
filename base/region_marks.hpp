// What a workload says about itself while it runs: lines on the descriptor that DVFS_PLAN_REGION_FD names.
//
//   begin NAME [NANOSECONDS]        NANOSECONDS of CLOCK_MONOTONIC, if the workload takes its own time stamps
//   end NAME [NANOSECONDS]
//   metric NAME VALUE [UNIT]
//
// A name is one word of at most 64 characters. experiments/regions/ has a C/C++ header and a Python module.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace dvfs_plan {

struct RegionMark {
  enum class Kind { begin, end, metric };
  Kind kind = Kind::begin;
  std::string name;
  Nanoseconds time = 0;  // as sent, or when the line arrived
  bool sent = false;
  double value = 0;  // metrics
  std::string unit;
};

// Turns bytes as they arrive into marks. Bad lines are kept, a few of them, and lose nothing else.
class RegionMarks {
 public:
  // Times before `not_before` or after a line's arrival are not believed: its arrival is taken.
  RegionMarks() = default;
  explicit RegionMarks(Nanoseconds not_before) : not_before_(not_before) {}

  void feed(std::string_view bytes, Nanoseconds now);
  void finish(Nanoseconds now);  // a last line without its newline

  // Whether every mark so far brought its time: then nothing is lost by looking seldom.
  bool all_sent() const { return all_sent_ && !marks.empty(); }

  std::vector<RegionMark> marks;
  std::vector<std::string> bad_lines;  // the first few
  std::uint64_t bad = 0;               // all of them
  std::uint64_t dropped = 0;           // marks beyond what is kept
  std::uint64_t not_believed = 0;      // times that cannot be

 private:
  void line(std::string_view text, Nanoseconds now);
  void keep(RegionMark mark, std::string_view time, Nanoseconds now);
  void complain(std::string_view text);

  Nanoseconds not_before_ = 0;
  std::string rest_;
  std::set<std::string> open_;  // names that were begun and not ended
  std::size_t late_metrics_ = 0;
  bool all_sent_ = true;
  bool skipping_ = false;  // inside a line that is too long
};

}  // namespace dvfs_plan
