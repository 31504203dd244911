#include <fmt/format.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {
namespace {

// Fisher-Yates on Boost.Random: std::shuffle may differ between standard libraries, and the order of a
// published night must not.
void shuffle(std::vector<int>& order, std::uint64_t seed, int block) {
  boost::random::mt19937_64 engine(seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(block));
  for (std::size_t i = order.size(); i > 1; --i) {
    boost::random::uniform_int_distribution<std::size_t> pick(0, i - 1);
    std::swap(order[i - 1], order[pick(engine)]);
  }
}

}  // namespace

std::vector<PlannedTrial> schedule(const std::vector<PlanPoint>& points, int repetitions, bool shuffled,
                                   std::uint64_t seed) {
  std::vector<PlannedTrial> trials;
  for (int block = 1; block <= repetitions; ++block) {
    std::vector<int> order(points.size());
    std::iota(order.begin(), order.end(), 0);
    if (shuffled) shuffle(order, seed, block);
    for (const int point : order) {
      const auto position = static_cast<int>(trials.size()) + 1;
      trials.push_back({fmt::format("{} #{}", points[static_cast<std::size_t>(point)].key, block), point,
                        block, position});
    }
  }
  return trials;
}

}  // namespace dvfs_plan
