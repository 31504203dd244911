#include "orchestrator/cluster/collector.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// A lock of a machine that is not heard of for so long is nobody's.
constexpr auto lock_patience = std::chrono::seconds(10);

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text;
}

struct timespec changed_at(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mtim : timespec{};
}

// By the file alone where it is of this machine; else by whether it is touched. Clocks are not compared: those of two machines
// may be minutes apart.
bool is_held(const std::string& path, const std::string& holder) {
  const auto words = split_words(holder);
  if (words.size() >= 2 && words[0] == host_name()) {
    const auto pid = parse_number(words[1]);
    return pid && (::kill(static_cast<pid_t>(*pid), 0) == 0 || errno == EPERM);
  }
  const auto before = changed_at(path);
  std::this_thread::sleep_for(lock_patience);
  const auto after = changed_at(path);
  return before.tv_sec != after.tv_sec || before.tv_nsec != after.tv_nsec;
}

}  // namespace

CollectorLock::CollectorLock(const SharedFolder& folder)
    : path_(folder.path() + "/collector"), mine_(fmt::format("{} {}", host_name(), ::getpid())) {
  const std::string own = fmt::format("{}.{}.{}", path_, host_name(), ::getpid());
  {
    std::ofstream file(own, std::ios::trunc);
    file << mine_ << "\n";
    file.flush();
    if (!file)
      throw Error(ExitCode::machine_refuses, fmt::format("{} cannot be written", own),
                  "is the folder there, and not full?");
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    // link() is atomic on network file systems too.
    if (::link(own.c_str(), path_.c_str()) == 0) {
      ::unlink(own.c_str());
      touches_ = std::jthread([path = path_, mine = mine_](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any stopped;
        while (!stopped.wait_for(lock, stop, lock_patience / 10, [] { return false; }) &&
               !stop.stop_requested()) {
          if (content_of(path) == mine) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
        }
      });
      return;
    }
    const std::string holder = content_of(path_);
    if (is_held(path_, holder)) {
      ::unlink(own.c_str());
      const auto words = split_words(holder);
      throw Error(ExitCode::machine_refuses,
                  words.size() >= 2 ? fmt::format("{} is collected already, by process {} on {}",
                                                  folder.path(), printable(words[1]), printable(words[0]))
                                    : fmt::format("{} is collected already", folder.path()),
                  "`dvfs-plan status RESULT --watch` looks on; one collector writes at a time");
    }
    ::unlink(path_.c_str());
  }
  ::unlink(own.c_str());
  throw Error(ExitCode::machine_refuses, fmt::format("{} cannot be made", path_),
              "is another collector starting?");
}

CollectorLock::~CollectorLock() {
  touches_ = std::jthread();  // before the file goes, which may be another's then
  if (content_of(path_) == mine_) ::unlink(path_.c_str());
}

void CollectorLock::require_held() const {
  const std::string holder = content_of(path_);
  if (holder == mine_ || holder.empty()) return;
  const auto words = split_words(holder);
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} was taken over by {}: this one was not heard of for {} s", path_,
                          words.size() >= 2
                              ? fmt::format("process {} on {}", printable(words[1]), printable(words[0]))
                              : "another collector",
                          lock_patience.count()),
              "what is finished is safe there; the same command comes back once that one has ended");
}

// Told once, whoever collects.
bool Collector::is_new(const std::string& name) {
  store_.database().prepare("INSERT OR IGNORE INTO handed_in (name) VALUES (?)").bind(name).run();
  return sqlite3_changes(store_.database().handle()) > 0;
}

Collected Collector::collect() {
  constexpr int most_of_a_transaction = 500;
  Collected collected;
  std::vector<std::string> names;
  for (std::string& name : folder_.names(part_ending)) {
    if (!done_.contains(name)) names.push_back(std::move(name));
  }
  for (std::size_t at = 0; at < names.size();) {
    Transaction transaction(store_.database());
    std::vector<std::string> done;
    const std::size_t end = std::min(names.size(), at + most_of_a_transaction);
    for (; at < end; ++at) {
      const std::string& name = names[at];
      const std::string bytes = folder_.read(name);
      if (bytes.empty()) continue;  // not to be read just now
      const TakenPart part = taker_->take(name, bytes);
      if (part.how == TakenPart::How::waits) continue;
      done.push_back(name);
      if (part.how == TakenPart::How::refused)
        collected.refused.push_back(fmt::format("{}: {}", name, part.why));
      if (part.how != TakenPart::How::taken) continue;
      ++collected.parts;
      collected.trials += name.find(".t") != std::string::npos ? 1 : 0;
    }
    taker_->settle();
    transaction.commit();
    done_.insert(done.begin(), done.end());
  }
  const std::vector<Submission> submitted = submissions(store_);
  for (const std::string& name : folder_.names(fault_ending)) {
    if (!done_.insert(name).second || !is_new(name)) continue;
    try {
      TaskFault fault = read_fault(folder_.read(name));
      // Of another night's task that came here late, or of a node that could not be looked at: that was said then.
      const bool is_ours = std::any_of(submitted.begin(), submitted.end(), [&](const Submission& one) {
        return fault.task.starts_with(one.job + "_");
      });
      if (is_ours) collected.faults.push_back(std::move(fault));
    } catch (const Error& error) {
      collected.refused.push_back(fmt::format("{}: {}", name, error.what()));
    }
  }
  return collected;
}

}  // namespace dvfs_plan
