#include "base/end_processes.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <string_view>

#include "base/control_group.hpp"
#include "base/sysfs.hpp"

namespace dvfs_plan {
namespace {

// Whether a process's environment carries the mark. Entries end in NUL: it must be a whole one.
bool carries(const std::string& environment, const std::string& mark) {
  const std::string whole = environment + '\0';
  return whole.starts_with(mark + '\0') || whole.find('\0' + mark + '\0') != std::string::npos;
}

}  // namespace

bool is_marked(pid_t pid, const std::string& mark) {
  const auto environment = Sysfs().text(fmt::format("/proc/{}/environ", pid));
  return environment && carries(*environment, mark);
}

bool kill_marked(const std::string& mark) {
  const Sysfs proc;
  bool found = false;
  for (const std::string& name : proc.list("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size() || pid == ::getpid()) continue;
    if (is_marked(pid, mark)) found = ::kill(pid, SIGKILL) == 0 || found;
  }
  return found;
}

bool end_processes_of(const std::string& run, const std::string& control_group, int rounds) {
  if (run.empty()) return true;
  const std::string mark = fmt::format("{}={}", run_variable, run);
  for (int round = 0; round < rounds; ++round) {
    const bool in_group = !control_group.empty() && kill_control_group(control_group);
    if (!kill_marked(mark) && !in_group) return true;
    ::usleep(5000);
  }
  return false;
}

}  // namespace dvfs_plan
