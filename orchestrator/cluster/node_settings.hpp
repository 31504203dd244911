// Whether what tasks set on their nodes has been put back, as they say it in the folder that all share: each one before it sets
// anything, and once all is as it was. Nobody else can tell: what a node was set to is on record there alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orchestrator/cluster/shared_folder.hpp"

namespace dvfs_plan {

struct NodeSettings {
  enum class State {
    not_told,  // its task is at work, or ended without a word: killed, or the node went down
    back,
    not_back,  // `why`
  };
  std::string node, task;  // the last one that set something there: "1234_3 start 1"
  State state = State::not_told;
  std::string why = {};
  std::int64_t at = 0;  // when that task began to set, by the node's clock, in ns
};

// The task without how often it was started, as Slurm names it: "1234_3".
std::string job_and_index(const NodeSettings& settings);

// Of each node, by name.
std::vector<NodeSettings> settings_of_nodes(const SharedFolder& folder);

// Both return why it could not be handed in; empty: it was. `at`: the node's clock, in ns.
std::string tell_that_it_sets(const SharedFolder& folder, const std::string& node, const std::string& task,
                              std::int64_t at);
std::string tell_settings(const SharedFolder& folder, const NodeSettings& settings);

// Says again in `folder` what was said of them elsewhere; why it could not be handed in, empty: it was.
std::string tell_again(const SharedFolder& folder, const std::vector<NodeSettings>& settings);

// For who collects: what is to be looked at, and how. Empty where all is back, or where the task is at work.
std::string settings_text(const NodeSettings& settings, bool at_work);

}  // namespace dvfs_plan
