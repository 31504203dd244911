// What a workload says about itself while it runs: lines written to the FIFO that DVFS_PLAN_REGIONS names.
//
//   begin NAME [NANOSECONDS|- [PROCESS]]    NANOSECONDS of CLOCK_MONOTONIC, if it takes its own time stamps
//   end NAME [NANOSECONDS|- [PROCESS]]
//   metric NAME VALUE [UNIT|- [PROCESS [NANOSECONDS]]]
//   lost COUNT [PROCESS]                    marks that could not be written
//   ready [PROCESS]                         it waits for others that run beside it (start_gate.hpp)
//
// A name is one word of at most 64 characters. PROCESS says who marks: "4711", or "4711/3" for rank 3; marks
// of different processes are paired apart. experiments/regions/ has a C/C++ header, a Python module and shell
// functions. Lines of up to PIPE_BUF (4096) bytes are written whole (pipe(7)), so processes do not mix them.
#pragma once

#include <functional>
#include <map>
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
  std::string process;  // "4711", "4711/3"; empty: the mark does not say
};

// Turns bytes as they arrive into marks. Bad lines are kept, a few of them, and lose nothing else.
//
// Memory is bounded. Up to a million marks are kept; beyond that, metrics become a running sum a name, and of
// regions only those that are needed are kept, up to a second million: those named `wanted`, or, where none
// is, the outermost. The others are counted (`others_dropped`). What is needed beyond that, and marks that
// cannot be read, are counted in `lost`, and a trial with lost marks does not count.
class RegionMarks {
 public:
  // Times before `not_before` or after a line's arrival are not believed, nor later ones of a process that its marks name: the arrival is taken.
  RegionMarks() = default;
  explicit RegionMarks(Nanoseconds not_before, std::string wanted = {})
      : not_before_(not_before), wanted_(std::move(wanted)) {}
  // Asked once of each process that brings times: false, and none of its times is believed.
  void believe_only(std::function<bool(const std::string& process)> has_our_clock) {
    has_our_clock_ = std::move(has_our_clock);
  }

  void feed(std::string_view bytes, Nanoseconds now);
  void finish(Nanoseconds now);  // a last line without its newline

  // Whether every mark so far brought its time: then nothing is lost by looking seldom.
  bool all_sent() const { return all_sent_ && !marks.empty(); }

  std::vector<RegionMark> marks;
  bool ready = false;  // it has announced that it is, once or more
  // Metrics beyond those kept: the sum and the last value of each, by name and unit.
  struct RunningSum {
    double sum = 0, last = 0;
  };
  std::map<std::pair<std::string, std::string>, RunningSum> more_metrics;
  std::vector<std::string> bad_lines;  // the first few
  std::uint64_t bad = 0;               // all of them
  std::uint64_t others_dropped = 0;    // marks of regions that are not needed, beyond what is kept
  std::uint64_t lost = 0;              // marks that could not be written, read or kept
  std::set<std::string> bad_metrics;   // names whose value could not be read; the first few
  std::uint64_t not_believed = 0;      // times that cannot be, or of a clock that is another one

 private:
  void line(std::string_view text, Nanoseconds now);
  void lost_line(std::string_view count, std::string_view text);
  void keep(RegionMark mark, std::string_view time, Nanoseconds now);
  void keep_metric(RegionMark mark, std::string_view time, Nanoseconds now);
  void set_time(RegionMark& mark, std::string_view time, Nanoseconds now);
  bool is_kept(const RegionMark& mark);
  void complain(std::string_view text);
  void bad_mark(std::string_view text);

  Nanoseconds not_before_ = 0;
  std::string wanted_;
  std::string rest_;
  // By process and name: how many are open, and how many of them were dropped.
  struct Open {
    std::uint64_t kept = 0, dropped = 0;
  };
  using OfProcess = std::map<std::string, Open>;
  std::map<std::string, OfProcess> open_;
  std::size_t open_count_ = 0;
  bool all_sent_ = true;
  std::function<bool(const std::string& process)> has_our_clock_;
  std::set<std::string> asked_, disbelieved_;  // processes
  bool skipping_ = false;                      // inside a line that is too long
};

}  // namespace dvfs_plan
