// libcpupower (GPL-2.0-only; tools/power/cpupower/lib in the kernel tree). It is asked what there is;
// settings are written by the guardian, which has no need of it.
#include <cpufreq.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "orchestrator/knobs/cpufreq_access.hpp"

namespace dvfs_plan {
namespace {

std::vector<long> frequencies(cpufreq_available_frequencies* list,
                              void (*put)(cpufreq_available_frequencies*)) {
  std::vector<long> khz;
  if (list == nullptr) return khz;
  for (const auto* f = list->first; f != nullptr; f = f->next) khz.push_back(static_cast<long>(f->frequency));
  put(list->first);
  return khz;
}

class CpufreqLibcpupower : public CpufreqAccess {
 public:
  std::vector<CpufreqPolicy> policies() const override {
    std::vector<CpufreqPolicy> found;
    const Sysfs sysfs;
    const std::string folder = "/sys/devices/system/cpu/cpufreq/";
    for (const std::string& name : sysfs.list(folder)) {
      if (!name.starts_with("policy")) continue;
      // It takes a number for unreadable where errno is ERANGE behind strtoul(3), which does not clear it: what an
      // earlier call of anybody left there (lib/cpufreq.c, sysfs_cpufreq_get_one_value).
      errno = 0;
      // A policy is named after its first CPU, which may be offline: ask one that it affects.
      CpufreqPolicy policy;
      policy.name = name;
      policy.path = folder + name;
      auto* affected = cpufreq_get_affected_cpus(static_cast<unsigned>(std::stoul(name.substr(6))));
      if (affected == nullptr) continue;
      for (const auto* c = affected->first; c != nullptr; c = c->next)
        policy.cpus.push_back(static_cast<int>(c->cpu));
      cpufreq_put_affected_cpus(affected->first);
      if (!policy.cpus.empty() && fill(policy)) found.push_back(std::move(policy));
    }
    return found;
  }

 private:
  static unsigned first_cpu(const CpufreqPolicy& policy) {
    return static_cast<unsigned>(policy.cpus.front());
  }

  static bool fill(CpufreqPolicy& policy) {
    const unsigned cpu = first_cpu(policy);
    cpufreq_policy* now = cpufreq_get_policy(cpu);
    if (now == nullptr) return false;
    policy.governor = now->governor;
    policy.min_khz = static_cast<long>(now->min);
    policy.max_khz = static_cast<long>(now->max);
    cpufreq_put_policy(now);
    if (char* driver = cpufreq_get_driver(cpu)) {
      policy.driver = driver;
      cpufreq_put_driver(driver);
    }
    unsigned long lowest = 0, highest = 0;
    if (cpufreq_get_hardware_limits(cpu, &lowest, &highest) == 0) {
      policy.lowest_khz = static_cast<long>(lowest);
      policy.highest_khz = static_cast<long>(highest);
    }
    if (auto* governors = cpufreq_get_available_governors(cpu)) {
      for (const auto* g = governors->first; g != nullptr; g = g->next)
        policy.governors.emplace_back(g->governor);
      cpufreq_put_available_governors(governors->first);
    }
    policy.available_khz =
        frequencies(cpufreq_get_available_frequencies(cpu), cpufreq_put_available_frequencies);
    for (const long khz : frequencies(cpufreq_get_boost_frequencies(cpu), cpufreq_put_boost_frequencies))
      policy.available_khz.push_back(khz);
    std::sort(policy.available_khz.begin(), policy.available_khz.end());
    if (const auto limit = Sysfs().number(policy.path + "/bios_limit"))
      policy.bios_limit_khz = static_cast<long>(*limit);
    return true;
  }
};

}  // namespace

std::shared_ptr<CpufreqAccess> cpufreq_by_libcpupower() {
  return std::make_shared<CpufreqLibcpupower>();
}

}  // namespace dvfs_plan
