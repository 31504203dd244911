#include <algorithm>

#include "base/text.hpp"
#include "orchestrator/knobs/cpufreq_access.hpp"

namespace dvfs_plan {
namespace {

const std::string cpufreq_folder = "/sys/devices/system/cpu/cpufreq/";

class CpufreqFiles : public CpufreqAccess {
 public:
  explicit CpufreqFiles(Sysfs sysfs) : sysfs_(std::move(sysfs)) {}

  std::vector<CpufreqPolicy> policies() const override {
    std::vector<CpufreqPolicy> found;
    for (const std::string& name : sysfs_.list(cpufreq_folder)) {
      if (!name.starts_with("policy")) continue;
      const std::string path = cpufreq_folder + name;
      const auto khz = [&](const char* file) {
        return static_cast<long>(sysfs_.number(path + "/" + file).value_or(0));
      };
      CpufreqPolicy policy;
      policy.name = name;
      policy.path = path;
      // affected_cpus is separated by blanks.
      for (const std::string& cpu : split_words(sysfs_.text(path + "/affected_cpus").value_or("")))
        policy.cpus.push_back(std::stoi(cpu));
      policy.driver = sysfs_.text(path + "/scaling_driver").value_or("");
      policy.governor = sysfs_.text(path + "/scaling_governor").value_or("");
      policy.governors = split_words(sysfs_.text(path + "/scaling_available_governors").value_or(""));
      policy.lowest_khz = khz("cpuinfo_min_freq");
      policy.highest_khz = khz("cpuinfo_max_freq");
      policy.min_khz = khz("scaling_min_freq");
      policy.max_khz = khz("scaling_max_freq");
      for (const char* list : {"/scaling_available_frequencies", "/scaling_boost_frequencies"}) {
        for (const std::string& word : split_words(sysfs_.text(path + list).value_or("")))
          policy.available_khz.push_back(std::stol(word));
      }
      std::sort(policy.available_khz.begin(), policy.available_khz.end());
      if (const auto limit = sysfs_.number(path + "/bios_limit"))
        policy.bios_limit_khz = static_cast<long>(*limit);
      if (!policy.cpus.empty()) found.push_back(std::move(policy));
    }
    return found;
  }

 private:
  Sysfs sysfs_;
};

}  // namespace

std::shared_ptr<CpufreqAccess> cpufreq_by_files(const Sysfs& sysfs) {
  return std::make_shared<CpufreqFiles>(sysfs);
}

std::shared_ptr<CpufreqAccess> cpufreq_access(const Sysfs& sysfs) {
  return sysfs.root().empty() ? cpufreq_by_libcpupower() : cpufreq_by_files(sysfs);
}

}  // namespace dvfs_plan
