// How much the trials of each point scatter, where a night has too few of one point to tell by itself. Pure;
// on logarithms.
//
// Most points of a night scatter alike, some far more (a clock on the edge of a limit, a boost that comes and
// goes). The points' variances are therefore drawn from their posterior under a common level tau^2, from
// which a share pi of the points departs by a factor of 2 to 1000; tau, pi and the factors are all unknown.
// One pooled variance calls a noisy point better known than it is, variances of three trials each call
// everything unknown.
#pragma once

#include <span>
#include <vector>

#include "results/statistics/blocks.hpp"

namespace dvfs_plan {

class NoiseModel {
 public:
  // Of the additive model point + block. Nothing is drawn where there is nothing to judge by.
  NoiseModel(std::span<const BlockedValue> values, int points);
  bool known() const { return !draws_.empty(); }

  // A joint draw: of each point, the variance of one trial's logarithm; the same under the assumption that it
  // is as likely to be noisy as not by itself; and a standard normal number.
  struct Draw {
    std::vector<double> variance, doubted, normal;
    double noisy_share = 0;
  };
  const std::vector<Draw>& draws() const { return draws_; }
  // Means over the draws; the first: how many of the points scatter unlike the rest, a share.
  double noisy_share() const { return noisy_share_; }
  double variance(int point) const { return variance_.at(static_cast<std::size_t>(point)); }
  double doubted_variance(int point) const { return doubted_.at(static_cast<std::size_t>(point)); }

 private:
  std::vector<Draw> draws_;
  std::vector<double> variance_, doubted_;
  double noisy_share_ = 0;
};

}  // namespace dvfs_plan
