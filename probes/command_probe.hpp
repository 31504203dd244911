// A program that prints "name value unit" lines: a wall meter, a PDU, IPMI. It is started once and read as
// it prints; with `every` it is run anew that often. Lines of channels not declared are passed over.
#pragma once

#include <memory>

#include "base/child.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

struct CommandProbeSettings {
  std::string name;
  std::vector<Channel> channels;  // their names without the "NAME:" in front
  LaunchSpec launch;
  std::string mark =
      {};  // "NAME=value" in its environment: what has it is ended with it. Empty: its group alone
  std::optional<Seconds> every;
  Seconds period{0.05};    // how often what it printed is looked at
  bool keeps_each = true;  // each value that it tells, at its own pace; false: the last before each look
};

// Throws Error if the program cannot be started.
std::unique_ptr<Probe> start_command_probe(CommandProbeSettings settings, Launcher& launcher,
                                           const Clock& clock);

// "wall 203.5 W" as a value in the channel's unit; nullopt if the line is not of this channel.
std::optional<double> parse_meter_line(std::string_view line, std::string_view channel,
                                       std::string_view unit);

}  // namespace dvfs_plan
