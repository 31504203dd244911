// A process beside us that does nothing, and shows whether a signal that came to us came to all.
//
// Who sends one to all of a job (kill(1) of a process group, timeout(1), sudo with a terminal of its own, a service manager, Slurm) sends
// it to our child too: passed on it would come twice, which for many programs is another wish than once.
#pragma once

#include <sys/types.h>

#include <set>

#include "base/unique_fd.hpp"

namespace dvfs_plan {

class SignalWitness {
 public:
  // Of our process group and session, with our rights; it goes with the thread that begins it. A child to who waits for any of his. Where there can be none it has got nothing.
  SignalWitness();
  ~SignalWitness();
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;

  // Which signals came to it since it was asked last, up to 20 ms from now: who sends one to all of a group does so to one after the other,
  // and some (timeout(1)) to us by ourselves before.
  std::set<int> got();
  // What came to it and not to us is of no interest: somebody ended another program of its name.
  void forget();

 private:
  void begin();
  void end();
  void begin_anew();
  std::set<int> pending() const;
  pid_t pid_ = -1;
  UniqueFd handle_;  // of the process
};

// Whether the kernel sent it to all of the terminal's group: Ctrl-C, Ctrl-Z. When the terminal is closed it sends SIGHUP to who leads the session
// alone, and to its group only once that has ended (tty_ioctl(4), setsid(2)).
bool is_of_terminal(int signal, int code);

}  // namespace dvfs_plan
