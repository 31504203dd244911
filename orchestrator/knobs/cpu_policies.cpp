#include "orchestrator/knobs/cpu_policies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/attribute_setting.hpp"

namespace dvfs_plan {
namespace {

const std::string cpu_folder = "/sys/devices/system/cpu/";

bool contains(const std::vector<int>& cpus, int cpu) {
  return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

std::vector<std::string> names_of(const std::vector<CpufreqPolicy>& policies) {
  std::vector<std::string> names;
  for (const CpufreqPolicy& policy : policies) names.push_back(policy.name);
  return names;
}

// The CPUs a target means; empty with `problem` set if it means none.
std::vector<int> cpus_of_target(const std::string& target, const Sysfs& sysfs, std::string& problem) {
  // The two core types of a hybrid Intel machine have performance-monitoring units of their own.
  for (const auto& [word, pmu] : {std::pair{"P-cores", "cpu_core"}, std::pair{"E-cores", "cpu_atom"}}) {
    if (target != word) continue;
    const auto cpus = parse_cpu_list(sysfs.text(fmt::format("/sys/devices/{}/cpus", pmu)).value_or(""));
    if (cpus && !cpus->empty()) return *cpus;
    problem = fmt::format("'{}' is for hybrid machines; this one has no /sys/devices/{}", word, pmu);
    return {};
  }
  const auto cpus = parse_cpu_list(target);
  if (!cpus || cpus->empty())
    problem =
        fmt::format("'@{}' is neither a policy, a list of CPUs such as 0-3, P-cores nor E-cores", target);
  return cpus.value_or(std::vector<int>{});
}

}  // namespace

PolicyChoice choose_policies(const std::string& target, const Sysfs& sysfs, const CpufreqAccess& cpufreq) {
  PolicyChoice choice;
  const auto all = cpufreq.policies();
  if (all.empty()) {
    choice.problem =
        "this machine has no cpufreq (no policies in /sys/devices/system/cpu/cpufreq); "
        "in a virtual machine run on the host, on hardware enable P-states in the firmware";
    return choice;
  }
  if (target.empty()) {
    choice.policies = all;
    return choice;
  }
  std::vector<int> wanted;
  for (const CpufreqPolicy& policy : all) {
    if (policy.name == target) wanted = policy.cpus;
  }
  if (wanted.empty() && target.starts_with("policy")) {
    choice.problem = fmt::format("there is no {}; there are: {}", target, join(names_of(all), ", "));
    return choice;
  }
  if (wanted.empty()) wanted = cpus_of_target(target, sysfs, choice.problem);
  if (!choice.problem.empty()) return choice;

  std::vector<int> reached;
  for (const CpufreqPolicy& policy : all) {
    const bool any =
        std::any_of(policy.cpus.begin(), policy.cpus.end(), [&](int cpu) { return contains(wanted, cpu); });
    if (!any) continue;
    const bool whole =
        std::all_of(policy.cpus.begin(), policy.cpus.end(), [&](int cpu) { return contains(wanted, cpu); });
    if (!whole) {
      choice.problem = fmt::format("{} sets CPUs {} together; name all of them or none", policy.name,
                                   format_cpu_list(policy.cpus));
      return choice;
    }
    choice.policies.push_back(policy);
    reached.insert(reached.end(), policy.cpus.begin(), policy.cpus.end());
  }
  for (const int cpu : wanted) {
    if (contains(reached, cpu)) continue;
    choice.problem = fmt::format("cpu{} is not there or not online", cpu);
    return choice;
  }
  for (const int cpu : reached) {
    for (const int sibling : threads_of_core(cpu, sysfs)) {
      if (contains(reached, sibling)) continue;
      std::vector<int> both = reached;
      both.push_back(sibling);
      choice.problem = fmt::format(
          "cpu{} and cpu{} are threads of one core, which runs at the higher of their requests; name both: "
          "@{}",
          cpu, sibling, format_cpu_list(both));
      return choice;
    }
  }
  return choice;
}

std::vector<CpufreqPolicy> policies_there(const std::vector<CpufreqPolicy>& policies,
                                          const CoreThreads& threads) {
  std::vector<CpufreqPolicy> there = policies;
  std::erase_if(there, [&](const CpufreqPolicy& policy) { return threads.has_taken(policy.cpus); });
  return there;
}

void save_attribute(const std::string& knob, const std::string& path, const Sysfs& sysfs,
                    std::vector<SavedSetting>& saved) {
  if (auto text = attribute_setting(path, sysfs)->to_save()) saved.push_back({knob, path, std::move(*text)});
}

void save_or_refuse(const std::string& knob, const std::string& path, const Sysfs& sysfs,
                    std::vector<SavedSetting>& saved) {
  const auto before = saved.size();
  save_attribute(knob, path, sysfs, saved);
  if (saved.size() == before)
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} cannot be read now, so it could not be put back", path), "nothing was set");
}

std::vector<TurboFile> turbo_files(const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs) {
  const std::string no_turbo = cpu_folder + "intel_pstate/no_turbo", boost = cpu_folder + "cpufreq/boost";
  if (sysfs.exists(no_turbo)) return {{"machine", no_turbo, true}};
  if (sysfs.exists(boost)) return {{"machine", boost, false}};
  std::vector<TurboFile> files;
  for (const CpufreqPolicy& policy : policies) {
    if (sysfs.exists(policy.path + "/boost"))
      files.push_back({policy.name, policy.path + "/boost", false, policy.cpus});
  }
  return files;
}

std::vector<SavedSetting> snapshot_tunables(const std::string& axis,
                                            const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs) {
  std::vector<SavedSetting> saved;
  std::set<std::string> folders;
  for (const CpufreqPolicy& policy : policies) {
    const std::string governor = sysfs.text(policy.path + "/scaling_governor").value_or("");
    for (const std::string& folder : {policy.path + "/" + governor, cpu_folder + "cpufreq/" + governor}) {
      if (governor.empty() || !folders.insert(folder).second) continue;
      for (const std::string& name : sysfs.list(folder)) {
        if (is_governor_tunable(folder + "/" + name)) save_attribute(axis, folder + "/" + name, sysfs, saved);
      }
    }
  }
  return saved;
}

std::vector<SavedSetting> snapshot_policies(const std::string& axis,
                                            const std::vector<CpufreqPolicy>& policies, const Sysfs& sysfs) {
  std::vector<SavedSetting> saved;
  const auto save_each = [&](const char* file) {
    for (const CpufreqPolicy& policy : policies) save_attribute(axis, policy.path + "/" + file, sysfs, saved);
  };
  save_each("scaling_governor");
  for (const TurboFile& turbo : turbo_files(policies, sysfs)) save_attribute(axis, turbo.path, sysfs, saved);
  // The global switch writes each policy's own.
  for (const CpufreqPolicy& policy : policies) {
    const std::string boost = policy.path + "/boost";
    const bool saved_already = std::any_of(
        saved.begin(), saved.end(), [&](const SavedSetting& setting) { return setting.path == boost; });
    if (!saved_already) save_attribute(axis, boost, sysfs, saved);
  }
  save_each("scaling_max_freq");
  save_each("scaling_min_freq");
  save_each("scaling_setspeed");
  save_each("energy_performance_preference");
  for (SavedSetting& tunable : snapshot_tunables(axis, policies, sysfs)) saved.push_back(std::move(tunable));
  return saved;
}

std::vector<SettingText> limit_requests(const Sysfs& sysfs, const std::string& min_file,
                                        const std::string& max_file, long value) {
  const bool raise = static_cast<double>(value) >= sysfs.number(min_file).value_or(0);
  const SettingText min{min_file, std::to_string(value)}, max{max_file, std::to_string(value)};
  if (raise) return {max, min};
  return {min, max};
}

std::string first_problem(std::span<const WriteAnswer> answers) {
  for (const WriteAnswer& answer : answers) {
    if (!answer.problem.empty()) return answer.problem;
  }
  return {};
}

LimitsRead read_limits_back(const Sysfs& sysfs, const std::string& min_file, const std::string& max_file,
                            long value) {
  const auto number = [&](const std::string& file) -> std::optional<double> {
    const auto text = sysfs
                          .read_until(
                              file, [&](const std::string& now) { return now == std::to_string(value); },
                              read_back_patience_ms)
                          .text;
    return text ? parse_number(*text) : std::nullopt;
  };
  return {number(min_file), number(max_file)};
}

long khz_of(const AxisValue& value) {
  return static_cast<long>(value.hertz().value() / 1e3 + 0.5);
}

std::string clock_text(long khz) {
  return format(Hertz{static_cast<double>(khz) * 1e3});
}

std::vector<std::string> limit_files(const std::vector<CpufreqPolicy>& policies) {
  std::vector<std::string> paths;
  for (const CpufreqPolicy& policy : policies) {
    paths.push_back(policy.path + "/scaling_max_freq");
    paths.push_back(policy.path + "/scaling_min_freq");
  }
  return paths;
}

AppliedSetting clock_setting(const std::string& axis, const CpufreqPolicy& policy, const AxisValue& value,
                             const LimitsRead& read) {
  AppliedSetting setting{policy.name, value.text, std::nullopt, {}};
  if (!read.min || !read.max) {
    setting.problem = fmt::format("cpufreq {}: its limits cannot be read back", policy.name);
    return setting;
  }
  const long low = static_cast<long>(*read.min), high = static_cast<long>(*read.max);
  const std::string khz = std::to_string(khz_of(value));
  setting.stands = {{axis, policy.path + "/scaling_min_freq", khz},
                    {axis, policy.path + "/scaling_max_freq", khz}};
  setting.applied =
      low == high ? clock_text(low) : fmt::format("{} to {}", clock_text(low), clock_text(high));
  return setting;
}

bool holds_clock(const LimitsRead& read, long khz) {
  return read.min && read.max && static_cast<long>(*read.min) == khz && static_cast<long>(*read.max) == khz;
}

}  // namespace dvfs_plan
