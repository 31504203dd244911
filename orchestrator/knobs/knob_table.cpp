#include "orchestrator/knobs/knob_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "orchestrator/knobs/finders.hpp"

namespace dvfs_plan {
namespace {

struct TableEntry {
  std::string_view name;  // ends in '.' for a family: devfreq.NAME
  KnobFinding (*find)(const KnobRequest&);
};

// In the order in which knobs are applied.
constexpr std::array table{
    TableEntry{"cpu.governor", find_cpu_governor},
    TableEntry{"cpu.epp", find_cpu_epp},
    TableEntry{"cpu.turbo", find_cpu_turbo},
    TableEntry{"cpu.frequency", find_cpu_frequency},
    TableEntry{"cpu.uncore", find_cpu_uncore},
    TableEntry{"devfreq.", find_devfreq},
    TableEntry{"gpu.power_limit", find_gpu_power_limit},
    TableEntry{"gpu.memory", find_gpu_memory},
    TableEntry{"gpu.core", find_gpu_core},
    TableEntry{"sysfs.", find_sysfs_knob},
    TableEntry{"cpu.cores", find_cpu_cores},
};

const TableEntry* entry_of(const std::string& axis) {
  const std::string base = split_axis_name(axis).base;
  for (const TableEntry& entry : table) {
    if (entry.name.ends_with('.') ? base.starts_with(entry.name) : base == entry.name) return &entry;
  }
  return nullptr;
}

}  // namespace

KnobFinding find_knob(const KnobRequest& request) {
  const TableEntry* entry = entry_of(request.axis);
  if (entry == nullptr) return {request.axis, nullptr, "there is no such knob"};
  return entry->find(request);
}

std::vector<KnobFinding> find_knobs(const std::vector<std::string>& axes, const Sysfs& sysfs,
                                    const std::vector<SysfsKnobSpec>& sysfs_knobs, const UsedBoards& gpus) {
  std::vector<std::string> ordered;
  for (const std::string& axis : axes) {
    if (is_knob_axis(axis)) ordered.push_back(axis);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const std::string& a, const std::string& b) { return entry_of(a) < entry_of(b); });
  const auto cpufreq = cpufreq_access(sysfs);
  std::map<std::string, std::shared_ptr<NvidiaClocks>> nvidia;
  std::vector<KnobFinding> knobs;
  for (const std::string& axis : ordered) {
    knobs.push_back(
        find_knob({axis, split_axis_name(axis).target, sysfs, cpufreq, sysfs_knobs, gpus, nvidia}));
  }
  return knobs;
}

std::vector<std::string> candidate_axes(const Sysfs& sysfs) {
  std::vector<std::string> axes;
  for (const TableEntry& entry : table) {
    if (!entry.name.ends_with('.')) axes.emplace_back(entry.name);
  }
  for (const std::string& device : sysfs.list("/sys/class/devfreq")) axes.push_back("devfreq." + device);
  return axes;
}

std::vector<SavedSetting> settings_of(const std::vector<KnobFinding>& knobs) {
  std::vector<SavedSetting> settings;
  for (const KnobFinding& finding : knobs) {
    for (const SavedSetting& setting : finding.knob->snapshot()) {
      const bool known = std::any_of(settings.begin(), settings.end(),
                                     [&](const SavedSetting& s) { return s.path == setting.path; });
      if (!known) settings.push_back(setting);
    }
  }
  return settings;
}

MachineOffers offers_of(const std::vector<KnobFinding>& knobs) {
  MachineOffers offers;
  for (const KnobFinding& finding : knobs) {
    if (!finding.knob) {
      offers.missing[finding.axis] = finding.problem;
      continue;
    }
    offers.offers[finding.axis] = finding.knob->offer();
    if (auto pairs = finding.knob->allowed_pairs()) offers.pairs.push_back(std::move(*pairs));
  }
  return offers;
}

}  // namespace dvfs_plan
