// Plays a way of choosing trials against a recorded landscape.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/replay/landscape.hpp"
#include "results/surface/optimum.hpp"

namespace dvfs_plan {

struct PlayOptions {
  std::string search = "adaptive";  // one of play_searches()
  int trials = 12;                  // at most
  double noise_time = 0,
         noise_power = 0;  // standard deviations, shares; settings with true repeats draw from those
  double confidence = 0.95;
  double stop_regret = 0;  // adaptive: stop at this bound; 0: use all trials
};

struct Play {
  int trials = 0;
  int settings = 0;             // different ones that were run
  int chosen = -1;              // point; -1: none
  double regret = 0;            // of the chosen setting's recorded energy against the least: E/E_best - 1
  std::optional<double> bound;  // on the regret, as the strategy states it
  double seconds = 0;           // of computing, all proposals together
  double slowest_proposal_s = 0;
};

// adaptive; full (every setting `trials` / settings times, once at least); random; golden (section search,
// one axis after the other).
const std::vector<std::string>& play_searches();

// `shapes`: what earlier results would say of its points; for adaptive.
Play play(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed,
          const SurfaceShapes& shapes = {});

// One simulated trial: a draw from the true repeats, or the record with noise.
class LandscapeTrials {
 public:
  LandscapeTrials(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed);
  ~LandscapeTrials();
  Landscape::Record run(int point);

 private:
  struct Random;
  const Landscape& landscape_;
  const PlayOptions& options_;
  std::unique_ptr<Random> random_;
};

}  // namespace dvfs_plan
