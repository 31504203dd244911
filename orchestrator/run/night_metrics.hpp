// What a running night is at, as OpenMetrics text for Prometheus and its like (OpenMetrics 1.0, the text format). Filled in by the run,
// read by whoever serves it (metrics_server.hpp), at any time.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/reading.hpp"
#include "experiments/plan/plan.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {

class NightMetrics {
 public:
  NightMetrics(const Clock& clock, const Plan& plan, std::vector<Channel> channels, std::string version);

  // `remaining`: trials that are planned and not finished; `eta`: until they are, where that is known.
  void begins(const PlannedTrial& trial, int finished, int remaining, std::optional<Seconds> eta);
  void finished(const TrialRecord& trial);
  // Of the night, not of a trial: the result file cannot be written, the night stops.
  void fault(const std::string& kind, const std::string& message);
  // The reference's change within the last block, a share, by scenario.
  void drift(const std::map<std::string, double>& by_scenario);
  void ends();

  std::string text() const;

 private:
  struct Fault {
    std::string kind, message;
    double at = 0;  // s since 1970
  };
  void note_fault(const std::string& kind, const std::string& message);

  const Clock& clock_;
  const Plan& plan_;
  const std::vector<Channel> channels_;
  const std::string version_;
  mutable std::mutex mutex_;
  std::optional<PlannedTrial> now_;
  bool begun_ = false;  // before that nobody has counted what is there
  int finished_ = 0, remaining_ = 0;
  std::optional<Nanoseconds> done_at_;  // what is planned, as far as can be told
  struct Last {
    std::string trial;
    std::optional<double> seconds, joules;
    std::map<std::string, double> watts;  // means over what counts, by domain
  };
  std::optional<Last> last_;
  std::map<std::string, int> verdicts_, faults_;
  std::optional<Fault> last_fault_;
  std::map<std::string, double> drift_;
};

}  // namespace dvfs_plan
