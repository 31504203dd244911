// What is said of each of those that ran at once in a trial, and of the time in which all of them ran. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/trial/regions.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

// The stretches in which all that ran at once were in what counts of theirs: of each start of all of them together, the part that
// is in each one's own stretches; one whose workload marks nothing of what counts is in it from its start to its end. Empty where one ran alone.
std::vector<Span> all_running(const TrialRecord& trial, const Regions& regions);

// Fills what counts of each of `trial.instances`, its units of work by what counts those of its workload (none where that is empty), and
// `trial.all_running_s`.
void judge_instances(TrialRecord& trial, const Regions& regions,
                     const std::map<std::string, std::string>& per_of_workload);

// Whether the runs that marked something are, at each start, all copies of the same workloads: then the others do not mark, and what
// counts is what these do. False where nothing ran at once.
bool marked_by_whole_workloads(const TrialRecord& trial, const Regions& regions);

// What a trial says of a metric: the last value of its last run; of several at once the mean of what each of the last start told last, and the
// least and highest of them: a constraint must hold for the worst. Of counts, all that was counted, and what it is of.
struct ToldMetric {
  double value = 0, least = 0, highest = 0;
  std::string unit;
  double count = 0, of = 0;  // 0: none came as a count
  int told = 0;              // by how many of those at once
  // Of several at once the same of each, by its place among them; 0 of 0: it told none.
  std::vector<std::pair<double, double>> counts_of_copies = {};
};
// `at_once`: how many run at once; `starts`: how often they did.
std::map<std::string, ToldMetric> told_metrics(const std::vector<MetricRecord>& metrics, std::size_t at_once,
                                               std::size_t starts);
// For a search: what its constraints may name.
void set_told(FinishedTrial& trial, const std::map<std::string, ToldMetric>& metrics);

// The sum of a metric over all of a trial, or over one run of it: of counts ("8712 of 10000") the counts, unless the name also comes as a plain
// number, of which they are the progress. nullopt: it was not told.
std::optional<double> units_told(const std::vector<MetricRecord>& metrics, const std::string& per,
                                 std::optional<int> run = {});

}  // namespace dvfs_plan
