// Plays an adaptive search that several machines share against a recorded landscape: each machine asks for its next trial when
// its last one is finished, and knows of the others' what is finished and what is under way, as tasks of a cluster do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orchestrator/replay/landscape.hpp"
#include "orchestrator/replay/play.hpp"

namespace dvfs_plan {

// How machines of a type differ: standard deviations of a machine's level of time and power and of the slope of its power along
// each axis, per logarithm of the axis' value.
struct NodeScatter {
  double time = 0.003, power = 0.03, slope = 0.02;
};

struct NodesPlay {
  Play play;  // regret and bound are of the type: the landscape as it was recorded
  // From the first trial until a machine first found the bound reached, and until all that was under way then had been seen
  // not to change that. nullopt: never.
  std::optional<double> reached_s;
  double wall_s = 0;
  // Trials of a setting that was under way on another machine and not known yet, while settings were left that nobody had
  // touched; references apart.
  int twice = 0;
  std::vector<double> regrets;  // of the named setting on each machine's own surface
};

// `options.stop_regret`, `trials` and the noise as for play(). `each_node`: the bound is to hold on each machine.
NodesPlay play_on_nodes(const Landscape& landscape, const PlayOptions& options, int nodes,
                        const NodeScatter& scatter, bool each_node, std::uint64_t seed);

}  // namespace dvfs_plan
