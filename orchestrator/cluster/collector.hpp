// Takes what a cluster's tasks handed in into the result: the only writer of it. May be called as often as one likes, in
// any order of the files' coming, and by whoever comes first: the result is the same.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "orchestrator/cluster/shared_folder.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {

// One collector at a time for a folder. The lock is a file there and says who holds it: locks of the kernel are not
// to be relied on across machines.
class CollectorLock {
 public:
  // Throws Error where another one lives: one on this machine whose process is there, or one elsewhere that
  // touched the lock while this looked on.
  explicit CollectorLock(const SharedFolder& folder);
  ~CollectorLock();
  CollectorLock(const CollectorLock&) = delete;
  CollectorLock& operator=(const CollectorLock&) = delete;
  // Throws Error where another one has it by now: this one was not heard of for too long.
  void require_held() const;

 private:
  std::string path_, mine_;
  std::jthread touches_;  // that it lives, every few seconds, whatever else is waited for
};

struct Collected {
  int parts = 0;                     // taken now
  int trials = 0;                    // of them, trials
  std::vector<TaskFault> faults;     // that were not told before
  std::vector<std::string> refused;  // "NAME: why", each once
};

class Collector {
 public:
  Collector(SharedFolder folder, Store& store)
      : folder_(std::move(folder)), store_(store), taker_(std::make_unique<PartTaker>(store)) {}
  Collected collect();
  // The result goes on in another file.
  void begin_anew() { taker_ = std::make_unique<PartTaker>(store_); }

 private:
  bool is_new(const std::string& name);
  SharedFolder folder_;
  Store& store_;
  std::unique_ptr<PartTaker> taker_;
  std::set<std::string> done_;  // names that need not be looked at again
};

}  // namespace dvfs_plan
