#include "orchestrator/machine/machine_facts.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

std::string after_colon(const std::string& line) {
  const auto colon = line.find(':');
  return colon == std::string::npos ? std::string{}
                                    : std::string(trim(std::string_view(line).substr(colon + 1)));
}

using Facts = std::map<std::string, std::string>;

bool is_board(const std::string& name) {
  return name.starts_with("gpu-") && name.find('.') == std::string::npos;
}

// "NVIDIA H200, GPU-..., NVIDIA 580.159.04": what it is, which one, its driver (board_facts()).
std::vector<std::string> parts_of(const std::string& fact) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t comma = 0; comma != std::string::npos; from = comma + 2) {
    comma = fact.find(", ", from);
    parts.push_back(fact.substr(from, comma == std::string::npos ? comma : comma - from));
  }
  return parts;
}

std::string both(const std::string& name, const std::string& there, const std::string& here) {
  return fmt::format("{}: {} there, {} here", name, there, here);
}

void compare_both(const std::string& name, const Facts& there, const Facts& here,
                  std::vector<std::string>& differences) {
  const auto old_fact = there.find(name), new_fact = here.find(name);
  if (old_fact != there.end() && new_fact != here.end() && old_fact->second != new_fact->second)
    differences.push_back(both(name, old_fact->second, new_fact->second));
}

// Where /proc/cpuinfo has no "model name" (64-bit Arm, POWER, RISC-V): the kinds of CPUs by their numbers, and what the firmware calls the
// machine. Documentation/arch/arm64/cpu-feature-registers.rst (MIDR_EL1); Documentation/devicetree/usage-model.rst.
std::string model_without_a_name(const Sysfs& sysfs) {
  std::vector<std::string> kinds;
  std::string one;
  const auto ends = [&] {
    if (!one.empty() && std::find(kinds.begin(), kinds.end(), one) == kinds.end()) kinds.push_back(one);
    one.clear();
  };
  for (const std::string& line : split_lines(sysfs.text("/proc/cpuinfo").value_or(""))) {
    if (line.starts_with("processor")) ends();
    for (const char* name : {"CPU implementer", "CPU variant", "CPU part", "cpu\t", "uarch"}) {
      if (line.starts_with(name)) one += (one.empty() ? "" : " ") + after_colon(line);
    }
  }
  ends();
  std::string machine = sysfs.text("/proc/device-tree/model").value_or("");
  while (!machine.empty() && machine.back() == '\0') machine.pop_back();
  if (machine.empty()) machine = sysfs.text("/sys/class/dmi/id/product_name").value_or("");
  if (!kinds.empty()) machine += (machine.empty() ? "" : ", ") + ("CPU " + join(kinds, " and "));
  return machine;
}

// Without which board it is.
Facts of_any_board(const Facts& facts) {
  Facts all = facts;
  std::erase_if(all, [](const auto& fact) {
    return fact.first.starts_with(meter_file_fact) || fact.first.starts_with(setter_file_fact);
  });
  for (auto& [name, fact] : all) {
    auto parts = parts_of(fact);
    if (!is_board(name) || parts.size() < 2) continue;
    parts.erase(parts.begin() + 1);
    fact = join(parts, ", ");
  }
  return all;
}

}  // namespace

std::string_view file_fact_of(std::string_view name) {
  for (const std::string_view begin : {work_file_fact, meter_file_fact, setter_file_fact}) {
    if (name.starts_with(begin)) return begin;
  }
  return {};
}

std::map<std::string, std::string> machine_facts(const Sysfs& sysfs) {
  std::map<std::string, std::string> facts;
  utsname names{};
  if (sysfs.root().empty() && ::uname(&names) == 0) {
    facts["host"] = names.nodename;
    facts["kernel"] = fmt::format("{} {}", names.sysname, names.release);
    facts["architecture"] = names.machine;
  }
  for (const std::string& line : split_lines(sysfs.text("/proc/cpuinfo").value_or(""))) {
    if (line.starts_with("model name") && !facts.contains("cpu.model"))
      facts["cpu.model"] = after_colon(line);
    if (line.starts_with("microcode") && !facts.contains("cpu.microcode"))
      facts["cpu.microcode"] = after_colon(line);
  }
  if (!facts.contains("cpu.model")) {
    if (const std::string model = model_without_a_name(sysfs); !model.empty()) facts["cpu.model"] = model;
  }
  if (const auto online = sysfs.text("/sys/devices/system/cpu/online")) facts["cpu.online"] = *online;
  if (const auto bios = sysfs.text("/sys/class/dmi/id/bios_version"); bios && !bios->empty())
    facts["bios"] = *bios;
  if (const auto smt = sysfs.text("/sys/devices/system/cpu/smt/control")) facts["cpu.smt"] = *smt;
  std::set<std::string> drivers;
  const std::string cpufreq = "/sys/devices/system/cpu/cpufreq/";
  for (const std::string& policy : sysfs.list(cpufreq)) {
    if (const auto driver = sysfs.text(cpufreq + policy + "/scaling_driver")) drivers.insert(*driver);
  }
  for (const std::string& driver : drivers)
    facts["cpufreq.driver"] += (facts["cpufreq.driver"].empty() ? "" : ", ") + driver;
  if (const auto status = sysfs.text("/sys/devices/system/cpu/intel_pstate/status"))
    facts["intel_pstate.status"] = *status;
  for (const std::string& line : split_lines(sysfs.text("/etc/os-release").value_or(""))) {
    constexpr std::string_view key = "PRETTY_NAME=";  // in quotes or not: os-release(5)
    if (!line.starts_with(key)) continue;
    std::string name = line.substr(key.size());
    if (name.size() > 1 && (name.front() == '"' || name.front() == '\'') && name.back() == name.front())
      name = name.substr(1, name.size() - 2);
    if (!name.empty()) facts["os"] = name;
  }
  return facts;
}

