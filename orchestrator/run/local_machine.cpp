#include "orchestrator/run/local_machine.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace dvfs_plan {

std::size_t axis_of(const Plan& plan, const std::string& name) {
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    if (plan.axes[i].name == name) return i;
  }
  throw Error(ExitCode::machine_refuses, fmt::format("internal: knob {} is no axis of the plan", name));
}

}  // namespace dvfs_plan
