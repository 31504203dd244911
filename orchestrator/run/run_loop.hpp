// The night: one trial after another until the strategy has no more, or somebody wants us to stop.
//
//   next trial ─► (warm up, once a block) ─► trial_runner ─► store
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/interruption.hpp"
#include "orchestrator/conditions/board_use.hpp"
#include "orchestrator/guard/knob_guard.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/settings_watch.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "probes/sampler.hpp"
#include "results/store/store.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

// Told as things happen; the terminal's progress line listens.
struct RunEvents {
  std::function<void(const PlannedTrial&, int finished, int remaining)> begins;
  std::function<void(const TrialRecord&)> finished;
  std::function<void(const std::string&)> waits;            // the result file cannot be written just now
  std::function<void(const std::string&)> announces;        // what the budget buys
  std::function<void(const Store::Rescued&)> rescued = {};  // the result file was lost: where it goes on
  std::function<void()> block_ended = {};                   // and another one follows
};

// All that a run needs of the world, handed in.
struct RunWorld {
  const Plan& plan;
  Strategy& strategy;
  Store& store;
  Interruption& interruption;
  Clock& clock;
  const Sysfs& sysfs;

  // What is set, and who puts it back.
  struct Machine {
    std::vector<KnobFinding>& knobs;                   // of the plan's knob axes, in order of application
    KnobGuard* guard = nullptr;                        // nullptr in benchmarks only
    SettingsWatch* settings = nullptr;                 // nullptr: the experiment sets nothing
    BoardUse* boards = nullptr;                        // of GPUs; nullptr: the experiment uses none
    std::map<std::string, double> power_limit_w = {};  // of boards, by domain, before the first trial
  } machine;

  // What is measured with; all but the sampler and the window is of the energy channels.
  struct Sensors {
    Sampler& sampler;
    std::vector<std::uint32_t> energy_channels = {};
    std::map<std::uint32_t, double> last_values = {};  // from the sensor check
    std::map<std::uint32_t, SensorModel> models = {};  // from the audit
    Seconds idle_window{0};                            // how long an idle window is
  } sensors;

  // How programs are started.
  struct Programs {
    Launcher& launcher;
    std::string path;  // $PATH, where commands are found
    // Of each workload, before its own additions.
    std::map<std::string, std::map<std::string, std::string>> environments;
    std::map<std::string, std::optional<Credentials>> users;  // of each workload; nullopt: ourselves
  } programs;
};

enum class RunEnd { done, interrupted };

// Runs trials until done or interrupted. A trial cut short by an interruption is not stored: it is run
// again on resume. Throws Error if the store fails; the guard's owner puts the machine back.
RunEnd run_trials(RunWorld& world, const RunEvents& events);

}  // namespace dvfs_plan
