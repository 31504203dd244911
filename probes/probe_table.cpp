#include "probes/probe_table.hpp"

#include <array>

#include "probes/finders.hpp"

namespace dvfs_plan {
namespace {

struct TableEntry {
  const char* name;
  ProbeFinding (*find)(const Sysfs&);
};

constexpr std::array table{
    TableEntry{"rapl", find_rapl},
    TableEntry{"hwmon", find_hwmon},
    TableEntry{"thermal", find_thermal},
    TableEntry{"cpufreq", find_cpufreq},
};

}  // namespace

std::vector<std::string> probe_names() {
  std::vector<std::string> names;
  for (const TableEntry& entry : table) names.emplace_back(entry.name);
  return names;
}

ProbeFinding find_probe(const std::string& name, const Sysfs& sysfs) {
  for (const TableEntry& entry : table) {
    if (name == entry.name) return entry.find(sysfs);
  }
  return {name, nullptr, "there is no such probe", {}};
}

std::vector<ProbeFinding> find_probes(const Sysfs& sysfs) {
  std::vector<ProbeFinding> findings;
  for (const TableEntry& entry : table) findings.push_back(entry.find(sysfs));
  return findings;
}

}  // namespace dvfs_plan
