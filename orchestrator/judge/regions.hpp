// Marks of a workload into the stretches of time that count. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/region_marks.hpp"
#include "results/store/trial_record.hpp"

namespace dvfs_plan {

struct MarkedRun {
  Nanoseconds started = 0, ended = 0;
  RegionMarks marks;
};

struct Regions {
  std::vector<RegionRecord> all;  // in the order of their beginnings; `counted` is set
  std::string name;  // of what counts: a region's, several joined by " + ", '' for the whole process
  std::vector<MetricRecord> metrics;
  std::vector<EventRecord> events;  // marks that make no sense
  bool missing = false;             // a run marked nothing of what counts in others
  bool incomplete = false;          // more marks than are kept: what counts may be among those left out
};

// `wanted`: the region that counts; empty: the outermost marked ones, or the whole process if none is.
Regions find_regions(std::span<const MarkedRun> runs, const std::string& wanted);
inline Regions find_regions(const std::vector<MarkedRun>& runs, const std::string& wanted) {
  return find_regions(std::span<const MarkedRun>(runs), wanted);
}

// The counted stretches as disjoint spans in time order; those less than `gap` apart are joined.
struct Span {
  Nanoseconds from = 0, to = 0;
  double counted_s = 0;  // without the gaps inside
};
std::vector<Span> counted_spans(const Regions& regions, Nanoseconds gap);

}  // namespace dvfs_plan
