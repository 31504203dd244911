// What machine this is, as the result file keeps it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sysfs.hpp"

namespace dvfs_plan {

std::map<std::string, std::string> machine_facts(const Sysfs& sysfs);

// A fact's name begins so that tells the SHA-256 of a file which the command of a workload or a service names.
inline constexpr const char* work_file_fact = "work file ";
// Likewise of a meter. Another machine may have a meter of its own.
inline constexpr const char* meter_file_fact = "meter file ";
// And of programs that set things.
inline constexpr const char* setter_file_fact = "setter file ";
// With which of these a fact's name begins; empty: it tells of no file.
std::string_view file_fact_of(std::string_view name);

// Facts whose change makes another machine of it: trials before and after must not be mixed.
// `also`: further facts that must be the same.
std::vector<std::string> decisive_differences(const std::map<std::string, std::string>& before,
                                              const std::map<std::string, std::string>& now,
                                              const std::vector<std::string>& also = {});

// The same of two machines that are to be of one type: which board of a kind each has makes none other of it.
std::vector<std::string> differences_of_type(const std::map<std::string, std::string>& one,
                                             const std::map<std::string, std::string>& other,
                                             const std::vector<std::string>& also = {});
// A board (its UUID or unique number) that both have: then they are one machine. nullopt: none, or boards tell nothing of the kind.
std::optional<std::string> board_of_both(const std::map<std::string, std::string>& one,
                                         const std::map<std::string, std::string>& other);

// For who uses here what was found elsewhere, or earlier. What makes it another kind of machine: architecture, processor, which CPUs
// are online, kinds and number of boards. "cpu.model: A there, B here".
std::vector<std::string> differences_of_kind(const std::map<std::string, std::string>& there,
                                             const std::map<std::string, std::string>& here);
// What may have moved the answer on one of the same kind: kernel, drivers, firmware, limits of boards. Of facts that both have.
std::vector<std::string> differences_of_state(const std::map<std::string, std::string>& there,
                                              const std::map<std::string, std::string>& here);

}  // namespace dvfs_plan
