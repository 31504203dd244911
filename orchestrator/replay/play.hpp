// Plays a way of choosing trials against a recorded landscape.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/replay/landscape.hpp"
#include "results/trial/prior_shape.hpp"

namespace dvfs_plan {

struct PlayOptions {
  std::string search = "adaptive";  // one of play_searches()
  int trials = 12;                  // at most
  double noise_time = 0,
         noise_power = 0;  // standard deviations, shares; settings with true repeats draw from those
  double confidence = 0.95;
  double stop_regret = 0;  // adaptive and full: stop at this bound; 0: use all trials
};

struct Play {
  int trials = 0;
  int settings = 0;  // different ones that were run
  int chosen = -1;   // point; -1: none
  // Of the chosen setting's recorded objective against the least of those that hold the constraints: E/E_best
  // - 1. A chosen setting that breaks one may be better than those, and its regret below 0.
  double regret = 0;
  std::optional<double> bound;     // on the regret, as the strategy states it
  std::optional<double> feasible;  // stated probability that the constraints hold where it chose
  bool violates = false;           // by the records they do not
  double seconds = 0;              // of computing, all proposals together
  double slowest_proposal_s = 0;
};

// All strategies that are registered. `full` runs every setting `trials` / settings times, once at least;
// with `stop_regret` blocks of all settings until their means bound it, two at least. Without a model
// (`by_model`) constraints are not known of.
std::vector<std::string> play_searches();

// `prior`: what earlier results would say of its points, for strategies with a model.
Play play(const Landscape& landscape, const PlayOptions& options, std::uint64_t seed,
          const std::vector<PriorShape>& prior = {});

// One simulated trial: one of the true repeats, each once before any comes again, or the record with noise.
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
  std::map<int, std::vector<std::size_t>> left_;  // repeats of a point that were not drawn yet
};

}  // namespace dvfs_plan
