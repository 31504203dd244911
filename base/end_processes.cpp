#include "base/end_processes.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/control_group.hpp"
#include "base/process_tree.hpp"
#include "base/sysfs.hpp"

namespace dvfs_plan {
namespace {

// Whether a process's environment carries the mark. Entries end in NUL: it must be a whole one.
bool carries(const std::string& environment, const std::string& mark) {
  const std::string whole = environment + '\0';
  return whole.starts_with(mark + '\0') || whole.find('\0' + mark + '\0') != std::string::npos;
}

constexpr std::uint64_t limit_bits = 0xffff;

// FNV-1a (RFC draft-eastlake-fnv), folded to 16 bits.
std::uint64_t short_hash(const std::string& text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return (hash >> 16 ^ hash) & limit_bits;
}

// The last bits of limits that no run of ours has set: the kernel's own 819200 (MQ_BYTES_MAX of include/uapi/linux/mqueue.h), and round ones. A run with
// such a mark has none.
bool is_anybodys(std::uint64_t bits) {
  constexpr std::uint64_t of_the_kernel = 819'200 & limit_bits;
  return bits == of_the_kernel || bits == 0;
}

// What carries a mark, the first that can: getrlimit(2) and proc_pid_limits(5).
struct Carrier {
  __rlimit_resource_t resource;
  std::string_view name;
};
constexpr std::array<Carrier, 2> carriers{
    {{RLIMIT_MSGQUEUE, "Max msgqueue size"}, {RLIMIT_LOCKS, "Max file locks"}}};

// "Max msgqueue size   819200   819200   bytes": soft and hard.
bool limits_carry(const std::string& limits, std::uint64_t bits) {
  return std::any_of(carriers.begin(), carriers.end(), [&](const Carrier& carrier) {
    const auto at = limits.find(carrier.name);
    if (at == std::string::npos) return false;
    std::istringstream rest(limits.substr(at + carrier.name.size()));
    std::uint64_t soft = 0, hard = 0;
    return rest >> soft >> hard && soft == hard && (hard & limit_bits) == bits && !is_anybodys(bits);
  });
}

// Numbers of all processes but ours.
std::vector<pid_t> other_processes() {
  std::vector<pid_t> found;
  for (const std::string& name : Sysfs().list("/proc")) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size() && pid != ::getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace

std::optional<std::uint64_t> limit_mark(const std::string& run, std::uint64_t limit) {
  constexpr std::uint64_t least = 4 * (limit_bits + 1), most = 1ULL << 40;
  if (limit < least) return std::nullopt;
  // "unlimited" is another number than all that are written out.
  return ((std::min(limit, most) & ~limit_bits) - (limit_bits + 1)) | short_hash(run);
}

std::optional<MarkedLimit> marked_limit(const std::string& run) {
  for (const Carrier& carrier : carriers) {
    rlimit now{};
    if (::getrlimit(carrier.resource, &now) != 0) continue;
    if (const auto mark = limit_mark(run, now.rlim_max))
      return MarkedLimit{static_cast<int>(carrier.resource), *mark};
  }
  return std::nullopt;
}

bool limits_are_shown() {
  const std::string shown = Sysfs().text("/proc/self/limits").value_or("");
  return std::all_of(carriers.begin(), carriers.end(),
                     [&](const Carrier& carrier) { return shown.find(carrier.name) != std::string::npos; });
}

std::string new_run() {
  constexpr int tries = 1000;
  std::string run;
  for (int i = 0; i < tries; ++i) {
    run = fmt::format("{}-{}", ::getpid(), SystemClock().now());
    const auto all = other_processes();
    if (!is_anybodys(short_hash(run)) && !is_limited(::getpid(), run) &&
        std::none_of(all.begin(), all.end(), [&](pid_t pid) { return is_limited(pid, run); }))
      return run;
  }
  return run;
}

bool is_limited(pid_t pid, const std::string& run) {
  const auto limits = Sysfs().text(fmt::format("/proc/{}/limits", pid));
  return limits && limits_carry(*limits, short_hash(run));
}

bool group_is_of(pid_t group, const std::string& run) {
  const std::string mark = fmt::format("{}={}", run_variable, run);
  const auto all = other_processes();
  return std::any_of(all.begin(), all.end(), [&](pid_t pid) {
    return ::getpgid(pid) == group && (is_limited(pid, run) || is_marked(pid, mark));
  });
}

bool kill_limited(const std::string& run) {
  // A zombie shows its limits until it is reaped.
  bool found = false;
  for (const pid_t pid : other_processes()) {
    if (is_limited(pid, run) && !has_ended(pid)) found = ::kill(pid, SIGKILL) == 0 || found;
  }
  return found;
}

bool is_marked(pid_t pid, const std::string& mark) {
  const auto environment = Sysfs().text(fmt::format("/proc/{}/environ", pid));
  return environment && carries(*environment, mark);
}

bool kill_marked(const std::string& mark) {
  bool found = false;
  for (const pid_t pid : other_processes()) {
    if (is_marked(pid, mark)) found = ::kill(pid, SIGKILL) == 0 || found;
  }
  return found;
}

bool end_processes_of(const std::string& run, const std::string& control_group, int rounds) {
  if (run.empty()) return true;
  const std::string mark = fmt::format("{}={}", run_variable, run);
  for (int round = 0; round < rounds; ++round) {
    const bool in_group = !control_group.empty() && kill_control_group(control_group);
    const bool marked = kill_marked(mark);
    if (!kill_limited(run) && !marked && !in_group) return true;
    ::usleep(5000);
  }
  return false;
}

}  // namespace dvfs_plan
