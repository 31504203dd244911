// Marks of a workload into the stretches of time that count. Pure.
//
// A region is what lies between a begin and the end that pairs with it: of the same name and the same
// process. Several processes (ranks) that mark one name are inside it together: what counts is the union of
// their stretches, once; a pause in which none of them is inside is nobody's. A name begun inside itself is
// one stretch, the outer.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/region_marks.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

struct MarkedRun {
  Nanoseconds started = 0, ended = 0;
  RegionMarks marks;
  std::string told_lost = {};  // what the workload printed of marks that it could not write
};
// Cuts what counts at a time: what lies behind it counts no more.
struct Regions;
void end_counting_at(Regions& regions, Nanoseconds time);

struct Regions {
  std::vector<RegionRecord> all;  // in the order of their beginnings; `counted` is set
  std::string name;  // of what counts: a region's, several joined by " + ", '' for the whole process
  std::vector<MetricRecord> metrics;
  std::set<std::string> bad_metrics;  // of which a value could not be read: their sum is not known
  std::vector<EventRecord> events;    // marks that make no sense
  bool missing = false;               // a run marked nothing of what counts in others
  // Why what counts is not known, by what the marks say; empty if it is.
  std::string unpaired;  // a begin without its end, or an end without its begin
  std::string lost;      // marks that were not written, or not kept
};

// `wanted`: the region that counts; empty: the outermost marked ones, or the whole process if none is.
Regions find_regions(std::span<const MarkedRun> runs, const std::string& wanted);
inline Regions find_regions(const std::vector<MarkedRun>& runs, const std::string& wanted) {
  return find_regions(std::span<const MarkedRun>(runs), wanted);
}

// "process 4711", "rank 3 (process 4711)", "a process that does not say which".
std::string process_text(const std::string& process);

// The counted stretches as disjoint spans in time order; those less than `gap` apart are joined.
struct Span {
  Nanoseconds from = 0, to = 0;
  double counted_s = 0;  // without the gaps inside
};
std::vector<Span> counted_spans(const Regions& regions, Nanoseconds gap);
// All that counts in them, s.
double counted_seconds(std::span<const Span> spans);

}  // namespace dvfs_plan
