// What a cluster's node offers is asked there, never here: a job looks at one and hands in a result without trials, which has the plan.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/cluster/collector.hpp"
#include "orchestrator/commands/cluster_jobs.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// A result for the while, beside another one: taken away on every way out.
class ScratchResult {
 public:
  explicit ScratchResult(const std::string& beside);
  ~ScratchResult() { remove(); }
  ScratchResult(const ScratchResult&) = delete;
  ScratchResult& operator=(const ScratchResult&) = delete;
  const std::string& path() const { return path_; }

 private:
  void remove() const;
  std::string path_;
};

// A look that was handed in, opened as a result.
class OpenLook {
 public:
  // Throws Error where it is damaged.
  OpenLook(const ClusterContext& night, const std::string& name);
  Store& store() { return store_; }

 private:
  ScratchResult file_;
  Store store_;
};

class ClusterLook {
 public:
  ClusterLook(ClusterContext& night, ClusterJobs& jobs) : night_(night), jobs_(jobs) {}

  // The name of the look that a node handed in; nullopt: interrupted. Throws Error where none can.
  std::optional<std::string> ask_a_node(const CollectorLock& lock);
  // It becomes the result.
  void keep(const std::string& name) const;
  // Which look the result's plan is of, for its tasks; of a result that has grown it is handed in here.
  std::string of_plan(Store& store) const;

 private:
  ClusterContext& night_;
  ClusterJobs& jobs_;
};

}  // namespace dvfs_plan
