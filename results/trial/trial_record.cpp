#include "results/trial/trial_record.hpp"

#include <algorithm>

#include "results/trial/several.hpp"

namespace dvfs_plan {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::not_launched:
      return "not_launched";
    case Verdict::exited:
      return "exited";
    case Verdict::signalled:
      return "signalled";
    case Verdict::timed_out:
      return "timed_out";
    case Verdict::stopped:
      return "stopped";
    case Verdict::knob_refused:
      return "knob_refused";
    case Verdict::changed_meanwhile:
      return "changed_meanwhile";
    case Verdict::not_in_force:
      return "not_in_force";
    case Verdict::not_delivered:
      return "not_delivered";
    case Verdict::sensor_absent:
      return "sensor_absent";
    case Verdict::sensor_denied:
      return "sensor_denied";
    case Verdict::sensor_gone:
      return "sensor_gone";
    case Verdict::sensor_dead:
      return "sensor_dead";
    case Verdict::sensor_frozen:
      return "sensor_frozen";
    case Verdict::sensor_gap:
      return "sensor_gap";
    case Verdict::sensor_impossible:
      return "sensor_impossible";
    case Verdict::sensors_disagree:
      return "sensors_disagree";
    case Verdict::throttled:
      return "throttled";
    case Verdict::foreign_load:
      return "foreign_load";
    case Verdict::no_region:
      return "no_region";
    case Verdict::marks_unpaired:
      return "marks_unpaired";
    case Verdict::marks_lost:
      return "marks_lost";
    case Verdict::no_metric:
      return "no_metric";
    case Verdict::service_not_ready:
      return "service_not_ready";
    case Verdict::instance_failed:
      return "instance_failed";
    case Verdict::censored:
      return "censored";
    case Verdict::service_died:
      return "service_died";
    case Verdict::damaged:
      return "damaged";
  }
  return "?";
}

bool trial_counts(std::string_view verdict, TrialRole role) {
  return verdict == to_string(Verdict::ok) && counts_for_its_point(role);
}

bool may_pass(Verdict verdict) {
  switch (verdict) {
    case Verdict::stopped:
    case Verdict::changed_meanwhile:
    case Verdict::not_delivered:
    case Verdict::sensor_gone:  // a meter that died is started again
    case Verdict::sensor_gap:
    case Verdict::sensor_impossible:
    case Verdict::sensors_disagree:
    case Verdict::throttled:
    case Verdict::foreign_load:
    case Verdict::service_not_ready:
    case Verdict::service_died:
      return true;
    default:
      return false;
  }
}

bool may_pass(std::string_view verdict) {
  for (int i = 0; i <= static_cast<int>(Verdict::damaged); ++i) {
    if (verdict == to_string(static_cast<Verdict>(i))) return may_pass(static_cast<Verdict>(i));
  }
  return false;
}

void set_work(FinishedTrial& trial, std::optional<double> region_s, std::optional<double> energy_j,
              std::size_t starts, std::optional<double> units) {
  const double of_run = std::max(1.0, static_cast<double>(starts)), of_work = units.value_or(of_run);
  const bool any_work = of_work > 0;
  trial.units = of_work;
  trial.used_s = region_s;
  trial.used_j = energy_j;
  if (region_s) {
    if (any_work) trial.work_time_s = *region_s / of_work;
    trial.other["time"] = *region_s / of_run;
    trial.units_of_other.erase("time");
    trial.extremes_of_other.erase("time");
  }
  if (energy_j) {
    if (any_work) trial.work_energy_j = *energy_j / of_work;
    trial.other["energy"] = *energy_j / of_run;
    trial.units_of_other.erase("energy");
    trial.extremes_of_other.erase("energy");
  }
}

std::size_t TrialRecord::at_once() const {
  int most = 1;
  for (const InstanceRecord& one : instances) most = std::max(most, one.instance);
  return static_cast<std::size_t>(most);
}

std::size_t TrialRecord::starts() const {
  return std::max<std::size_t>(1, runs.size() / at_once());
}

FinishedTrial as_planned(const PlannedTrial& trial) {
  FinishedTrial one;
  static_cast<PlannedTrial&>(one) = trial;
  return one;
}

FinishedTrial finished(const TrialRecord& trial) {
  FinishedTrial one;
  static_cast<PlannedTrial&>(one) = trial;
  one.counts = trial_counts(to_string(trial.verdict), trial.role);
  one.may_pass = may_pass(trial.verdict);
  one.objective = trial.objective;
  one.slot_s = trial.slot_s;
  if (trial.energy_half_width_j && trial.energy_j.value_or(0) != 0)
    one.sensor_share = *trial.energy_half_width_j / *trial.energy_j;
  if (trial.energy_systematic_j && trial.energy_j.value_or(0) != 0)
    one.systematic_share = *trial.energy_systematic_j / *trial.energy_j;
  set_told(one, told_metrics(trial.metrics, trial.at_once(), trial.starts()));
  // After the metrics: what is measured wins over a metric of the same name.
  set_work(one, trial.region_s, trial.energy_j, trial.starts(), trial.units);
  return one;
}

}  // namespace dvfs_plan
