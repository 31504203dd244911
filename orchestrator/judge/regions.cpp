#include "orchestrator/judge/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// The marks of one run: pairs of begin and end by name; a name's regions may hold others, not itself.
class RunReader {
 public:
  using Complaints =
      std::map<std::string, std::pair<std::string, unsigned>>;  // kind -> first message, how many others
  RunReader(const MarkedRun& run, int number, Regions& into, Complaints& complaints)
      : run_(run), number_(number), into_(into), complaints_(complaints) {}

  void read() {
    for (const RegionMark& mark : run_.marks.marks) {
      if (mark.kind == RegionMark::Kind::begin)
        begin(mark);
      else if (mark.kind == RegionMark::Kind::end)
        end(mark);
      else
        into_.metrics.push_back({mark.name, mark.value, mark.unit});
    }
    for (const auto& [name, index] : open_) {
      complain("region_open", fmt::format("region '{}' was begun and not ended; it is left out", name));
      dropped_.insert(index);
    }
    std::vector<RegionRecord> kept;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!dropped_.contains(i)) kept.push_back(found_[i]);
    }
    into_.all.insert(into_.all.end(), kept.begin(), kept.end());
    const RegionMarks& marks = run_.marks;
    if (marks.bad > 0)
      complain("region_protocol", fmt::format("{} line{} on DVFS_PLAN_REGION_FD cannot be read, first '{}'",
                                              marks.bad, marks.bad == 1 ? "" : "s", marks.bad_lines.front()));
    if (marks.not_believed > 0)
      complain("region_time", fmt::format("{} mark{} brought a time outside the trial; the arrival was taken",
                                          marks.not_believed, marks.not_believed == 1 ? "" : "s"));
    if (marks.dropped > 0)
      complain("regions_dropped",
               fmt::format("{} marks more than are kept; they are left out", marks.dropped));
  }

 private:
  void begin(const RegionMark& mark) {
    if (open_.contains(mark.name)) {
      complain("region_nested",
               fmt::format("region '{}' was begun inside itself; the inner mark is left out", mark.name));
      return;
    }
    open_[mark.name] = found_.size();
    found_.push_back({mark.name, number_, mark.time, mark.time, false, {}});
  }

  void end(const RegionMark& mark) {
    const auto open = open_.find(mark.name);
    if (open == open_.end()) {
      complain("region_not_begun",
               fmt::format("region '{}' was ended and not begun; the mark is left out", mark.name));
      return;
    }
    RegionRecord& region = found_[open->second];
    region.ended = std::max(mark.time, region.started);
    open_.erase(open);
  }

  // One event a kind, with how many more there were: a workload may make a million mistakes.
  void complain(const std::string& kind, const std::string& message) {
    const auto [first, is_new] = complaints_.emplace(kind, std::pair{message, 0U});
    if (!is_new && first->second.first != message) ++first->second.second;
  }

  const MarkedRun& run_;
  int number_;
  Regions& into_;
  Complaints& complaints_;
  std::vector<RegionRecord> found_;
  std::map<std::string, std::size_t> open_;
  std::set<std::size_t> dropped_;
};

// Marks what no other region of its run encloses; false if a run has none. `regions` are in the order of
// their beginnings.
bool mark_outermost(std::vector<RegionRecord>& regions, std::size_t runs) {
  std::vector<Nanoseconds> covered_until(runs + 1, INT64_MIN);
  for (RegionRecord& region : regions) {
    Nanoseconds& covered = covered_until[static_cast<std::size_t>(region.run)];
    region.counted = region.ended > covered;
    covered = std::max(covered, region.ended);
  }
  return std::none_of(covered_until.begin() + 1, covered_until.end(),
                      [](Nanoseconds t) { return t == INT64_MIN; });
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

}  // namespace

Regions find_regions(std::span<const MarkedRun> runs, const std::string& wanted) {
  Regions regions;
  RunReader::Complaints complaints;
  int number = 0;
  for (const MarkedRun& run : runs) RunReader(run, ++number, regions, complaints).read();
  for (const auto& [kind, told] : complaints) {
    regions.events.push_back({kind, told.second == 0
                                        ? told.first
                                        : fmt::format("{} (and {} more like it)", told.first, told.second)});
  }
  std::stable_sort(regions.all.begin(), regions.all.end(), [](const RegionRecord& a, const RegionRecord& b) {
    return a.started != b.started ? a.started < b.started : a.ended > b.ended;
  });
  const bool any = !regions.all.empty();
  if (!wanted.empty())
    regions.missing = !mark_named(regions.all, runs.size(), wanted);
  else if (any)
    regions.missing = !mark_outermost(regions.all, runs.size());
  std::vector<std::string> names;
  for (const RegionRecord& region : regions.all) {
    if (region.counted && std::find(names.begin(), names.end(), region.name) == names.end())
      names.push_back(region.name);
  }
  regions.name = join(names, " + ");
  if (wanted.empty() && names.size() > 1)
    regions.events.push_back(
        {"several_regions", fmt::format("the regions {} count together; `measure: {{region: {}}}` "
                                        "would take one",
                                        join(names, ", "), names.front())});
  // A kept outermost region holds what was dropped inside it; single steps that were dropped are lost.
  const bool dropped =
      std::any_of(runs.begin(), runs.end(), [](const MarkedRun& r) { return r.marks.dropped > 0; });
  constexpr std::ptrdiff_t many = 1000;
  regions.incomplete = dropped && std::count_if(regions.all.begin(), regions.all.end(),
                                                [](const RegionRecord& r) { return r.counted; }) >= many;
  if (any || !wanted.empty()) return regions;
  number = 0;
  for (const MarkedRun& run : runs) regions.all.push_back({"", ++number, run.started, run.ended, true, {}});
  return regions;
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
