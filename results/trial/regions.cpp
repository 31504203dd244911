#include "results/trial/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// One event a kind, with how many more there were: a workload may make a million mistakes.
class Complaints {
 public:
  void add(const std::string& kind, const std::string& message) {
    const auto [first, is_new] = told_.emplace(kind, std::pair{message, 0U});
    if (!is_new && first->second.first != message) ++first->second.second;
  }
  void into(std::vector<EventRecord>& events) const {
    for (const auto& [kind, told] : told_) {
      events.push_back({kind, told.second == 0
                                  ? told.first
                                  : fmt::format("{} (and {} more like it)", told.first, told.second)});
    }
  }

 private:
  std::map<std::string, std::pair<std::string, unsigned>> told_;  // kind -> first message, how many others
};

// A mark without its other half.
struct Unpaired {
  std::string name, process;
  int run;
  Nanoseconds time;
  bool begun;  // and not ended; else ended and not begun
};

std::string plural(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// The marks of one run: pairs of begin and end by process and name.
class RunReader {
 public:
  RunReader(const MarkedRun& run, int number, Regions& into, std::vector<Unpaired>& unpaired,
            Complaints& complaints)
      : run_(run), number_(number), into_(into), unpaired_(unpaired), complaints_(complaints) {}

  void read() {
    for (const RegionMark& mark : run_.marks.marks) {
      if (mark.kind == RegionMark::Kind::begin)
        begin(mark);
      else if (mark.kind == RegionMark::Kind::end)
        end(mark);
      else
        into_.metrics.push_back({mark.name, mark.value, mark.unit, number_, mark.time, {}, {}, {}});
    }
    // Of many values the sum counts units, and the last is what a constraint is about.
    for (const auto& [key, sum] : run_.marks.more_metrics) {
      into_.metrics.push_back({key.first, sum.sum - sum.last, key.second, number_, {}, {}, {}, {}});
      into_.metrics.push_back({key.first, sum.last, key.second, number_, {}, {}, {}, {}});
    }
    for (const auto& [key, open] : open_)
      unpaired_.push_back({key.second, key.first, number_, open.begun, true});
    tell_what_was_left();
  }

 private:
  void begin(const RegionMark& mark) {
    Open& open = open_[{mark.process, mark.name}];
    if (++open.depth == 1) {
      open.begun = mark.time;
      return;
    }
    complaints_.add(
        "region_nested",
        fmt::format("region '{}' was begun inside itself by {}; the outer stretch counts{}", mark.name,
                    process_text(mark.process),
                    mark.process.empty() ? ": marks of several processes must say whose they are" : ""));
  }

  void end(const RegionMark& mark) {
    const auto found = open_.find({mark.process, mark.name});
    if (found == open_.end()) {
      unpaired_.push_back({mark.name, mark.process, number_, mark.time, false});
      return;
    }
    Open& open = found->second;
    if (--open.depth > 0) return;
    into_.all.push_back(
        {mark.name, number_, open.begun, std::max(mark.time, open.begun), false, {}, mark.process});
    open_.erase(found);
  }

  void tell_what_was_left() {
    const RegionMarks& marks = run_.marks;
    if (marks.bad > 0)
      complaints_.add("region_protocol", fmt::format("{} on DVFS_PLAN_REGIONS cannot be read, first '{}'",
                                                     plural(marks.bad, "line"), marks.bad_lines.front()));
    if (marks.not_believed > 0)
      complaints_.add(
          "region_time",
          fmt::format("{} brought a time of another clock (before the trial, after it, or of a time "
                      "namespace of its own); the arrival was taken",
                      plural(marks.not_believed, "mark")));
    if (marks.others_dropped > 0)
      complaints_.add("other_marks_dropped", fmt::format("{} of regions that do not count are more than are "
                                                         "kept: of those regions only the first ones have "
                                                         "times; what counts is known whole",
                                                         plural(marks.others_dropped, "mark")));
    into_.bad_metrics.insert(marks.bad_metrics.begin(), marks.bad_metrics.end());
    for (const std::string& name : marks.bad_metrics)
      complaints_.add("bad_metric", fmt::format("a value of metric '{}' cannot be read", name));
  }

  struct Open {
    std::uint64_t depth = 0;
    Nanoseconds begun = 0;
  };
  const MarkedRun& run_;
  int number_;
  Regions& into_;
  std::vector<Unpaired>& unpaired_;
  Complaints& complaints_;
  std::map<std::pair<std::string, std::string>, Open> open_;  // by process and name
};

// Marks what no other region of its run encloses, and what lies in one of its own name (another rank's);
// false if a run has none. `regions` are in the order of their beginnings.
bool mark_outermost(std::vector<RegionRecord>& regions, std::size_t runs) {
  struct Covered {
    Nanoseconds until = INT64_MIN;
    std::string name;  // of the region that reaches so far
  };
  std::vector<Covered> covered(runs + 1);
  for (RegionRecord& region : regions) {
    Covered& here = covered[static_cast<std::size_t>(region.run)];
    region.counted = region.ended > here.until || region.name == here.name;
    if (region.ended > here.until) here = {region.ended, region.name};
  }
  return std::none_of(covered.begin() + 1, covered.end(),
                      [](const Covered& c) { return c.until == INT64_MIN; });
}

// False if a run has none of that name.
bool mark_named(std::vector<RegionRecord>& regions, std::size_t runs, const std::string& name) {
  std::set<int> found;
  for (RegionRecord& region : regions) {
    if (region.name != name) continue;
    region.counted = true;
    found.insert(region.run);
  }
  return found.size() == runs;
}

std::string unpaired_text(const Unpaired& mark) {
  return fmt::format("region '{}' was {} by {}", mark.name,
                     mark.begun ? "begun and not ended" : "ended and not begun", process_text(mark.process));
}

// Whether what counts depends on a mark's other half: it is of a name that counts, or lies outside all that
// counts, where it may have been outermost.
class Matters {
 public:
  Matters(const Regions& regions, const std::unordered_set<std::string>& names, const std::string& wanted)
      : names_(names), wanted_(wanted), spans_(counted_spans(regions, 0)) {}
  bool operator()(const Unpaired& mark) const {
    if (!wanted_.empty()) return mark.name == wanted_;
    if (names_.contains(mark.name)) return true;
    const auto behind = std::upper_bound(spans_.begin(), spans_.end(), mark.time,
                                         [](Nanoseconds time, const Span& span) { return time < span.from; });
    return behind == spans_.begin() || mark.time > std::prev(behind)->to;
  }

 private:
  const std::unordered_set<std::string>& names_;
  const std::string& wanted_;
  std::vector<Span> spans_;
};

void judge_unpaired(const std::vector<Unpaired>& unpaired, const Matters& matters, Regions& regions,
                    Complaints& complaints) {
  std::uint64_t more = 0;
  for (const Unpaired& mark : unpaired) {
    if (!matters(mark))
      complaints.add("region_unpaired", unpaired_text(mark) + "; it lies inside what counts");
    else if (regions.unpaired.empty())
      regions.unpaired = unpaired_text(mark);
    else
      ++more;
  }
  if (more > 0) regions.unpaired += fmt::format(" (and {} more like it)", more);
}

}  // namespace

