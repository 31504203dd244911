// SIGINT, SIGTERM and SIGHUP as something that can be waited for, so that every way out passes through
// the code that puts the machine back. Construct it once, in main(), before any thread.
#pragma once

#include <atomic>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

class Interruption {
 public:
  Interruption();                       // blocks the signals for this thread and all that it starts
  int fd() const { return fd_.get(); }  // readable once a signal is there, SIGCHLD too
  // The signal that asked us to stop, 0 if none did. Each call takes what has arrived since.
  int pending();
  // Of any that there was in this process, for its exit code: shells say 128 + the signal. 0: none.
  static int asked();
  // The same, of who takes signals in a way of his own (foreground_child.hpp).
  static void note_asked(int signal);
  // Whether a signal has asked that of this process to stop, taken or not yet: for who waits and knows of none.
  static bool is_asked();
  // Signals received so far: a second one means "now".
  int count() const { return count_; }
  // Whether this program was stopped and continued (SIGCONT) since the last call.
  bool take_continued();
  // Sleeps until `when`, or until a signal is there: false then.
  bool sleep_until(Nanoseconds when, const Clock& clock);
  // The machine is as it was and all is stored: from now on a signal ends the process, which may only be waiting
  // for somebody to read its answer. Those that came before are answered already.
  void let_signals_end_us();

 private:
  UniqueFd fd_;
  std::atomic<int> signal_ = 0, count_ = 0;  // asked by who waits for a sensor, too
  std::atomic<bool> continued_ = false;
};

}  // namespace dvfs_plan
