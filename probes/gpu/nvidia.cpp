// Which way NVIDIA boards are measured here.
#include <fmt/format.h>

#include "base/text.hpp"
#include "probes/gpu/nvml_probe.hpp"
#include "probes/gpu/smi_stream.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {

namespace {

// NVML, loaded at run time; where it cannot be, one long-lived nvidia-smi.
ProbeFinding find_nvidia(const ProbeRequest& request) {
  ProbeFinding finding{"nvidia", nullptr, {}, {}};
  bool any = false, mig = false;
  for (const GpuBoard& board : request.boards) {
    any = any || board.vendor == GpuVendor::nvidia;
    mig = mig || board.mig;
  }
  const auto opened = NvmlLibrary::open(request.sysfs);
  if (any && opened.library) {
    NvmlProbes probes = make_nvml_probes(opened.library, request.boards);
    auto parts = std::move(probes.energy);
    for (auto* part : {&probes.power, &probes.state, &probes.slow}) parts.push_back(std::move(*part));
    for (auto& part : parts) {
      if (!part) continue;
      if (!finding.probe)
        finding.probe = std::move(part);
      else
        finding.others.push_back(std::move(part));
    }
    finding.problem = join(probes.lacks, "; ");
  } else if (const auto smi = NvidiaSmi::find(request.sysfs); any && smi) {
    finding = start_smi_stream(*smi, request);
    if (finding.probe) {
      finding.problem = opened.problem + "; read through nvidia-smi instead, which has no energy counter";
      finding.fix = opened.fix;
    }
  } else {
    finding.problem = opened.library ? "NVIDIA's driver finds no board here" : opened.problem;
    finding.fix = opened.fix;
  }
  if (mig && finding.probe) {
    finding.problem += std::string(finding.problem.empty() ? "" : "; ") +
                       "MIG is enabled: power and energy are the whole board's, of all its instances";
  }
  return finding;
}

const Registered<ProbeKind> nvidia(
    {.name = "nvidia",
     .place = 50,
     .what = "NVIDIA boards: energy, power, clocks, throttling, temperature, by NVML, else by one nvidia-smi",
     .boards_of = GpuVendor::nvidia,
     .find = find_nvidia});

}  // namespace
}  // namespace dvfs_plan
