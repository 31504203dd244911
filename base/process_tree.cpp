#include "base/process_tree.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "base/sysfs.hpp"
#include "base/text.hpp"

namespace dvfs_plan {

std::vector<pid_t> children_of(pid_t pid) {
  std::vector<pid_t> children;
  const Sysfs proc;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  for (const std::string& task : proc.list(tasks)) {
    for (const std::string& word :
         split_words(proc.text(fmt::format("{}/{}/children", tasks, task)).value_or("")))
      children.push_back(static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10)));
  }
  return children;
}

std::set<pid_t> with_descendants(const std::set<pid_t>& roots) {
  std::set<pid_t> all;
  std::vector<pid_t> left(roots.begin(), roots.end());
  while (!left.empty()) {
    const pid_t pid = left.back();
    left.pop_back();
    if (!all.insert(pid).second) continue;
    for (const pid_t child : children_of(pid)) left.push_back(child);
  }
  return all;
}

namespace {

// Of /proc/PID/stat, from field 3 on: behind the command's name, which may hold anything. Empty: it is not there.
std::vector<std::string> stat_words(pid_t pid) {
  const auto text = Sysfs().text(fmt::format("/proc/{}/stat", pid));
  return text ? split_words(text->substr(text->rfind(')') + 1)) : std::vector<std::string>{};
}

// By what stat_words() gives of it; see has_ended().
bool is_ended(const std::vector<std::string>& words) {
  constexpr std::size_t threads = 17;  // field 20
  if (words.empty() || words[0] == "X") return true;
  return words[0] == "Z" && (words.size() <= threads || parse_number(words[threads]).value_or(0) <= 1);
}

}  // namespace

std::set<pid_t> living_of_group(pid_t group) {
  std::set<pid_t> living;
  for (const pid_t pid : with_descendants({::getpid()})) {
    // state ppid pgrp
    const auto words = stat_words(pid);
    if (words.size() > 2 && !is_ended(words) && parse_number(words[2]) == static_cast<double>(group))
      living.insert(pid);
  }
  return living;
}

bool has_ended(pid_t pid) {
  return is_ended(stat_words(pid));
}

std::optional<pid_t> parent_of(pid_t pid) {
  const auto words = stat_words(pid);
  if (words.size() < 2) return std::nullopt;
  return static_cast<pid_t>(parse_number(words[1]).value_or(0));
}

std::optional<std::int64_t> started_at_tick(pid_t pid) {
  const auto words = stat_words(pid);
  constexpr std::size_t start_time = 19;  // field 22
  if (words.size() <= start_time) return std::nullopt;
  return static_cast<std::int64_t>(parse_number(words[start_time]).value_or(0));
}

std::int64_t current_tick() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const std::int64_t ticks = ::sysconf(_SC_CLK_TCK);
  return now.tv_sec * ticks + now.tv_nsec * ticks / 1'000'000'000;
}

ProcessUse use_of(const std::set<pid_t>& processes) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  ProcessUse use;
  for (const pid_t pid : processes) {
    // state ppid ... utime(14) stime cutime cstime(17) ... rss(24).
    const auto words = stat_words(pid);
    constexpr std::size_t utime = 11, cstime = 14, rss = 21;
    if (words.size() <= rss) continue;
    for (std::size_t i = utime; i <= cstime; ++i)
      use.cpu = use.cpu + Seconds{parse_number(words[i]).value_or(0) / ticks};
    use.rss_bytes += static_cast<std::int64_t>(parse_number(words[rss]).value_or(0)) * page;
  }
  return use;
}

}  // namespace dvfs_plan
