// One trial on this machine, from its first setting to its verdict.
//
//   apply knobs, read back ─► services ready and warm ─► temperature gate ─► settle ─► sample ► launch ► reap (again, until long enough)
//   ─► judge
#pragma once

#include <optional>
#include <set>

#include "experiments/plan/work_files.hpp"
#include "orchestrator/conditions/clock_residency.hpp"
#include "orchestrator/conditions/cpu_load.hpp"
#include "orchestrator/conditions/temperature_gate.hpp"
#include "orchestrator/run/services.hpp"
#include "orchestrator/run/work_runner.hpp"

namespace dvfs_plan {

class TrialRunner {
 public:
  explicit TrialRunner(LocalMachine& machine);

  // nullopt if it was interrupted: then it is as if it had not begun.
  std::optional<TrialRecord> run(const PlannedTrial& planned);
  void end_services() { services_.end_all(); }

 private:
  void begin_block_with(const PlannedTrial& planned);
  const PlanPoint& point_of(const PlannedTrial& trial) const;
  bool apply_knobs(const PlanPoint& point, TrialRecord& trial);
  bool set_all(const PlanPoint& point, TrialRecord& trial);
  std::optional<std::string> undone(const SavedSetting& setting) const;
  std::string undone() const;
  static void refuse(TrialRecord& trial, const std::string& problem);
  static void forget_refusal(TrialRecord& trial);
  std::string judge_changes(TrialRecord& trial);
  // Which CPUs are there at the point's values of axes that may take some away; what was seen first is what shall be.
  std::string cpus_of(const PlanPoint& point) const;
  void judge_online(const PlanPoint& point, TrialRecord& trial);
  void require_unchanged_files(const PlanPoint& point, TrialRecord& trial, bool after);
  void require_unchanged(const std::string& whose, std::vector<WorkFile>& files, bool first,
                         TrialRecord& trial);
  void judge_missing_marks(const std::string& scenario, TrialRecord& trial);
  void judge_members(const PlanPoint& point, TrialRecord& trial);
  bool prepare_services(const PlanPoint& point, TrialRecord& trial, bool& interrupted);
  bool wait_for_conditions(TrialRecord& trial);
  bool wait_for_rest(const PlanPoint& point, TrialRecord& trial);
  bool measure(const PlanPoint& point, TrialRecord& trial);
  bool rest(TrialRecord& trial);
  // CPU time of this program and of the services.
  Seconds own_use() const;
  void observe_load(TrialRecord& trial, const CpuTimesOfAll& before, Seconds own_before);
  void keep_guardian(TrialRecord& trial);
  void look_at_boards(TrialRecord& trial, bool launched);
  void judge_others_on_boards(TrialRecord& trial) const;
  std::optional<double> busiest_of(const std::string& target) const;
  void note_rules(const PlanPoint& point, TrialRecord& trial) const;
  JudgeInput judge_input(const PlanPoint& point, bool idle);
  void note_units(const PlanPoint& point, const TrialRecord& trial);
  bool sleep(Seconds length);

  LocalMachine& machine_;
  const Plan& plan_;
  Services services_;
  WorkRunner work_;
  TemperatureGate gate_;
  ThrottleCounts throttles_;
  std::optional<TrialId> last_;  // the last trial of a workload
  std::map<std::string, std::vector<int>> cpus_of_target_;
  bool watches_load_ =
      false;  // /proc/stat is read only where the judge asks: it costs a tenth of a small trial
  std::map<std::string, std::string> online_;  // CPUs, by cpus_of()
  Seconds update_{0};                          // the longest of the energy source's sensors
  Seconds lead_{0};                            // the sampler's start before the launch, and its end behind it
  Nanoseconds suspended_ = 0;                  // was the machine, while the last trial was measured
  Seconds declared_late_{0};    // so much longer behind it: by what a meter's values are late (`late by`)
  std::map<int, double> busy_;  // of the trial at hand, per CPU
  bool sets_clocks_ = false;    // of CPUs
  bool rests_unevenly_ =
      false;  // an idle window of this session did not hold: the machine still cooled down, or draws more now and then
  ClockResidency residency_;      // of the trial at hand
  int lost_when_set_ = 0;         // sessions of the guardian's, when the trial at hand was set
  std::string others_on_boards_;  // just before or after the trial at hand
  struct Stands {
    SavedSetting setting;
    std::size_t of;  // index into the trial's settings
  };
  std::vector<Stands> stands_;                        // what each knob read back, of the trial at hand
  std::vector<std::vector<WorkFile>> files_;          // by workload
  std::vector<std::vector<WorkFile>> service_files_;  // by service
  std::set<std::string> ran_;                         // workloads and services that ran in this session
  std::map<std::uint32_t, std::string> impossible_;   // of the trial at hand
  ToldInEarlierTrials told_;                          // and in those of this session
};

}  // namespace dvfs_plan
