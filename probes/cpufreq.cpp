#include "base/text.hpp"
#include "probes/finders.hpp"
#include "probes/sysfs_probe.hpp"

#include <algorithm>

namespace dvfs_plan {
namespace {

// With APERF/MPERF the kernel computes scaling_cur_freq from what the CPU did in the last tick; without
// them it only repeats the last request (arch/x86/kernel/cpu/aperfmperf.c).
bool has_aperf_mperf(const Sysfs& sysfs) {
  for (const std::string& line : split_lines(sysfs.text("/proc/cpuinfo").value_or(""))) {
    if (!line.starts_with("flags")) continue;
    const auto flags = split_words(line);
    return std::find(flags.begin(), flags.end(), "aperfmperf") != flags.end();
  }
  return false;
}

struct Source {
  std::string file;
  bool under_load_only;
};

Source delivered_source(const Sysfs& sysfs, const std::string& policy, bool aperf_mperf) {
  if (sysfs.exists(policy + "/cpuinfo_avg_freq")) return {"cpuinfo_avg_freq", true};
  if (aperf_mperf) return {"scaling_cur_freq", true};
  // Asks the driver, and so the hardware's own status register.
  if (sysfs.exists(policy + "/cpuinfo_cur_freq")) return {"cpuinfo_cur_freq", false};
  return {"scaling_cur_freq", false};
}

}  // namespace

ProbeFinding find_cpufreq(const Sysfs& sysfs) {
  auto probe = std::make_unique<SysfsProbe>("cpufreq", Seconds{0.05});
  ProbeFinding finding{"cpufreq", nullptr, {}, {}};
  const bool aperf_mperf = has_aperf_mperf(sysfs);
  const std::string folder = "/sys/devices/system/cpu/cpufreq/";
  for (const std::string& policy : sysfs.list(folder)) {
    if (!policy.starts_with("policy")) continue;
    const Source source = delivered_source(sysfs, folder + policy, aperf_mperf);
    Channel channel;
    channel.unit = "Hz";
    channel.domain = policy;
    channel.name = "cpufreq:" + policy;
    channel.under_load_only = source.under_load_only;
    const std::string path = folder + policy + "/" + source.file;
    if (sysfs.read(path).denied()) {
      finding.problem = source.file + " may be read by root only";
      finding.fix = "run with sudo";
    } else if (source.file == "scaling_cur_freq" && !aperf_mperf) {
      finding.problem =
          "without APERF/MPERF and cpuinfo_cur_freq, scaling_cur_freq may only repeat the request";
    }
    probe->add(channel, sysfs, path, 1e3);
  }
  if (probe->empty())
    finding.problem = "no cpufreq policies";
  else
    finding.probe = std::move(probe);
  return finding;
}

}  // namespace dvfs_plan
