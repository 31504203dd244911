#include "orchestrator/strategies/prior_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/report/of_totals.hpp"
#include "results/surface/earlier_results.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t fewest_settings = 4;  // from fewer no shape is known

// The plan's operating points without their workloads: what earlier results have in common with it.
class OperatingPoints {
 public:
  explicit OperatingPoints(const Plan& plan) : plan_(plan) {
    for (std::size_t a = 0; a < plan.axes.size(); ++a) {
      if (plan.axes[a].knob) knobs_.push_back(a);
    }
    for (const PlanPoint& point : plan.points) {
      const auto known = std::find(keys_.begin(), keys_.end(), point.operating_point);
      of_point_.push_back(static_cast<int>(known - keys_.begin()));
      if (known != keys_.end()) continue;
      keys_.push_back(point.operating_point);
      SurfacePoint one;
      one.scenario = "earlier";
      for (const std::size_t a : knobs_) one.values.push_back(point.values[a]);
      points_.push_back(one);
    }
    question_ = surface_question(points_, ObjectiveSpec{});
  }

  // Index of the operating point with these settings; -1: not in the plan.
  int find(const std::vector<AxisSetting>& settings) const {
    for (std::size_t i = 0; i < points_.size(); ++i) {
      bool same = true;
      for (std::size_t k = 0; same && k < knobs_.size(); ++k) {
        const auto& mine = points_[i].values[k];
        const auto theirs = std::find_if(settings.begin(), settings.end(), [&](const AxisSetting& s) {
          return s.axis == plan_.axes[knobs_[k]].name;
        });
        same =
            mine && theirs != settings.end() &&
            (mine->number && theirs->number ? *mine->number == *theirs->number : mine->text == theirs->text);
      }
      if (same) return static_cast<int>(i);
    }
    return -1;
  }

  // What the trials of an earlier scenario say of every point of the plan.
  PriorShape shape(const std::string& source, std::span<const SurfaceTrial> trials) const {
    const PriorShape learnt = learn_shape(question_, trials);
    const auto at_points = [&](const std::vector<double>& values) {
      std::vector<double> spread;
      for (const int p : of_point_) {
        if (!values.empty()) spread.push_back(values[static_cast<std::size_t>(p)]);
      }
      return spread;
    };
    return {source, at_points(learnt.log_time), at_points(learnt.log_power)};
  }

 private:
  const Plan& plan_;
  std::vector<std::size_t> knobs_;
  std::vector<std::string> keys_;
  std::vector<SurfacePoint> points_;
  std::vector<int> of_point_;
  SurfaceQuestion question_;
};

void read_file(const std::string& path, const std::string& name, const OperatingPoints& points,
               const std::map<std::string, std::string>& facts, PriorResults& results) {
  Store store = Store::open(path, Database::Mode::read_only);
  if (const auto other = decisive_differences(store.machine_facts(), facts); !other.empty()) {
    results.notes.push_back(
        fmt::format("prior {}: not used, it is of another machine ({})", name, join(other, "; ")));
    return;
  }
  std::map<std::string, std::vector<TrialRow>> scenarios;
  auto rows = store.trials();
  set_work_of_totals(rows, store.experiment());
  for (const TrialRow& trial : rows) {
    if (trial.counts()) scenarios[trial.scenario].push_back(trial);
  }
  for (const auto& [scenario, trials] : scenarios) {
    std::vector<SurfaceTrial> known;
    std::set<int> settings;
    for (const TrialRow& trial : trials) {
      const int point = points.find(trial.settings);
      const auto t = trial.work_time(), e = trial.work_energy();
      if (point < 0 || !t || *t <= 0) continue;
      settings.insert(point);
      SurfaceTrial one;
      one.point = point;
      one.block = trial.block;
      one.time_s = *t;
      if (e && *e > 0) one.energy_j = e;
      known.push_back(one);
    }
    if (settings.size() < fewest_settings) {
      results.notes.push_back(
          fmt::format("prior {}: '{}' has {} of this experiment's settings, and {} are needed", name,
                      scenario, settings.size(), fewest_settings));
      continue;
    }
    results.shapes.push_back(points.shape(name + ": " + scenario, known));
  }
}

}  // namespace

PriorResults read_prior_results(const Plan& plan, const std::map<std::string, std::string>& facts) {
  PriorResults results;
  if (plan.experiment.search.prior.empty()) return results;
  const OperatingPoints points(plan);
  for (const RawValue& file : plan.experiment.search.prior) {
    const auto path = std::filesystem::path(plan.experiment.folder) / file.text;
    if (!std::filesystem::exists(path))
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("{}:{}:{}: error: 'prior' names '{}', and there is no {}", plan.experiment.file,
                      file.mark.line, file.mark.column, printable(file.text), printable(path.string())),
          "name result files (NAME.sqlite) relative to the experiment file");
    read_file(path.string(), printable(file.text), points, facts, results);
  }
  if (results.shapes.size() < fewest_shapes) {
    results.notes.push_back(
        fmt::format("prior: {} workload{} in all, and {} are needed to know how much they differ: "
                    "not used",
                    results.shapes.size(), results.shapes.size() == 1 ? "" : "s", fewest_shapes));
    results.shapes.clear();
  }
  return results;
}

}  // namespace dvfs_plan
