// A run on this machine: of a whole experiment, or of a part of it that belongs to a result of several machines.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/interruption.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/run/night_log.hpp"
#include "orchestrator/run/run_loop.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

struct RunOptions : CommonOptions {
  std::string output;        // the result file to write
  bool fresh = false;        // the old one is kept under another name
  bool quiet = false;        // no progress on stderr
  bool no_html = false;      // leave the page out
  bool wait = false;         // where somebody else has the machine
  std::string metrics = {};  // where they are served (MetricsServer); empty: nowhere
  LogTo log = LogTo::none;
  std::optional<std::string> text =
      std::nullopt;  // of the experiment, where it is not what the file holds by now
};

// What makes a run a part of something larger. It has a file of its own, and makes no report.
class RunPart {
 public:
  virtual ~RunPart() = default;
  virtual std::string file() const = 0;
  // The energy that counts; empty: what the sensors here say.
  virtual std::string energy_source() const = 0;
  // Whether its trials are apart from those of the result that they are kept in: the result is finished whatever they say.
  virtual bool apart() const { return false; }
  // Before anything is touched: throws Error where this machine must not run it.
  virtual void require(const Plan& plan, const std::map<std::string, std::string>& facts) = 0;
  // Whether no more is wanted than the file with its plan, once the sensors were looked at.
  virtual bool only_looks() const { return false; }
  virtual std::unique_ptr<Strategy> strategy(StrategyRequest request, Interruption& interruption) = 0;
  virtual void begun(Store& store, const std::map<std::string, std::string>& facts) = 0;
  virtual void finished(Store& store, const TrialRecord& trial) = 0;
  // The exit code. `but`: what "as before" leaves out, where a setting was left to who set it meanwhile; else empty.
  virtual int ended(Store& store, RunEnd how, const std::string& but) = 0;
};

// Runs or goes on, then reports (or leaves that to `part`); the exit code.
int run_here(const RunOptions& options, RunPart* part = nullptr);

}  // namespace dvfs_plan
