// From trials to what is known of the optimum: which setting to name, how much worse than the true best it
// can be, and which trial would help most. All of it counted on joint draws of log time, log power and
// metrics at every setting, so that objectives, constraints and their uncertainties follow one path.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "results/surface/settings_grid.hpp"
#include "results/trial/prior_shape.hpp"

namespace dvfs_plan {

// One trial that counts. Per unit of work where the objective is.
struct SurfaceTrial {
  int point = 0;
  int block = 0;
  double time_s = 0;
  std::optional<double> energy_j;  // nullopt: not measured
  double energy_sd = 0;            // relative, what its sensor alone adds
  double energy_systematic = 0;    // 95 %, relative: of it, what may be the same in all trials
  std::map<std::string, double> other =
      {};        // by the names constraints use: metrics, time and energy of a run
  int node = 0;  // of the machine, from 0
  std::map<std::string, std::string> units_of_other = {};
  std::map<std::string, std::pair<double, double>> extremes_of_other =
      {};  // of several at once: least, highest
  bool operator==(const SurfaceTrial&) const = default;
};

// What is asked of the surface.
struct SurfaceQuestion {
  SettingsGrid grid;  // with an axis of scenarios if there are several
  ObjectiveSpec objective;
  std::vector<int> scenario;   // of each point
  std::vector<int> reference;  // of each scenario, index of the point; -1: none
  // Points in an order that says nothing of how they are listed (a file that grew lists them otherwise than its plan): by it all is drawn, so
  // that the same trials say the same. Empty: as they are listed.
  std::vector<int> order = {};
};

struct Optimum {
  int point = -1;  // among those measured
  double regret_bound =
      0;                // with the confidence asked for no other setting makes it worse by more: E/E_best - 1
  double feasible = 1;  // probability that the constraints hold at `point`
};

// Of one point, for reports. The objective in its own unit; median and 95 % band, without what the sensors may be off by in all trials alike.
struct SurfaceBand {
  double median = 0, low = 0, high = 0;
  double probability_best = 0;
};

// A point against another: shares, with their 95 % intervals.
struct SurfaceChange {
  double value = 0, low = 0, high = 0;
};
struct SurfaceComparison {
  std::optional<SurfaceChange> saving;  // of energy; nullopt: not measured
  SurfaceChange slowdown;               // of time
  SurfaceChange gain;                   // of the objective; positive is less
  double better = 0;                    // probability that the point's objective is less
};

// The model takes what trials that were not repeated scatter by for a rough surface: of fewer repetitions nothing of it is an interval or
// a bound. Of nights with 2 and 3 of them 18 % of the intervals missed the truth, of those with 4 or more 6 %.
inline constexpr int fewest_repeats = 4;

class OptimumModel {
 public:
  // `trials` must hold one at least with all that the objective needs. `prior`: what earlier results on the
  // same board say, used from fewest_shapes workloads up, and only where it explains the trials better than
  // nothing.
  OptimumModel(const SurfaceQuestion& question, const std::vector<SurfaceTrial>& trials,
               const std::vector<PriorShape>& prior = {});
  ~OptimumModel();

  // Among the points of `candidates` that were measured and are likely to hold the constraints; nullopt if
  // there is none.
  std::optional<Optimum> optimum(const std::vector<int>& candidates, double confidence) const;

  // On the own surface of each machine that ran trials of the point's scenario: which of the measured candidates is expected to be the best, and by how much
  // with this confidence some candidate is better than `point` at most, E/E_best - 1. Whether constraints hold is taken from
  // the type's surface. Empty: one machine.
  struct OnNode {
    int node = 0;
    int best = -1;
    double regret_bound = 0;
    bool told_apart = false;  // `point` is worse than `best` there, at the 5 % level
  };
  std::vector<OnNode> on_nodes(int point, const std::vector<int>& candidates, double confidence) const;

  // By how much one more trial at each candidate is expected to lower the logarithm of the objective at the
  // setting that is then named (knowledge gradient, Frazier et al. 2009): parallel to `candidates`.
  std::vector<double> value_of_trial(const std::vector<int>& candidates) const {
    return value_of_trial(candidates, {});
  }
  // The same of one that a certain machine would run, while others are under way: they teach what they are expected to, and
  // what they will have told is not worth telling again (fantasies at their mean; Ginsbourger, Le Riche and Carraro 2010).
  struct Where {
    std::vector<SurfaceTrial> under_way = {};  // point and node
    int node = -1;                             // that would run it; -1: any
    bool its_own = false;  // the objective on that machine's own surface, not on the type's
  };
  std::vector<double> value_of_trial(const std::vector<int>& candidates, const Where& where) const;

  // Probability that all constraints hold there; what is not known does not hold.
  double feasible(int point) const;
  // The candidates with the least expected objective, least first.
  std::vector<int> leading(std::vector<int> candidates, std::size_t most) const;
  SurfaceComparison compare(int point, int other) const;

  std::vector<SurfaceBand> bands(const std::vector<int>& candidates) const;
  // Of a scenario, the worse of its quantities: GaussianProcess::misfit(). All draws of a quantity are
  // widened by its root where it is above 1.
  double misfit(int scenario) const { return misfit_[static_cast<std::size_t>(scenario)]; }
  // The surface is not as the model says: what it expects of trials is not to be trusted.
  bool doubtful(int scenario) const { return misfit(scenario) > 2.5; }
  bool shared() const { return shared_; }  // scenarios learnt from each other
  bool used_shapes(int scenario) const { return used_shapes_[static_cast<std::size_t>(scenario)]; }

 private:
  void find_feasible(const SurfaceQuestion& question, const std::vector<SurfaceTrial>& trials);
  int scenario_of(int point) const { return scenario_[static_cast<std::size_t>(point)]; }
  std::vector<int> measured_among(const std::vector<int>& candidates) const;

  struct Draws;  // optimum.cpp
  std::unique_ptr<Draws> drawn_;
  std::vector<int> reference_of_;
  std::vector<bool> measured_;
  std::vector<double> feasible_;  // of each point; empty: without constraints
  std::set<int> broken_;          // points whose own trials break a constraint by their mean
  std::vector<int> scenario_;
  std::set<std::pair<int, int>> nodes_of_scenario_;  // scenario and machine that ran trials of it
  std::vector<double> misfit_;
  std::vector<bool> used_shapes_;
  double noise_sd_ = 0;  // of the objective's logarithm, one trial
  bool shared_ = false;
};

}  // namespace dvfs_plan