std::vector<std::string> decisive_differences(const std::map<std::string, std::string>& before,
                                              const std::map<std::string, std::string>& now,
                                              const std::vector<std::string>& also) {
  std::vector<std::string> differences;
  const auto compare = [&](const std::string& name) {
    const auto old_fact = before.find(name), new_fact = now.find(name);
    const std::string old_text = old_fact == before.end() ? "none" : old_fact->second;
    const std::string new_text = new_fact == now.end() ? "none" : new_fact->second;
    // Of results before it was known of such machines.
    if (name == "cpu.model" && old_fact == before.end()) return;
    if (old_text != new_text)
      differences.push_back(fmt::format("machine / {}: {} -> {}", name, old_text, new_text));
  };
  for (const char* name : {"architecture", "cpu.model", "cpu.online", "cpu.smt", "cpufreq.driver",
                           "intel_pstate.status", "kernel"})
    compare(name);
  // The boards themselves and their driver; their settings may differ from day to day.
  for (const auto& [name, old_text] : before) {
    const auto new_fact = now.find(name);
    if (is_board(name) && (new_fact == now.end() || new_fact->second != old_text))
      differences.push_back(fmt::format("machine / {}: {} -> {}", name, old_text,
                                        new_fact == now.end() ? "none" : new_fact->second));
  }
  // Files that commands name: one that was not there when the night began may be a product of the work.
  for (const auto& [name, old_text] : before) {
    const auto new_fact = now.find(name);
    const bool is_file = !file_fact_of(name).empty();
    if (is_file && new_fact != now.end() && new_fact->second != old_text)
      differences.push_back(fmt::format("{}: {} -> {}", name, old_text, new_fact->second));
  }
  for (const auto& [name, new_text] : now) {
    if (is_board(name) && !before.contains(name))
      differences.push_back(fmt::format("machine / {}: none -> {}", name, new_text));
  }
  for (const std::string& name : also) compare(name);
  return differences;
}

std::vector<std::string> differences_of_type(const Facts& one, const Facts& other,
                                             const std::vector<std::string>& also) {
  return decisive_differences(of_any_board(one), of_any_board(other), also);
}

std::optional<std::string> board_of_both(const Facts& one, const Facts& other) {
  const auto boards_of = [](const Facts& facts) {
    std::set<std::string> which;
    for (const auto& [name, fact] : facts) {
      const auto parts = parts_of(fact);
      // A place on the bus is as good as any other machine's.
      const bool is_its_own =
          is_board(name) && parts.size() > 1 && !parts[1].empty() && parts[1].find(':') == std::string::npos;
      if (is_its_own) which.insert(parts[1]);
    }
    return which;
  };
  const auto here = boards_of(one);
  for (const std::string& board : boards_of(other)) {
    if (here.contains(board)) return board;
  }
  return std::nullopt;
}

std::vector<std::string> differences_of_kind(const Facts& there, const Facts& here) {
  std::vector<std::string> differences;
  for (const char* name : {"architecture", "cpu.model", "cpu.online"})
    compare_both(name, there, here, differences);
  std::set<std::string> boards;
  for (const Facts* facts : {&there, &here}) {
    for (const auto& [name, fact] : *facts) {
      if (is_board(name)) boards.insert(name);
    }
  }
  for (const std::string& name : boards) {
    const auto old_fact = there.find(name), new_fact = here.find(name);
    const std::string was = old_fact == there.end() ? "none" : parts_of(old_fact->second).front();
    const std::string is = new_fact == here.end() ? "none" : parts_of(new_fact->second).front();
    if (was != is) differences.push_back(both(name, was, is));
  }
  return differences;
}

std::vector<std::string> differences_of_state(const Facts& there, const Facts& here) {
  std::vector<std::string> differences;
  for (const char* name :
       {"kernel", "cpu.microcode", "bios", "cpu.smt", "cpufreq.driver", "intel_pstate.status"})
    compare_both(name, there, here, differences);
  for (const auto& [name, fact] : there) {
    const auto now = here.find(name);
    if (!name.starts_with("gpu-") || now == here.end()) continue;
    const auto was = parts_of(fact), is = parts_of(now->second);
    // Which board it is (its UUID) is no difference; what follows is the driver, or settings one by one.
    for (std::size_t i = is_board(name) ? 2 : 0; i < std::min(was.size(), is.size()); ++i) {
      if (was[i] != is[i]) differences.push_back(both(name, was[i], is[i]));
    }
  }
  return differences;
}

}  // namespace dvfs_plan
