#include "orchestrator/commands/cluster_blocks.hpp"

#include <algorithm>
#include <iterator>

#include "orchestrator/commands/cluster_growth.hpp"
#include "orchestrator/strategies/one_by_one.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

std::set<int> complete_blocks(const std::vector<BlockRun>& runs) {
  std::set<int> complete;
  for (const BlockRun& run : runs) {
    if (run.complete) complete.insert(run.block);
  }
  return complete;
}

}  // namespace

const std::set<int>& ClusterBlocks::planned(Store& store) {
  if (planned_.empty()) planned_ = planned_blocks(store, night_.experiment);
  return planned_;
}

bool ClusterBlocks::found_over() {
  found_over_ = found_over_ || !night_.folder.names(over_ending).empty();
  return found_over_;
}

bool ClusterBlocks::is_over(const std::vector<BlockRun>& runs, const std::set<int>& complete) {
  if (!night_.experiment.search.one_by_one() || !found_over()) return false;
  // Who can ask Slurm knows that no task is left, waiting ones cancelled; else blocks that were begun and not ended tell.
  if (night_.options.what != ClusterOptions::Do::collect) return none_is_at_work_;
  return std::all_of(runs.begin(), runs.end(),
                     [&](const BlockRun& run) { return complete.contains(run.block); });
}

// So many that its trials fit into them; each node is to take part.
int ClusterBlocks::of_search(Store& store, std::size_t complete) {
  const int trials = store.experiment().planned_trials;
  const int scenarios = std::max(1, static_cast<int>(store.experiment().points_of_scenario.size()));
  const int each = (trials + scenarios - 1) / scenarios;
  int blocks = std::max(night_.spec.nodes, (each + trials_of_search_block - 1) / trials_of_search_block);
  // All are complete, and no task found it over: what the last ones found may have opened it again.
  while (static_cast<int>(complete) >= blocks && !found_over()) blocks += night_.spec.nodes;
  return blocks;
}

std::vector<int> ClusterBlocks::open(Store& store) {
  const auto runs = block_runs(store);
  const std::set<int> complete = complete_blocks(runs);
  if (is_over(runs, complete)) return {};
  std::vector<int> open;
  if (night_.experiment.search.one_by_one()) {
    const int blocks = of_search(store, complete.size());
    for (int block = 1; block <= blocks; ++block) {
      if (!complete.contains(block)) open.push_back(block);
    }
  } else {
    std::set_difference(planned(store).begin(), planned(store).end(), complete.begin(), complete.end(),
                        std::back_inserter(open));
  }
  return open;
}

}  // namespace dvfs_plan
