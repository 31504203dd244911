#include "results/trial/several.hpp"

#include <algorithm>
#include <map>

namespace dvfs_plan {
namespace {

std::vector<Span> spans_of_run(const Regions& regions, int run) {
  Regions own;
  for (const RegionRecord& region : regions.all) {
    if (region.run == run) own.all.push_back(region);
  }
  return counted_spans(own, 0);
}

// Both are disjoint and in time order.
std::vector<Span> in_both(const std::vector<Span>& a, const std::vector<Span>& b) {
  std::vector<Span> both;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Nanoseconds from = std::max(a[i].from, b[j].from), to = std::min(a[i].to, b[j].to);
    if (from < to) both.push_back({from, to, seconds(to - from).value()});
    (a[i].to < b[j].to ? i : j)++;
  }
  return both;
}

}  // namespace

std::vector<Span> all_running(const TrialRecord& trial, const Regions& regions) {
  std::vector<Span> all, at_once;
  for (const InstanceRecord& one : trial.instances) {
    const auto own = spans_of_run(regions, one.run);
    if (one.instance == 1) {
      all.insert(all.end(), at_once.begin(), at_once.end());
      at_once = own;
    } else {
      at_once = in_both(at_once, own);
    }
  }
  all.insert(all.end(), at_once.begin(), at_once.end());
  return all;
}

void judge_instances(TrialRecord& trial, const Regions& regions, const std::string& per) {
  if (trial.instances.empty()) return;
  std::map<int, double> units;
  for (const MetricRecord& metric : trial.metrics) {
    if (metric.name == per) units[metric.run] += metric.value;
  }
  for (InstanceRecord& one : trial.instances) {
    const auto spans = spans_of_run(regions, one.run);
    if (!spans.empty()) {
      one.region_s = 0;
      for (const Span& span : spans) *one.region_s += span.counted_s;
    }
    const auto found = units.find(one.run);
    if (!per.empty() && found != units.end()) one.units = found->second;
  }
  trial.all_running_s = 0;
  for (const Span& span : all_running(trial, regions)) *trial.all_running_s += span.counted_s;
}

}  // namespace dvfs_plan
