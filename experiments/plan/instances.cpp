// Which programs run at once in a trial.
#include <fmt/format.h>

#include <algorithm>

#include "experiments/plan/command_line.hpp"
#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

int copies_of(const Plan& plan, const WorkloadSpec& spec, const PlanPoint& point) {
  if (!spec.instances) return 1;
  // The resolver has seen that it is a whole number.
  return static_cast<int>(parse_number(filled(spec.instances->text, plan.axes, point.values)).value_or(1));
}

}  // namespace

std::vector<Instance> instances_of(const Plan& plan, const PlanPoint& point) {
  const PlanWorkload& workload = plan.workloads[static_cast<std::size_t>(point.workload)];
  std::vector<Instance> all;
  const auto add = [&](int index, bool named) {
    const WorkloadSpec& spec = plan.workloads[static_cast<std::size_t>(index)].spec;
    const int copies = copies_of(plan, spec, point);
    for (int copy = 0; copy < copies; ++copy) {
      std::string name = named ? spec.name : "";
      if (copies > 1) name += fmt::format("{}instance {} of {}", named ? ", " : "", copy + 1, copies);
      all.push_back({index, copy, copies, name.empty() ? "the workload" : name});
    }
  };
  if (workload.members.empty()) add(point.workload, false);
  for (const int member : workload.members) add(member, true);
  return all;
}

Seconds longest_run(const Plan& plan, int workload) {
  const PlanWorkload& one = plan.workloads[static_cast<std::size_t>(workload)];
  if (one.members.empty()) return one.spec.timeout + one.spec.grace;
  Seconds longest{0};
  for (const int member : one.members) longest = std::max(longest, longest_run(plan, member));
  return longest;
}

std::map<std::string, std::string> instance_words(const WorkloadSpec& spec, const Instance& instance) {
  if (!spec.instances) return {};
  return {{"instance", std::to_string(instance.copy)}};
}

}  // namespace dvfs_plan
