// One child in the foreground, as env(1) or nice(1) would have it: it has our terminal, standard input and
// outputs and what else our caller left open for it (make's job server), gets the signals that we get, and its exit
// code is ours.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/spawn.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

class SignalWitness;

class ForegroundChild {
 public:
  // Blocks the signals that it passes on, for this thread and all that it starts, and notes what is open. Once, before
  // any thread and any file of ours.
  ForegroundChild();

  // Signals that ask us to end: the number of the last one; 0: none. While there is a child they are its own, and only looked at;
  // SIGCHLD then says that it has ended.
  int pending();

  // `ran` is called once it runs, `tick` once a second from then on. The child's exit code, 128 + its signal
  // where one ended it; -1: it could not be started, and `problem` says why.
  struct Ended {
    int code = -1;
    std::string problem;
  };
  Ended run(SpawnSpec spec, const std::function<void(pid_t)>& ran, const std::function<void()>& tick);

 private:
  void pass_on(pid_t child, SignalWitness& witness);
  std::vector<int> inherited_;
  UniqueFd signals_;
  int pending_ = 0;
  pid_t child_ = -1;
};

}  // namespace dvfs_plan
