// Comparing points that were measured in randomised blocks. Pure; everything on logarithms, so that a ratio
// of 1/2 and one of 2 are equally far from "no change". Distributions by Boost.Math, algebra by Eigen.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace dvfs_plan {

// One trial: of which point (0, 1, ...), in which block, how much. Values must be positive.
struct BlockedValue {
  int point = 0;
  int block = 0;
  double value = 0;
};

// A ratio to the reference, paired within blocks: saving 0.277 means 27.7 % less.
struct Change {
  int pairs = 0;
  double value = 0;
  std::optional<double> low, high;  // 95 %, Student's t over the blocks' log ratios; nullopt for one pair
};

// What rounding leaves of a share where values are alike to the last place: an interval of no width then lies beside zero by it.
constexpr double rounding_of_shares = 1e-9;
// Whether the interval lies on one side of zero. One that is not known does not.
inline bool is_beyond_zero(std::optional<double> low, std::optional<double> high) {
  return low && high && (*low > rounding_of_shares || *high < -rounding_of_shares);
}
inline bool is_beyond_zero(const Change& change) {
  return is_beyond_zero(change.low, change.high);
}

// 1 - ratio (a saving) or ratio - 1 of a point to the reference. Several trials of one block count as their
// geometric mean. `sensor` is the relative half-width (95 %) that the sensors add to the mean ratio. nullopt
// if no block has both.
enum class ChangeOf { saving, increase };
// The share that a ratio's logarithm is. Whatever is beyond a million times is as far as nothing that was measured reaches: an end of an
// interval that few trials put there stays a number.
double share_of_log_ratio(double log_ratio, ChangeOf what);
std::optional<Change> paired_change(std::span<const BlockedValue> values, int point, int reference,
                                    ChangeOf what, double sensor = 0);

class NoiseModel;

// Whether the system that is solved is that of the points. That of the blocks grows with the night: of ten thousand it would take hours.
constexpr bool solves_by_points(std::size_t points, std::size_t blocks) {
  constexpr std::size_t most_blocks = 200;
  return blocks > most_blocks && points < blocks;
}

// The additive model log value = point + block + error by least squares.
class BlockModel {
 public:
  BlockModel(std::span<const BlockedValue> values, int points);

  // Geometric mean of the point over all blocks, as if it had run in each; nullopt if it has no value.
  std::optional<double> level(int point) const;
  // The same of values that are no point's of this model, by the blocks that hang together with those of point `like`; nullopt where none
  // of theirs does. `point` of a value says nothing.
  std::optional<double> level_of(std::span<const BlockedValue> values, int like) const;
  int degrees_of_freedom() const { return degrees_of_freedom_; }
  double error_variance() const { return error_variance_; }  // of a logarithm; 0 without degrees of freedom

  // The points that cannot be told from the best at `level`: multiple comparisons with the best (Hsu 1984),
  // its quantile counted on draws of each point's own noise (noise_model.hpp), so that a point far noisier
  // than the others is not dropped by their scatter. Contains the true best with probability 1 - level at
  // least. All of `among` that have a value if there is nothing to judge the error by. `sensor`: what the
  // sensors alone add to each point's mean, relative half-widths; empty: nothing. `asked`: those of them that are asked
  // about; empty: all.
  std::vector<int> not_worse_than_best(std::span<const int> among, double level,
                                       std::span<const double> sensor = {},
                                       std::span<const int> asked = {}) const;

 private:
  // `errors`: of each point's mean, by draw of the noise.
  bool worse_than_one(int i, const std::vector<int>& candidates, const NoiseModel& noise,
                      const std::vector<std::vector<double>>& errors, double level,
                      std::span<const double> sensor) const;
  double contrast_variance(int a,
                           int b) const;  // in units of the error's variance; infinite if not estimable
  // The whole system by that of its blocks, or of its points: effects_, degrees_of_freedom_, inverse_; returns the blocks' effects.
  struct Sums;
  std::vector<double> solve_blocks(const Sums& sums);
  std::vector<double> solve_points(const Sums& sums, const std::vector<int>& component_of_blocks);

  std::vector<double> counts_;                 // trials of each point
  std::vector<int> component_;                 // alike of points that met in a block, also by way of others
  bool by_points_ = false;                     // which of the two was solved
  std::vector<std::vector<double>> in_block_;  // share of a point's trials in each block; by blocks alone
  std::vector<double> effects_;                // of points, on the logarithm
  struct Block {
    double effect = 0;  // on the logarithm; the mean of all is 0
    int component = 0;
  };
  std::map<int, Block> blocks_;
  std::vector<std::vector<double>> inverse_;  // pseudo-inverse of the information matrix that was solved
  double error_variance_ = 0;
  int degrees_of_freedom_ = 0;
  std::vector<BlockedValue> values_;
};

}  // namespace dvfs_plan
