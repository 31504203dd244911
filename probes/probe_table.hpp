// All probes there are: each file of one declares its ProbeKind. How to add one: CONTRIBUTING.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/child.hpp"
#include "base/registered.hpp"
#include "base/sysfs.hpp"
#include "probes/gpu/gpu_boards.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

// What a probe is found with.
struct ProbeRequest {
  const Sysfs& sysfs;
  std::vector<GpuBoard> boards = {};  // that are measured; none: an experiment without GPUs touches none
  // For probes that need a program of their own running (nvidia-smi where NVML cannot be loaded). Without a
  // launcher they are found and described, but say nothing.
  Launcher* launcher = nullptr;
  const Clock* clock = nullptr;
  std::string run = {};  // marks such programs, so that the guardian finds them
};

// What looking for a probe found: the probe, or why there is none and what would help.
struct ProbeFinding {
  std::string name;
  std::unique_ptr<Probe> probe;  // nullptr if there is none
  std::string problem;           // set if there is none, or if part of it cannot be read
  std::string fix;               // a command or a step
  // What belongs to it and is read at a rate of its own: clocks beside energy.
  std::vector<std::unique_ptr<Probe>> others = {};
};

// A built-in probe, as its file declares it.
struct ProbeKind {
  std::string_view name;  // as `probes` in an experiment file calls it
  int place = 0;          // among all: sensors of the CPUs and the machine, then boards
  std::string_view what;  // it measures, and by what: for people
  // Of GPU boards, whose: looked for only where an experiment is about boards.
  std::optional<GpuVendor> boards_of = {};
  // Reading it disturbs what is measured (a BMC keeps a CPU busy, and answers others meanwhile late): only where an experiment
  // names it.
  bool on_request = false;
  ProbeFinding (*find)(const ProbeRequest&) = nullptr;
};

ProbeFinding find_probe(std::string_view name, const ProbeRequest& request);
// All of them; those of boards only if there are boards in the request, those that disturb only if they are wanted.
enum class WhichProbes { usual, all };
std::vector<ProbeFinding> find_probes(const ProbeRequest& request, WhichProbes which = WhichProbes::usual);
// Of the probe and what belongs to it; none where there is no probe.
std::vector<Channel> channels_of(const ProbeFinding& finding);

}  // namespace dvfs_plan
