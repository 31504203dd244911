// SIGINT, SIGTERM and SIGHUP as something that can be waited for, so that every way out passes through
// the code that puts the machine back. Construct it once, in main(), before any thread.
#pragma once

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {

class Interruption {
 public:
  Interruption();                       // blocks the signals for this thread and all that it starts
  int fd() const { return fd_.get(); }  // readable once a signal is there
  // The signal that asked us to stop, 0 if none did. Each call takes what has arrived since.
  int pending();
  // Signals received so far: a second one means "now".
  int count() const { return count_; }
  // Whether this program was stopped and continued (SIGCONT) since the last call.
  bool take_continued();
  // Sleeps until `when`, or until a signal is there: false then.
  bool sleep_until(Nanoseconds when, const Clock& clock);

 private:
  UniqueFd fd_;
  int signal_ = 0;
  int count_ = 0;
  bool continued_ = false;
};

}  // namespace dvfs_plan
