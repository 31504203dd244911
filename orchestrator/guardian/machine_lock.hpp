// One sweep a machine at a time: who has it, who waits for it.
//
// The lock is a file in the state folder. A guardian without rights of its own (a user's, without knobs) has
// another folder than root's: a name in the abstract socket space, which needs no file and goes with its
// holder, is taken besides. Anybody may take that name, and keep others out by it: who is refused is told who has it.
#pragma once

#include <optional>
#include <string>

#include "base/unique_fd.hpp"
#include "orchestrator/guard/state_folder.hpp"

namespace dvfs_plan {

struct Holder {
  std::string user, experiment, since, until;  // until: as the run expects; may be empty
  int pid = 0;
  bool elsewhere = false;  // its PID is of another PID namespace (a container), and means nothing here

  std::string text() const;  // "pid 12, night.yaml, since 2026-..., by alice, until about ..."
};

// Who has it; nullopt: nobody, as far as is known. `folder`: nullptr where there is none yet.
std::optional<Holder> holder_of_machine(const StateFolder* folder, bool of_machine);

class MachineLock {
 public:
  // `of_machine`: the abstract name too (not for a recorded tree).
  MachineLock(StateFolder& folder, bool of_machine) : folder_(folder), of_machine_(of_machine) {}

  enum class Taken { yes, no };
  // Not where others queue before us. `note`: what is to be told besides.
  Taken try_take(const Holder& us, std::string& note);
  void describe(const Holder& us);

  // Who asked whose the name is has his answer from the kernel: makes room for the next ones.
  void let_visitors_go() const;

  // Takes a place in the queue. Places end with their processes.
  void queue_up();
  int place();  // 1: next

 private:
  int ahead();
  bool take_name(std::string& note);

  StateFolder& folder_;
  const bool of_machine_;
  UniqueFd lock_, name_, ticket_;
  long number_ = 0;  // of our ticket; 0: none
};

}  // namespace dvfs_plan
