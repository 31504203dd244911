#include "results/store/trial_record.hpp"

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
    case Verdict::sensors_disagree:
      return "sensors_disagree";
    case Verdict::throttled:
      return "throttled";
    case Verdict::foreign_load:
      return "foreign_load";
    case Verdict::no_region:
      return "no_region";
    case Verdict::no_metric:
      return "no_metric";
  }
  return "?";
}

bool may_pass(Verdict verdict) {
  switch (verdict) {
    case Verdict::stopped:
    case Verdict::not_delivered:
    case Verdict::sensor_gap:
    case Verdict::sensors_disagree:
    case Verdict::throttled:
    case Verdict::foreign_load:
      return true;
    default:
      return false;
  }
}

FinishedTrial finished(const TrialRecord& trial) {
  const bool counts = trial.verdict == Verdict::ok && counts_for_its_point(trial.role);
  FinishedTrial one{
      trial.key,       trial.point,  trial.block, trial.role, trial.attempt, counts, may_pass(trial.verdict),
      trial.objective, trial.slot_s, std::nullopt};
  if (trial.energy_half_width_j && trial.energy_j.value_or(0) != 0)
    one.sensor_share = *trial.energy_half_width_j / *trial.energy_j;
  return one;
}

}  // namespace dvfs_plan
