#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "orchestrator/strategies/one_by_one.hpp"
#include "results/trial/unequal_work.hpp"

namespace dvfs_plan {
namespace {

// Golden section search (Kiefer 1953) over the values of one axis, the others held at the best so far; axis
// after axis, from the reference on. Finds the least of what falls and then rises; elsewhere it may miss it.
// Words have no order: all are run.
class GoldenSection : public OneByOne {
 public:
  using OneByOne::OneByOne;

  std::string announcement(const History&) override {
    return fmt::format("golden section search over {} settings, one axis after the other: at most {}",
                       plan_.points.size(), counted(workload_trials(plan_), "trial"));
  }

 private:
  bool is_enough(std::size_t s, const std::vector<int>& candidates, const History& history) override {
    return !next_look(s, candidates, history);
  }
  int choose(std::size_t s, const std::vector<int>& candidates, const History& history) override {
    return next_look(s, candidates, history).value_or(candidates.front());
  }

  // Means of the objective's logarithm, by point; of what cannot be run, infinite.
  std::map<int, double> means(std::size_t s, const std::vector<int>& candidates,
                              const History& history) const {
    std::map<int, std::pair<double, int>> sums;
    const auto objective = [&](int) -> const ObjectiveSpec& { return plan_.experiment.objective; };
    for (const FinishedTrial& trial : by_totals(history.trials(), objective)) {
      if (!counts_for_its_point(trial.role) || scenario_of(trial.point) != s ||
          !measures_surface(trial, minimise()))
        continue;
      sums[trial.point].first += std::log(*trial.objective);
      ++sums[trial.point].second;
    }
    std::map<int, double> means;
    for (const int p : scenarios_[s]) {
      const auto known = sums.find(p);
      if (known != sums.end())
        means[p] = known->second.first / known->second.second;
      else if (std::find(candidates.begin(), candidates.end(), p) == candidates.end())
        means[p] = std::numeric_limits<double>::infinity();
    }
    return means;
  }

  // The points that differ from `from` on this axis alone, in its order.
  std::vector<int> line_through(std::size_t s, int from, std::size_t axis) const {
    const auto& cells = surface_.grid.cells;
    const auto& here = cells[static_cast<std::size_t>(from)];
    std::vector<int> line;
    for (const int p : scenarios_[s]) {
      const auto& mine = cells[static_cast<std::size_t>(p)];
      bool on = true;
      for (std::size_t a = 0; a < mine.size(); ++a) on = on && (a == axis || mine[a] == here[a]);
      if (on) line.push_back(p);
    }
    std::sort(line.begin(), line.end(), [&](int a, int b) {
      return cells[static_cast<std::size_t>(a)][axis] < cells[static_cast<std::size_t>(b)][axis];
    });
    return line;
  }

  // The search walks anew through what is known, to the first point that it has to look at and that was not
  // run.
  std::optional<int> next_look(std::size_t s, const std::vector<int>& candidates,
                               const History& history) const {
    const auto known = means(s, candidates, history);
    const int reference = surface_.reference[s];
    int best = reference >= 0 ? reference : scenarios_[s].front();
    if (!known.contains(best)) return best;
    const auto look = [&](int p) {
      if (!known.contains(p)) return false;
      if (known.at(p) < known.at(best)) best = p;
      return true;
    };
    for (std::size_t axis = 0; axis < surface_.grid.axes.size(); ++axis) {
      if (surface_.grid.axes[axis].scenario) continue;
      const auto line = line_through(s, best, axis);
      int low = 0, high = static_cast<int>(line.size()) - 1;
      const auto at = [&](int i) { return line[static_cast<std::size_t>(i)]; };
      const double ratio = (std::sqrt(5.0) - 1) / 2;
      while (surface_.grid.axes[axis].ordered && high - low > 2) {
        const int c = static_cast<int>(std::lround(high - ratio * (high - low)));
        const int d = std::max(c + 1, static_cast<int>(std::lround(low + ratio * (high - low))));
        for (const int i : {c, d}) {
          if (!look(at(i))) return at(i);
        }
        (known.at(at(c)) < known.at(at(d)) ? high : low) = known.at(at(c)) < known.at(at(d)) ? d : c;
      }
      for (int i = low; i <= high; ++i) {
        if (!look(at(i))) return at(i);
      }
    }
    return std::nullopt;
  }
};

const Registered<StrategyKind> golden({.name = "golden",
                                       .place = 30,
                                       .what = "golden section search, one axis after the other",
                                       .make = [](StrategyRequest request) -> std::unique_ptr<Strategy> {
                                         return std::make_unique<GoldenSection>(request);
                                       }});

}  // namespace
}  // namespace dvfs_plan
