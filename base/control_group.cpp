#include "base/control_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/sysfs.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Where the unified hierarchy is mounted (proc_pid_mountinfo(5)): the fields before " - " end with what is
// mounted where, the first one behind it is the file system's type.
std::optional<std::string> unified_mount(const Sysfs& proc) {
  for (const std::string& line : split_lines(proc.text("/proc/self/mountinfo").value_or(""))) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos || !line.substr(dash + 3).starts_with("cgroup2 ")) continue;
    const auto fields = split_words(line.substr(0, dash));
    if (fields.size() > 4) return fields[4];
  }
  return std::nullopt;
}

// The group that a process is in: the line "0::PATH" of /proc/PID/cgroup (cgroups(7)).
std::optional<std::string> group_of(const std::string& pid) {
  for (const std::string& line : split_lines(Sysfs().text("/proc/" + pid + "/cgroup").value_or(""))) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return std::nullopt;
}

std::vector<pid_t> processes_in(const std::string& path) {
  std::vector<pid_t> found;
  for (const std::string& word : split_words(Sysfs().text(path + "/cgroup.procs").value_or(""))) {
    // 0: it is none of our pid namespace's.
    found.push_back(static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10)));
  }
  return found;
}

bool kill_one_by_one(const std::string& path) {
  bool found = false;
  for (const pid_t pid : processes_in(path)) {
    if (pid > 0) found = ::kill(pid, SIGKILL) == 0 || found;
  }
  return found;
}

bool populated(std::string_view events) {
  return events.find("populated 1") != std::string_view::npos;
}

}  // namespace

std::optional<ControlGroup> ControlGroup::make(const std::string& name) {
  const Sysfs proc;
  const auto mount = unified_mount(proc);
  if (!mount) return std::nullopt;
  const std::string own = group_of("self").value_or("/");
  return make_at(*mount + (own == "/" ? "" : own) + "/" + name);
}

std::optional<ControlGroup> ControlGroup::make_within(const std::string& name) const {
  return make_at(path_ + "/" + name);
}

std::optional<ControlGroup> ControlGroup::make_at(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) return std::nullopt;
  UniqueFd procs(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  UniqueFd events(::open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!procs || !events) {
    ::rmdir(path.c_str());
    return std::nullopt;
  }
  return ControlGroup(path, std::move(procs), std::move(events));
}

ControlGroup::~ControlGroup() {
  if (!procs_) return;  // moved from
  constexpr int rounds = 200;
  for (int round = 0; round < rounds && !empty(); ++round) {
    kill_control_group(path_);
    ::usleep(1000);
  }
  remove_control_group(path_);
}

bool ControlGroup::empty() const {
  std::array<char, 256> text;
  const ssize_t count = ::pread(events_.get(), text.data(), text.size(), 0);
  return count <= 0 || !populated({text.data(), static_cast<std::size_t>(count)});
}

std::vector<pid_t> ControlGroup::processes() const {
  std::vector<pid_t> found = processes_in(path_);
  std::erase(found, 0);
  return found;
}

std::optional<ControlGroupUse> use_of_control_group(const std::string& path) {
  std::map<std::string, Seconds> told;
  for (const std::string& line : split_lines(Sysfs().text(path + "/cpu.stat").value_or(""))) {
    const auto words = split_words(line);
    if (words.size() != 2) continue;
    if (const auto value = parse_number(words[1])) told[words[0]] = Seconds{1e-6 * *value};
  }
  const auto all = told.find("usage_usec"), user = told.find("user_usec"), system = told.find("system_usec");
  if (all == told.end() || user == told.end() || system == told.end()) return std::nullopt;
  return ControlGroupUse{all->second, user->second, system->second};
}

bool ControlGroup::holds(pid_t pid) const {
  const auto group = group_of(std::to_string(pid));
  return group && group->size() > 1 && path_.ends_with(*group);
}

std::string control_group_of(pid_t pid) {
  const auto mount = unified_mount(Sysfs());
  const auto group = group_of(std::to_string(pid));
  return mount && group ? *mount + (*group == "/" ? "" : *group) : std::string();
}

std::set<std::string> control_groups_of_none_but(const std::set<pid_t>& processes) {
  std::set<std::string> all, theirs;
  for (const pid_t pid : processes) all.insert(control_group_of(pid));
  for (const std::string& path : all) {
    const auto within = processes_in(path);
    // What groups within it use is its use too.
    const bool is_last =
        Sysfs().text(path + "/cgroup.stat").value_or("").find("nr_descendants 0\n") != std::string::npos;
    if (is_last && !within.empty() &&
        std::all_of(within.begin(), within.end(), [&](pid_t pid) { return processes.contains(pid); }))
      theirs.insert(path);
  }
  return theirs;
}

bool kill_control_group(const std::string& path) {
  if (!populated(Sysfs().text(path + "/cgroup.events").value_or(""))) return false;
  // Since Linux 5.14; it reaches groups within this one too.
  if (Sysfs().write(path + "/cgroup.kill", "1") == 0) return true;
  bool found = kill_one_by_one(path);
  for (const std::string& name : Sysfs().list(path)) {
    if (std::filesystem::is_directory(path + "/" + name))
      found = kill_control_group(path + "/" + name) || found;
  }
  return found;
}

bool kill_control_group(const ControlGroup& group) {
  return !group.empty() && kill_control_group(group.path());
}

void remove_control_group(const std::string& path) {
  if (::rmdir(path.c_str()) == 0) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_directory(error)) remove_control_group(entry.path());
  }
  ::rmdir(path.c_str());
}

}  // namespace dvfs_plan
