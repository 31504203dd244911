// All probes there are: one line each in the table of probe_table.cpp. How to add one: CONTRIBUTING.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

// What looking for a probe found: the probe, or why there is none and what would help.
struct ProbeFinding {
  std::string name;
  std::unique_ptr<Probe> probe;  // nullptr if there is none
  std::string problem;           // set if there is none, or if part of it cannot be read
  std::string fix;               // a command or a step
};

std::vector<std::string> probe_names();
ProbeFinding find_probe(const std::string& name, const Sysfs& sysfs);
std::vector<ProbeFinding> find_probes(const Sysfs& sysfs);

}  // namespace dvfs_plan