std::string process_text(const std::string& process) {
  if (process.empty()) return "a process that does not say which";
  const auto slash = process.find('/');
  return slash == std::string::npos
             ? "process " + process
             : fmt::format("rank {} (process {})", process.substr(slash + 1), process.substr(0, slash));
}

Regions find_regions(std::span<const MarkedRun> runs, const std::string& wanted) {
  Regions regions;
  Complaints complaints;
  std::vector<Unpaired> unpaired;
  int number = 0;
  std::uint64_t lost = 0;
  for (const MarkedRun& run : runs) {
    RunReader(run, ++number, regions, unpaired, complaints).read();
    lost += run.marks.lost;
    if (regions.lost.empty()) regions.lost = run.told_lost;
  }
  std::stable_sort(regions.all.begin(), regions.all.end(), [](const RegionRecord& a, const RegionRecord& b) {
    return a.started != b.started ? a.started < b.started : a.ended > b.ended;
  });
  const bool any = !regions.all.empty();
  if (!wanted.empty())
    regions.missing = !mark_named(regions.all, runs.size(), wanted);
  else if (any)
    regions.missing = !mark_outermost(regions.all, runs.size());
  // In the order of their beginnings; a workload may give each step a name of its own.
  constexpr std::size_t most_told = 5;
  std::vector<std::string> told;
  std::unordered_set<std::string> names;
  for (const RegionRecord& region : regions.all) {
    if (region.counted && names.insert(region.name).second && told.size() < most_told)
      told.push_back(region.name);
  }
  const std::string more =
      names.size() > most_told ? fmt::format(" and {} more", names.size() - most_told) : "";
  regions.name = join(told, " + ") + more;
  judge_unpaired(unpaired, Matters(regions, names, wanted), regions, complaints);
  complaints.into(regions.events);
  if (lost > 0 && regions.lost.empty()) regions.lost = plural(lost, "mark") + " could not be written or kept";
  if (wanted.empty() && names.size() > 1)
    regions.events.push_back(
        {"several_regions", fmt::format("the regions {} count together; `measure: {{region: {}}}` "
                                        "would take one",
                                        join(told, ", ") + more, told.front())});
  if (any || !wanted.empty()) return regions;
  number = 0;
  for (const MarkedRun& run : runs)
    regions.all.push_back({"", ++number, run.started, run.ended, true, {}, {}});
  return regions;
}

void end_counting_at(Regions& regions, Nanoseconds time) {
  std::vector<RegionRecord> behind;
  for (RegionRecord& region : regions.all) {
    if (!region.counted || region.ended <= time) continue;
    if (region.started >= time) {
      region.counted = false;
      continue;
    }
    behind.push_back(region);
    behind.back().started = time;
    behind.back().counted = false;
    region.ended = time;
  }
  regions.all.insert(regions.all.end(), behind.begin(), behind.end());
  std::stable_sort(regions.all.begin(), regions.all.end(),
                   [](const RegionRecord& a, const RegionRecord& b) { return a.started < b.started; });
}

double counted_seconds(std::span<const Span> spans) {
  double sum = 0;
  for (const Span& span : spans) sum += span.counted_s;
  return sum;
}

std::vector<Span> counted_spans(const Regions& regions, Nanoseconds gap) {
  std::vector<Span> spans;
  for (const RegionRecord& region : regions.all) {
    if (!region.counted || region.ended <= region.started) continue;
    if (spans.empty() || region.started > spans.back().to + gap) {
      spans.push_back({region.started, region.ended, seconds(region.ended - region.started).value()});
      continue;
    }
    // What overlaps counts once.
    const Nanoseconds fresh_from = std::max(region.started, spans.back().to);
    if (region.ended > fresh_from) spans.back().counted_s += seconds(region.ended - fresh_from).value();
    spans.back().to = std::max(spans.back().to, region.ended);
  }
  return spans;
}

}  // namespace dvfs_plan
