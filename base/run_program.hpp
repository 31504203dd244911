// Runs a helper program (nvidia-smi) to its end and keeps what it said. No shell; its own process group;
// ended at the deadline. Workloads and meters are launched by child.hpp instead.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.hpp"

namespace dvfs_plan {

struct ProgramAnswer {
  int exit_code = -1;   // -1 if it did not exit by itself
  std::string output;   // standard output and standard error, as they came, at most 4 MiB
  std::string problem;  // why there is no exit code: "/usr/bin/nvidia-smi did not answer within 30 s"
  bool timed_out = false;
  bool ran() const { return problem.empty(); }
};

// `program` is a path; `arguments` do not hold its name. `stop`, where given, is asked ten times a second:
// once it says so the program is ended as at its deadline.
ProgramAnswer run_program(const std::string& program, const std::vector<std::string>& arguments,
                          Seconds deadline, const std::function<bool()>& stop = {});
// The same, with an environment of its own: "NAME=value", all of it.
ProgramAnswer run_program_in(const std::vector<std::string>& environment, const std::string& program,
                             const std::vector<std::string>& arguments, Seconds deadline);

}  // namespace dvfs_plan
