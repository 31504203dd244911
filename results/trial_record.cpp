#include "results/trial_record.hpp"

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
  }
  return "?";
}

}  // namespace dvfs_plan
