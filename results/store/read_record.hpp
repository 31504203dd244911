// A finished trial out of the file, as it was recorded: what it takes to judge it again.
#pragma once

#include <functional>

#include "results/store/store.hpp"

namespace dvfs_plan {

struct StoredTrial {
  std::int64_t session = 0;
  // Without the workload's output, its runs, metrics and energies by channel. `verdict` is not set: a newer
  // program's word may be none of ours.
  TrialRecord record;
  std::string workload;
  std::string verdict;
};

// All trials that were launched, in the order they were run, one at a time: their readings take room. Those
// whose readings are not in the file, or damaged, come without.
void for_each_stored_trial(Store& store, const std::function<void(const StoredTrial&)>& use);

}  // namespace dvfs_plan
