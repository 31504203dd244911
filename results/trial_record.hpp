// One finished trial as the store keeps it, and the words for how it went.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/child.hpp"
#include "base/reading.hpp"
#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {

// Why a trial counts or not. One word each, kept stable: analysts select by them.
enum class Verdict {
  ok,
  not_launched,   // the program could not be started
  exited,         // exit code other than 0
  signalled,      // ended by a signal that was not ours
  timed_out,      // ended by us at its timeout
  stopped,        // this program was stopped (SIGSTOP) meanwhile: the trial's times are false
  knob_refused,   // a setting could not be applied, or read back as something else
  not_delivered,  // the hardware ran at another clock than the one applied
  sensor_absent,  // no energy channel gave a reading
  sensor_denied,  // readings were refused
  sensor_gone,    // the sensor went away during the trial
  sensor_dead,    // a counter that did not move, or a power of 0 W throughout
  sensor_frozen,  // the same value before, during and after the trial
  sensor_gap,     // too little of the trial was seen
};
std::string_view to_string(Verdict verdict);

struct SettingRecord {
  int axis = 0;        // index into Plan::axes
  std::string target;  // "policy0", "machine", "workload"
  std::string requested;
  std::optional<std::string> applied;
  std::optional<double> delivered, delivered_low, delivered_high;
  int delivered_readings = 0;
};

struct MetricRecord {
  std::string name;
  double value = 0;
  std::string unit;
};

struct EventRecord {
  std::string kind;
  std::string message;
};

struct TrialRecord {
  std::string key;
  int point = 0;
  int block = 1;
  int position = 1;
  std::string started_at;
  bool knob_refused = false;  // then nothing was launched and `child` is empty
  ChildResult child;
  Verdict verdict = Verdict::ok;
  std::string verdict_text;
  std::optional<double> energy_j;
  std::vector<SettingRecord> settings;
  std::vector<Reading> readings;
  std::vector<ChannelEnergy> energies;  // one an energy-capable channel
  std::vector<MetricRecord> metrics;
  std::vector<EventRecord> events;
};

}  // namespace dvfs_plan
