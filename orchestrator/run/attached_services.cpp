#include "orchestrator/run/attached_services.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/process_tree.hpp"
#include "base/tcp_port.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Its number or address; nullptr: it is started by us, or each point has its own ("{port}").
const std::string* one_for_all_points(const ServiceSpec& spec) {
  if (!spec.attached()) return nullptr;
  const std::string& where = spec.attached_pid ? spec.attached_pid->text : spec.attached_address->text;
  return where.find('{') == std::string::npos ? &where : nullptr;
}

}  // namespace

std::set<pid_t> with_what_it_started(const std::set<pid_t>& roots) {
  auto all = with_descendants(roots);
  return all.contains(::getpid()) ? roots : all;
}

std::string no_process(const std::string& pid) {
  return fmt::format("is not there: there is no process {}", printable(pid));
}
std::string no_answer(const std::string& address) {
  return fmt::format("does not answer at {}", printable(address));
}

std::optional<Error> attached_obstacle(const Plan& plan) {
  // What one that we start brings up may be attached to by another.
  const bool starts_some = std::any_of(plan.services.begin(), plan.services.end(),
                                       [](const PlanService& one) { return !one.spec.attached(); });
  for (std::size_t i = 0; i < plan.services.size(); ++i) {
    const ServiceSpec& spec = plan.services[i].spec;
    const std::string* const where = one_for_all_points(spec);
    const bool is_used =
        std::any_of(plan.workloads.begin(), plan.workloads.end(), [&](const PlanWorkload& workload) {
          return std::find(workload.services.begin(), workload.services.end(), static_cast<int>(i)) !=
                 workload.services.end();
        });
    if (where == nullptr || !is_used || (spec.attached_address && starts_some)) continue;
    std::string problem;
    if (spec.attached_pid) {
      if (!started_at_tick(static_cast<pid_t>(parse_number(*where).value_or(-1))))
        problem = no_process(*where);
    } else if (const auto address = parse_tcp_address(*where);
               address && !tcp_answers(*address, answer_limit)) {
      problem = no_answer(*where);
    }
    if (!problem.empty())
      return Error(
          ExitCode::machine_refuses, fmt::format("service '{}' {}", spec.name, problem),
          "start it first: 'attach' takes what runs already; with 'command' dvfs-plan starts it itself");
  }
  return std::nullopt;
}

std::set<pid_t> attached_processes(const Plan& plan) {
  std::set<pid_t> all;
  for (const PlanService& service : plan.services) {
    const ServiceSpec& spec = service.spec;
    const std::string* const where = one_for_all_points(spec);
    if (where == nullptr) continue;
    const auto address = spec.attached_pid ? std::nullopt : parse_tcp_address(*where);
    const pid_t pid = spec.attached_pid ? static_cast<pid_t>(parse_number(*where).value_or(-1))
                      : address         ? listener_of(*address).value_or(-1)
                                        : -1;
    if (pid > 0 && started_at_tick(pid)) all.merge(with_what_it_started({pid}));
  }
  return all;
}

}  // namespace dvfs_plan
