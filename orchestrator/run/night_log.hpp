// A line per trial and per fault, for machines that run nights unattended: into the system's journal with fields of their own, or on stderr
// with time and severity. Beside what a run says to people (progress.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

enum class LogTo { none, journal, stderr_lines };

class NightLog {
 public:
  NightLog(LogTo to, std::string experiment, const Clock& clock)
      : to_(to), experiment_(std::move(experiment)), clock_(clock) {}

  // False: it is to go into the journal, and there is no journald.
  bool begun(const std::string& result);
  void finished(const TrialRecord& trial);
  void fault(const std::string& kind, const std::string& message);
  void ended(const std::string& how);

 private:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  enum class Severity { info, warning, error };
  bool write(Severity severity, const std::string& message, Fields fields);

  LogTo to_;
  std::string experiment_;
  const Clock& clock_;
};

}  // namespace dvfs_plan
