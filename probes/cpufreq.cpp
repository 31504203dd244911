#include "base/text.hpp"
#include "probes/probe_table.hpp"
#include "probes/sysfs_probe.hpp"

#include <algorithm>

namespace dvfs_plan {
namespace {

// The flags of /proc/cpuinfo; none on machines that are not x86.
std::vector<std::string> cpu_flags(const Sysfs& sysfs) {
  for (const std::string& line : split_lines(sysfs.text("/proc/cpuinfo").value_or(""))) {
    if (line.starts_with("flags")) return split_words(line);
  }
  return {};
}

bool has(const std::vector<std::string>& flags, const char* flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

struct Source {
  std::string file;  // empty: nothing here tells what the hardware does
  bool under_load_only = false;
};

// What tells at which clock a policy's CPUs really run. scaling_cur_freq does only where the kernel makes it
// from APERF/MPERF (arch/x86/kernel/cpu/aperfmperf.c); elsewhere it repeats the last request, which proves
// nothing. cpuinfo_cur_freq asks the driver; acpi-cpufreq has an answer only where CPUs are set by MSR, and
// then reads back PERF_CTL, the request (drivers/cpufreq/acpi-cpufreq.c, cpu_freq_read_intel).
Source delivered_source(const Sysfs& sysfs, const std::string& policy,
                        const std::vector<std::string>& flags) {
  if (sysfs.exists(policy + "/cpuinfo_avg_freq")) return {"cpuinfo_avg_freq", true};
  if (has(flags, "aperfmperf")) return {"scaling_cur_freq", true};
  const bool repeats = sysfs.text(policy + "/scaling_driver") == "acpi-cpufreq";
  if (sysfs.exists(policy + "/cpuinfo_cur_freq") && !repeats) return {"cpuinfo_cur_freq", false};
  return {};
}

// Documentation/admin-guide/pm/cpufreq.rst.
ProbeFinding find_cpufreq(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  auto probe = std::make_unique<SysfsProbe>("cpufreq", Seconds{0.05}, SysfsProbe::Answer::from_memory);
  ProbeFinding finding{"cpufreq", nullptr, {}, {}};
  const auto flags = cpu_flags(sysfs);
  const std::string folder = "/sys/devices/system/cpu/cpufreq/";
  for (const std::string& policy : sysfs.list(folder)) {
    if (!policy.starts_with("policy")) continue;
    const Source source = delivered_source(sysfs, folder + policy, flags);
    if (source.file.empty()) {
      finding.problem =
          "nothing tells at which clock the CPUs really run: there is neither APERF/MPERF nor a clock of the "
          "hardware's own, and scaling_cur_freq only repeats the request";
      finding.fix =
          "what was delivered stays unknown; in a virtual machine run on the host, or pass APERF/MPERF "
          "through";
      continue;
    }
    Channel channel;
    channel.unit = "Hz";
    channel.domain = policy;
    channel.name = "cpufreq:" + policy;
    channel.under_load_only = source.under_load_only;
    const std::string path = folder + policy + "/" + source.file;
    if (sysfs.read(path).denied()) {
      finding.problem = source.file + " may be read by root only";
      finding.fix = "run with sudo";
    }
    probe->add(channel, sysfs, path, 1e3);
  }
  if (probe->empty() && finding.problem.empty()) finding.problem = "no cpufreq policies";
  if (!probe->empty()) finding.probe = std::move(probe);
  return finding;
}

const Registered<ProbeKind> cpufreq(
    {.name = "cpufreq",
     .place = 40,
     .what = "the clocks that CPUs really run at, by APERF and MPERF or the hardware itself",
     .find = find_cpufreq});

}  // namespace
}  // namespace dvfs_plan
