#include "orchestrator/commands/run_as.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

Credentials require_user(const std::string& name) {
  auto user = find_user(name);
  if (!user)
    throw Error(ExitCode::machine_refuses, fmt::format("user '{}' cannot be looked up now", name),
                "see: getent passwd " + shell_quote(name));
  return *user;
}

[[noreturn]] void refuse_another(const std::string& what, const std::string& user,
                                 const std::string& caller) {
  throw Error(
      ExitCode::machine_refuses,
      fmt::format("{} is to run as {}, and this program serves {}, who called it through sudo: only root "
                  "himself may name another user",
                  what, user, caller),
      "take 'run_as' away, or let root himself run it: su -, or env -u SUDO_UID in root's shell");
}

std::optional<Credentials> user_of_program(const char* kind, const ProgramSpec& program) {
  return user_of(fmt::format("{} '{}'", kind, program.name),
                 program.run_as ? std::optional(program.run_as->text) : std::nullopt);
}

}  // namespace

std::optional<Credentials> user_of(const std::string& what, const std::optional<std::string>& run_as) {
  const auto invoking = invoking_user();
  auto user = run_as ? std::optional(require_user(*run_as)) : invoking;
  if (!user || (user->user == ::geteuid() && !invoking)) return std::nullopt;
  if (const auto& caller = came_through_sudo()) refuse_another(what, user->name, *caller);
  if (::geteuid() != 0)
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} is to run as {}, which only root may arrange", what, user->name),
                "run with sudo, or take 'run_as' away");
  if (invoking && user->user != invoking->user) refuse_another(what, user->name, invoking->name);
  return user;
}

std::map<std::string, std::optional<Credentials>> workload_users(const Plan& plan) {
  std::map<std::string, std::optional<Credentials>> users;
  for (const PlanWorkload& workload : plan.workloads)
    users[workload.spec.name] = user_of_program("workload", workload.spec);
  return users;
}

std::map<std::string, std::optional<Credentials>> service_users(const Plan& plan) {
  std::map<std::string, std::optional<Credentials>> users;
  for (const PlanService& service : plan.services)
    users[service.spec.name] = user_of_program("service", service.spec);
  return users;
}

}  // namespace dvfs_plan
