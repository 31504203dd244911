// The blocks of a cluster's night: planned, complete, still to be run.
#pragma once

#include <set>
#include <vector>

#include "orchestrator/commands/cluster_context.hpp"
#include "results/store/parts.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

class ClusterBlocks {
 public:
  explicit ClusterBlocks(const ClusterContext& night) : night_(night) {}

  // Not of a search, which has as many as its trials need.
  const std::set<int>& planned(Store& store);
  // Sorted; none where all is there, or the search is over.
  std::vector<int> open(Store& store);
  // Whether a task found that the search wants no more; once said it stays.
  bool found_over();
  // Whether no task is left of a search that was found over: those at work may still add to it.
  void none_is_at_work(bool none) { none_is_at_work_ = none; }

 private:
  int of_search(Store& store, std::size_t complete);
  bool is_over(const std::vector<BlockRun>& runs, const std::set<int>& complete);

  const ClusterContext& night_;
  std::set<int> planned_;
  bool found_over_ = false, none_is_at_work_ = false;
};

}  // namespace dvfs_plan
