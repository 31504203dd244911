// What is known of one quantity (log time, log power, a metric) at every setting after some trials, by a
// Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006):
//
//   y = level + slope of each axis + a bend + a step + smooth part + rough part + scatter of the setting
//       | + node + block + noise of the trial
//
// The bend is a change of slope at one value of one axis, where there is one: the end of the flat part of the
// voltage curve, the clock at which memory becomes the limit, the power limit that no longer binds
// (measurement of P0 + c f V^2 with V flat, then rising). The step is a level that changes from one value of
// one axis to the next, where it does: a power rail, a memory clock that comes with a core clock. Where in a
// gap between two trials it lies is open, so the good side may reach up to the next trial on the bad one. The
// smooth part has a product kernel of Matern 5/2 over ordered axes and one correlation over words. The rough
// part is whatever else jumps, ranges of clocks with a voltage of their own: levels that last for a while and
// then change at once have the exponential kernel. With it, two trials that are alike on either side of a gap
// do not vouch for all that lies in the gap. The scatter is what a setting keeps over all its repetitions and
// its neighbours do not share: with much of it the process knows that what was not run is not known.
// Of trials on several machines each has a level and slopes of its own, drawn from those of its type: what is said of the
// settings is of the type. Hyper-parameters are not fixed at their best values: draws come from several, weighted by how well they
// explain the trials (importance sampling around the maxima that NLopt finds), so that few trials give wide
// bands.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <memory>
#include <vector>

#include "results/surface/settings_grid.hpp"

namespace dvfs_plan {

// Medians of what is expected before any trial, and how far off they may be (standard deviation of the
// logarithm). In units of y, so for logarithms 0.01 is 1 %.
struct Expectation {
  double median = 1;
  double log_sd = 1;
};
struct SurfacePrior {
  double level_sd = 1;   // about the trials' own mean
  double slope_sd = 1;   // of y per logarithm of the axis' value: time goes with f^-1 at most
  double word_sd = 0.3;  // of the offset of a word
  double step_sd = 0.1;
  Expectation smooth{0.1, 1.0};
  Expectation length{0.5, 0.8};   // of the swept range
  Expectation noise{0.01, 1.0};   // of a trial
  Expectation rough{0.004, 1.5};  // over the whole of what is swept
  Expectation scatter{0.004, 1.5};
  Expectation block{0.0005, 0.8};  // of what all trials of a block share: drift
  Expectation node{0.02, 1.0};     // of a machine's level, and of its slopes per logarithm of the axis' value
  // From earlier results, one row a point: their mean, and in columns how they differ from it. Empty: none.
  Eigen::VectorXd expected;
  Eigen::MatrixXd shapes;
};

struct Observations {
  std::vector<int> point;
  std::vector<int> block;
  std::vector<int> node;  // of the machine, from 0
  std::vector<double> y;
  std::vector<double> known_sd;  // of each, beside the noise; 0 where nothing is known
  std::size_t size() const { return y.size(); }
};

class GaussianProcess {
 public:
  // Fits the hyper-parameters; `data` must hold a value at least.
  GaussianProcess(const SettingsGrid& grid, SurfacePrior prior, Observations data);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;

  // Joint draws of the quantity at all points, blocks and noise apart: points x count. The same seed gives
  // the same draws.
  Eigen::MatrixXd draws(int count, std::uint64_t seed) const;
  // The same with what each machine's own surface differs by: points x count for each machine of the trials, as
  // `features` times the machine's rows of `coefficients`. One machine alone has none.
  struct OfNodes {
    Eigen::MatrixXd features;      // points x terms
    Eigen::MatrixXd coefficients;  // (machines x terms) x count
  };
  Eigen::MatrixXd draws(int count, std::uint64_t seed, OfNodes& of_nodes) const;
  // Logarithm of the probability of the trials, hyper-parameters integrated out; comparable between processes
  // of the same trials.
  double log_evidence() const;
  // Standard deviation of one more trial about the setting's own value.
  double noise_sd() const;
  // How well the model foretells a setting from all others: mean square, over the settings run, of the mean
  // of a setting's trials less what the others' trials make of it, in standard deviations. Near 1 where the
  // model holds, above where it is too sure of itself. A setting is left out with all its trials: they
  // foretell each other.
  double misfit() const;
  int settings() const;  // run at least once

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dvfs_plan
