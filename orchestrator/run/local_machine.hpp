// What a trial on this machine needs of it, handed in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/child.hpp"
#include "base/interruption.hpp"
#include "experiments/plan/plan.hpp"
#include "orchestrator/conditions/board_use.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/run/told_before.hpp"
#include "orchestrator/settings/settings_watch.hpp"
#include "probes/sampler.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

struct LocalMachine {
  const Plan& plan;
  Interruption& interruption;
  Clock& clock;
  const Sysfs& sysfs;

  // What is set, and who puts it back.
  std::vector<KnobFinding>& knobs;  // of the plan's knob axes, in order of application
  GuardClient& guard;
  SettingsWatch* settings = nullptr;                 // nullptr: the experiment sets nothing
  BoardUse* boards = nullptr;                        // of GPUs; nullptr: the experiment uses none
  std::map<std::string, double> power_limit_w = {};  // of boards, by domain, before the first trial

  // What is measured with; all but the sampler and the window is of the energy channels.
  struct Sensors {
    Sampler& sampler;
    std::vector<std::uint32_t> energy_channels = {};
    EarlierReadings earlier = {};                      // from the sensor check on
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
    // The same of each service, and where what they say is kept.
    std::map<std::string, std::map<std::string, std::string>> service_environments = {};
    std::map<std::string, std::optional<Credentials>> service_users = {};
    std::string log_folder = {};
  } programs;

  ToldInEarlierTrials told = {};  // by trials of the sessions before
};

// The index into Plan::axes of a knob's axis.
std::size_t axis_of(const Plan& plan, const std::string& name);

}  // namespace dvfs_plan
