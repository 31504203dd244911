// The setting that a result found, on the machine at hand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "experiments/plan/experiment.hpp"
#include "orchestrator/commands/stored_experiment.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/used_boards.hpp"
#include "results/report/chosen_answer.hpp"

namespace dvfs_plan {

class FoundSetting {
 public:
  // `workload`: whose answer, where there are several; `slowdown`: "5%", or empty. Throws Error where the result has no such answer.
  // `experiment`: where the experiment's file is; empty: where it was.
  FoundSetting(const std::string& file, const std::string& workload, const std::string& slowdown,
               const std::string& experiment);

  const std::string& file() const { return file_; }
  const ChosenAnswer& answer() const { return *answer_; }
  // As it was asked for, a share; nullopt: the experiment's own objective was.
  const std::optional<double>& slowdown() const { return slowdown_; }
  // Why it is to be taken with care.
  const std::vector<std::string>& doubts() const { return doubts_; }
  const std::vector<AxisSetting>& settings() const { return answer_->point.settings; }
  const AxisSetting* setting_of(const std::string& axis) const;  // nullptr: it has no such axis
  const Experiment& experiment() const { return experiment_; }
  const std::map<std::string, std::string>& machine() const { return there_; }
  const std::string& measured_at() const { return measured_at_; }

  // Finds its knobs on this machine. Throws Error where one is missing, or where this is another kind of machine than
  // the result's. Before that there are none.
  void find_here(const Sysfs& sysfs);
  const std::vector<KnobFinding>& knobs() const { return knobs_; }
  const UsedBoards& boards() const { return boards_; }
  AxisValue value_of(const KnobFinding& knob) const;
  // What may have moved the answer since it was measured, in sentences.
  const std::vector<std::string>& changes() const { return changes_; }

 private:
  bool is_set_from_the_folder(const std::string& axis) const;

  std::string file_, measured_at_;
  std::unique_ptr<Summary> summary_;
  std::unique_ptr<ChosenAnswer> answer_;
  std::optional<double> slowdown_;
  std::vector<std::string> doubts_, changes_;
  Experiment experiment_;
  ExperimentPlace place_;
  std::map<std::string, std::string> there_;
  UsedBoards boards_;
  std::vector<KnobFinding> knobs_;
};

}  // namespace dvfs_plan
