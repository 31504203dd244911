// Forms for tools that set clocks themselves: cpupower, nvidia-smi, Slurm.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/setting_form.hpp"

namespace dvfs_plan {
namespace {

// Attribute files of cpufreq by policy; false: the request is none of these.
struct CpufreqRequest {
  std::string policy;  // "policy0"
  std::string file;    // "scaling_max_freq"
  std::string text;
};
bool is_cpufreq(const SettingText& request, CpufreqRequest& found) {
  constexpr std::string_view folder = "/sys/devices/system/cpu/cpufreq/";
  if (!request.path.starts_with(folder)) return false;
  const std::string rest = request.path.substr(folder.size());
  const auto slash = rest.find('/');
  if (slash == std::string::npos || !rest.starts_with("policy")) return false;
  found = {rest.substr(0, slash), rest.substr(slash + 1), request.text};
  return true;
}

// cpupower-frequency-set(1), cpupower(1): -c, a list of CPUs; -d and -u, limits; -g, the governor.
std::string as_cpupower(const FormRequest& request) {
  // By policy: what each option gets.
  std::map<std::string, std::map<char, std::string>> of_policy;
  for (const AxisRequest& one : request.requests) {
    CpufreqRequest file;
    if (!is_cpufreq(one.request, file)) refuse_axis("cpupower", request.found, one.axis);
    if (file.file == "scaling_min_freq")
      of_policy[file.policy]['d'] = file.text + "kHz";
    else if (file.file == "scaling_max_freq")
      of_policy[file.policy]['u'] = file.text + "kHz";
    else if (file.file == "scaling_governor")
      of_policy[file.policy]['g'] = file.text;
    else
      refuse_axis("cpupower", request.found, one.axis);
  }
  // Policies that are set alike are one command.
  std::map<std::string, std::vector<int>> cpus_of;
  for (const auto& [policy, options] : of_policy) {
    std::string words;
    for (const auto& [option, text] : options) words += fmt::format(" -{} {}", option, text);
    const auto cpus = parse_cpu_list(join(
        split_words(
            request.sysfs->text("/sys/devices/system/cpu/cpufreq/" + policy + "/affected_cpus").value_or("")),
        ","));
    if (!cpus || cpus->empty())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{}: its CPUs (affected_cpus) cannot be read", policy),
                  "--as sysfs does without");
    auto& all = cpus_of[words];
    all.insert(all.end(), cpus->begin(), cpus->end());
  }
  std::string text = as_comment(request.comment) + as_comment(of_the_command(request));
  for (const auto& [words, cpus] : cpus_of)
    text += fmt::format("cpupower -c {} frequency-set{}\n", format_cpu_list(cpus), words);
  return text;
}

std::string as_nvidia_smi(const FormRequest& request) {
  std::string text = as_comment(request.comment) + as_comment(of_the_command(request));
  for (const AxisRequest& one : request.requests) {
    if (!one.request.path.starts_with("nvidia:")) refuse_axis("nvidia-smi", request.found, one.axis);
    text += command_as_root(request, one.request.path, one.request.text) + '\n';
  }
  text += "# Back:\n";
  for (const SavedSetting& one : request.now)
    text += fmt::format("#   {}\n", printable(request.access->at(one.path).command(one.value)));
  return text;
}

// sbatch(1): --cpu-freq takes kHz, MIN-MAX; --gpu-freq MHz, "VALUE,memory=VALUE". The site must let jobs do so.
std::string as_slurm(const FormRequest& request) {
  std::string cpu, governor, gpu, memory;
  for (const AxisSetting& one : request.found.settings()) {
    if (!is_knob_axis(one.axis)) continue;  // of_the_command() says it
    if (one.axis == "cpu.frequency" && one.number)
      cpu = fmt::format("{0}-{0}", std::llround(*one.number / 1e3));
    else if (one.axis == "cpu.governor" && !one.text.empty())
      governor = one.text;
    else if (one.axis == "gpu.core" && one.number)
      gpu = fmt::format("{}", std::llround(*one.number / 1e6));
    else if (one.axis == "gpu.memory" && one.number)
      memory = fmt::format("memory={}", std::llround(*one.number / 1e6));
    else
      refuse_axis("slurm", request.found, one.axis);
  }
  if (cpu.empty() && !governor.empty()) refuse_axis("slurm", request.found, "cpu.governor");
  std::string text = as_comment(request.comment) + as_comment(of_the_command(request));
  if (!governor.empty()) {
    static const std::map<std::string, std::string> names{
        {"conservative", "Conservative"}, {"ondemand", "OnDemand"},   {"performance", "Performance"},
        {"powersave", "PowerSave"},       {"userspace", "UserSpace"}, {"schedutil", "SchedUtil"}};
    const auto name = names.find(governor);
    if (name == names.end()) refuse_axis("slurm", request.found, "cpu.governor");
    governor = ":" + name->second;
  }
  if (!cpu.empty()) text += fmt::format("#SBATCH --cpu-freq={}{}\n", cpu, governor);
  if (!gpu.empty() || !memory.empty())
    text +=
        fmt::format("#SBATCH --gpu-freq={}{}{}\n", gpu, !gpu.empty() && !memory.empty() ? "," : "", memory);
  return text;
}

const Registered<SettingForm> cpupower(
    {.name = "cpupower", .place = 20, .what = "commands of cpupower", .write = as_cpupower});
const Registered<SettingForm> nvidia_smi(
    {.name = "nvidia-smi", .place = 30, .what = "commands of nvidia-smi", .write = as_nvidia_smi});
const Registered<SettingForm> slurm({.name = "slurm",
                                     .place = 40,
                                     .what = "lines of a Slurm job",
                                     .of_this_machine = false,
                                     .write = as_slurm});

}  // namespace
}  // namespace dvfs_plan
