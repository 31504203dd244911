#include "results/trial/several.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/units.hpp"

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
  std::map<std::string, bool> marks;  // by workload, in any start
  for (const InstanceRecord& one : trial.instances)
    marks[one.workload] = marks[one.workload] || !spans_of_run(regions, one.run).empty();
  std::vector<Span> all, at_once;
  for (const InstanceRecord& one : trial.instances) {
    auto own = spans_of_run(regions, one.run);
    if (!marks[one.workload]) own = {{one.started, one.ended, seconds(one.ended - one.started).value()}};
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

std::map<std::string, ToldMetric> told_metrics(const std::vector<MetricRecord>& metrics, std::size_t at_once,
                                               std::size_t starts) {
  std::map<std::string, std::map<int, const MetricRecord*>> last;  // of each run
  std::map<std::string, ToldMetric> all;
  int last_run = 1;  // that told anything: what it did not tell is not taken from an earlier one
  for (const MetricRecord& metric : metrics) {
    last_run = std::max(last_run, metric.run);
    last[metric.name][metric.run] = &metric;
    all[metric.name].unit = metric.unit;
  }
  for (const auto& [name, runs] : last) {
    ToldMetric& told = all[name];
    told.least = INFINITY;
    told.highest = -INFINITY;
    double sum = 0;
    bool compare = true;
    for (const auto& [run, metric] : runs) {
      if (metric->count_of) {
        const double counted = std::round(metric->value / 100 * *metric->count_of);
        told.count += counted;
        told.of += *metric->count_of;
        if (at_once > 1) {
          // Runs are numbered start by start.
          told.counts_of_copies.resize(at_once);
          auto& [count, of] = told.counts_of_copies[static_cast<std::size_t>(run - 1) % at_once];
          count += counted;
          of += *metric->count_of;
        }
      }
      const bool of_the_last = at_once > 1 ? run > static_cast<int>((starts - 1) * at_once) : run == last_run;
      if (!of_the_last) continue;
      // Of several at once each may tell it in another unit.
      const double factor = unit_factor(metric->unit, told.unit).value_or(0);
      compare = compare && factor != 0;
      const double value = metric->value * factor;
      sum += value;
      told.least = std::min(told.least, value);
      told.highest = std::max(told.highest, value);
      ++told.told;
    }
    if (!compare) told.told = 0;
    told.value = told.told == 1 ? told.least : sum / told.told;
  }
  return all;
}

void set_told(FinishedTrial& trial, const std::map<std::string, ToldMetric>& metrics) {
  for (const auto& [name, told] : metrics) {
    if (told.told == 0) continue;
    trial.other[name] = told.value;
    trial.units_of_other[name] = told.unit;
    if (told.told > 1) trial.extremes_of_other[name] = {told.least, told.highest};
  }
}

std::optional<double> units_told(const std::vector<MetricRecord>& metrics, const std::string& per,
                                 std::optional<int> run) {
  std::optional<double> plain, counts;
  for (const MetricRecord& metric : metrics) {
    if (metric.name != per || (run && metric.run != *run)) continue;
    if (metric.count_of)
      counts = counts.value_or(0) + std::round(metric.value / 100 * *metric.count_of);
    else
      plain = plain.value_or(0) + metric.value;
  }
  return plain ? plain : counts;
}

bool marked_by_whole_workloads(const TrialRecord& trial, const Regions& regions) {
  std::set<int> marked;  // runs
  for (const RegionRecord& region : regions.all) {
    if (region.counted) marked.insert(region.run);
  }
  // By start and workload: how many of its copies, and how many of them marked.
  std::map<std::pair<int, std::string>, std::pair<int, int>> copies;
  std::map<int, bool> any;
  int start = 0;
  for (const InstanceRecord& one : trial.instances) {
    if (one.instance == 1) ++start;
    auto& [all, with_marks] = copies[{start, one.workload}];
    ++all;
    with_marks += marked.contains(one.run) ? 1 : 0;
    any[start] = any[start] || marked.contains(one.run);
  }
  return !copies.empty() && std::all_of(copies.begin(), copies.end(), [](const auto& entry) {
    return entry.second.second == 0 || entry.second.second == entry.second.first;
  }) && std::all_of(any.begin(), any.end(), [](const auto& entry) { return entry.second; });
}

void judge_instances(TrialRecord& trial, const Regions& regions,
                     const std::map<std::string, std::string>& per_of_workload) {
  if (trial.instances.empty()) return;
  for (InstanceRecord& one : trial.instances) {
    const auto spans = spans_of_run(regions, one.run);
    if (!spans.empty()) one.region_s = counted_seconds(spans);
    const auto per = per_of_workload.find(one.workload);
    if (per != per_of_workload.end() && !per->second.empty())
      one.units = units_told(trial.metrics, per->second, one.run);
  }
  trial.all_running_s = counted_seconds(all_running(trial, regions));
}

}  // namespace dvfs_plan
