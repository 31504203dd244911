#include "probes/probe_table.hpp"

#include <algorithm>
#include <array>

#include "probes/finders.hpp"

namespace dvfs_plan {
namespace {

struct TableEntry {
  const char* name;
  ProbeFinding (*find)(const ProbeRequest&);
  bool gpu = false;
};

// Most probes need the kernel's files only.
template <ProbeFinding (*find)(const Sysfs&)>
ProbeFinding by_files(const ProbeRequest& request) {
  return find(request.sysfs);
}

constexpr std::array table{
    TableEntry{"rapl", by_files<find_rapl>},       TableEntry{"hwmon", by_files<find_hwmon>},
    TableEntry{"thermal", by_files<find_thermal>}, TableEntry{"cpufreq", by_files<find_cpufreq>},
    TableEntry{"nvidia", find_nvidia, true},       TableEntry{"amdgpu", find_amdgpu, true},
    TableEntry{"intel_gpu", find_intel_gpu, true},
};

const TableEntry* entry_of(const std::string& name) {
  const auto* found =
      std::find_if(table.begin(), table.end(), [&](const TableEntry& entry) { return name == entry.name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const TableEntry& entry : table) names.emplace_back(entry.name);
  return names;
}

bool is_gpu_probe(const std::string& name) {
  const TableEntry* entry = entry_of(name);
  return entry != nullptr && entry->gpu;
}

ProbeFinding find_probe(const std::string& name, const ProbeRequest& request) {
  const TableEntry* entry = entry_of(name);
  if (entry == nullptr) return {name, nullptr, "there is no such probe", {}};
  return entry->find(request);
}

std::vector<ProbeFinding> find_probes(const ProbeRequest& request) {
  std::vector<ProbeFinding> findings;
  for (const TableEntry& entry : table) {
    if (!entry.gpu) {
      findings.push_back(entry.find(request));
      continue;
    }
    // Boards of another vendor are no fault of the one at hand.
    ProbeFinding finding = request.boards.empty() ? ProbeFinding{} : entry.find(request);
    if (finding.probe) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dvfs_plan
