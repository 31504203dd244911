// Runs the work of a trial: its command, or several at once, again until what counts is long enough.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/acting_as.hpp"
#include "experiments/plan/work_files.hpp"
#include "orchestrator/run/local_machine.hpp"
#include "results/trial/bounded_metrics.hpp"
#include "results/trial/regions.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class WorkRunner {
 public:
  explicit WorkRunner(LocalMachine& machine) : machine_(machine), plan_(machine.plan) {}

  // Fills child, runs, instances, metrics and events of `trial`. False on interruption.
  bool run(const PlanPoint& point, TrialRecord& trial);
  // What each run of the last trial marked.
  std::vector<MarkedRun> take_runs() { return std::move(marked_); }

 private:
  struct Totals;
  enum class Once { went_on, interrupted, not_launched };

  bool run_until_enough(const PlanPoint& point, TrialRecord& trial);
  Once run_once(const PlanPoint& point, const std::vector<Instance>& instances, TrialRecord& trial,
                Totals& all);
  void keep(const Instance& instance, ChildResult& result, TrialRecord& trial);
  void keep_instance(const Instance& instance, std::size_t place, const ChildResult& result,
                     TrialRecord& trial) const;
  LaunchSpec launch_spec(const PlanPoint& point, const Instance& instance, int block, bool alone) const;
  const WorkloadSpec& spec_of(const Instance& instance) const {
    return plan_.workloads[static_cast<std::size_t>(instance.workload)].spec;
  }
  void tell_guard_of_traces();

  using FilesBefore = std::map<std::string, std::optional<FileIdentity>>;
  std::string metric_path(const WorkloadSpec& workload, const MetricRule& rule) const;
  std::optional<FileOwner> writer_of(const WorkloadSpec& workload) const;
  FilesBefore metric_files(const WorkloadSpec& workload) const;
  // Returns whether one of them counts units of work.
  bool read_metric_files(const WorkloadSpec& workload, const FilesBefore& before, TrialRecord& trial);
  bool tells_units(const ChildResult& child, const MarkedRun& run,
                   const std::vector<MetricRule>& rules) const;

  LocalMachine& machine_;
  const Plan& plan_;
  // Of the trial at hand.
  BoundedMetrics metrics_;
  std::vector<MarkedRun> marked_;
  std::string per_, region_;  // what counts units of work; what counts
};

}  // namespace dvfs_plan
