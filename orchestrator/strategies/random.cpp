#include <fmt/format.h>

#include <algorithm>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "base/text.hpp"
#include "orchestrator/strategies/one_by_one.hpp"

namespace dvfs_plan {
namespace {

// Settings at random, none a second time before all others had their turn: what any cleverer search is
// compared with.
class RandomSearch : public OneByOne {
 public:
  using OneByOne::OneByOne;

  std::string announcement(const History&) override {
    return fmt::format("random search over {} settings: at most {}", plan_.points.size(),
                       counted(workload_trials(plan_), "trial"));
  }

 private:
  bool waits_for_all() const override { return false; }
  bool is_enough(std::size_t, const std::vector<int>&, const History&) override { return false; }

  int choose(std::size_t s, const std::vector<int>& candidates, const History&) override {
    const auto fewer_runs = [&](int a, int b) { return past_of(a).runs < past_of(b).runs; };
    const int least = past_of(*std::min_element(candidates.begin(), candidates.end(), fewer_runs)).runs;
    std::vector<int> due = candidates;
    std::erase_if(due, [&](int p) { return past_of(p).runs > least; });
    // From the history alone, so that a resumed search goes on as it would have.
    const auto trials = static_cast<std::uint64_t>(past_[s].trials);
    boost::random::mt19937_64 engine(plan_.experiment.seed + 1'000'003 * (s + 1) + 7'919 * trials);
    boost::random::uniform_int_distribution<std::size_t> pick(0, due.size() - 1);
    return due[pick(engine)];
  }
};

const Registered<StrategyKind> random_search({.name = "random",
                                              .place = 40,
                                              .what = "settings at random, as many as it may run",
                                              .make =
                                                  [](StrategyRequest request) -> std::unique_ptr<Strategy> {
                                                return std::make_unique<RandomSearch>(request);
                                              }});

}  // namespace
}  // namespace dvfs_plan
