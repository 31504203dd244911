// Errors that end a command. Thrown low, given context once a layer, printed once in main().
//
// An Error names the object, what was wanted, what was found; its hint is the next step for the person
// who reads it. Failures that a run survives (a trial that exits 1, a sensor that goes) are data, not
// Errors.
#pragma once

#include <stdexcept>
#include <string>

namespace dvfs_plan {

// Exit codes of the program; documented in the README and kept stable for scripts.
enum class ExitCode {
  done = 0,
  some_trials_failed = 1,
  bad_experiment = 2,
  machine_refuses = 3,
  not_restored = 4,
  result_rescued = 5,
  gave_up = 6,
  not_known = 7,  // of a recheck or a comparison: neither that the answer stands is shown nor that it has changed
  interrupted = 130,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message, std::string hint = {})
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}

  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

// The text for a failed system call on an object: "open /sys/...: Permission denied".
std::string system_error_text(const std::string& what, int error_number);

}  // namespace dvfs_plan
