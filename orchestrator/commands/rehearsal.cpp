#include "orchestrator/commands/rehearsal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/run/brake.hpp"
#include "results/report/amounts.hpp"
#include "results/report/json_values.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

// These trials, in their order, and no more.
class Listed : public Strategy {
 public:
  explicit Listed(std::vector<PlannedTrial> trials) : trials_(std::move(trials)) {}
  const PlannedTrial* next(const History& history) override {
    const auto found = std::find_if(trials_.begin(), trials_.end(),
                                    [&](const PlannedTrial& one) { return !history.contains(one); });
    return found == trials_.end() ? nullptr : &*found;
  }
  int remaining(const History& history) override {
    return static_cast<int>(std::count_if(trials_.begin(), trials_.end(),
                                          [&](const PlannedTrial& one) { return !history.contains(one); }));
  }
  std::string announcement(const History&) override { return {}; }

 private:
  std::vector<PlannedTrial> trials_;
};

// A folder that goes with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* const tmp = std::getenv("TMPDIR");
    for (const std::string& folder :
         {std::string(tmp == nullptr ? "" : tmp), std::string("/var/tmp"), std::string("/tmp")}) {
      if (folder.empty()) continue;
      path_ = folder + "/dvfs-rehearsal.XXXXXX";
      if (::mkdtemp(path_.data()) != nullptr) return;
    }
    throw Error(ExitCode::machine_refuses, system_error_text("make a folder " + path_, errno),
                "set TMPDIR to where you may write");
  }
  ~ScratchFolder() {
    std::error_code none;
    if (!kept_) std::filesystem::remove_all(path_, none);
  }
  void keep() { kept_ = true; }
  ScratchFolder(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_ = false;
};

class Rehearsal : public RunPart {
 public:
  explicit Rehearsal(const RunOptions& options) : options_(options) {}

  std::string file() const override { return folder_.path() + "/rehearsal.sqlite"; }
  std::string energy_source() const override { return {}; }
  void require(const Plan& plan, const std::map<std::string, std::string>&) override {
    plan_ = &plan;
    result_path(options_.output, plan.experiment);  // where the night could not write, it fails here
  }
  std::unique_ptr<Strategy> strategy(StrategyRequest request, Interruption&) override {
    return std::make_unique<Listed>(trials_of(request.plan));
  }
  void begun(Store&, const std::map<std::string, std::string>&) override {}
  void finished(Store&, const TrialRecord& trial) override {
    if (is_idle(trial.role) || trial.role == TrialRole::warm_up) return;
    slot_of_scenario_[plan_->points[static_cast<std::size_t>(trial.point)].scenario] = trial.slot_s;
    said_[trial.key] = trial.verdict == Verdict::ok ? "" : last_lines(trial.child.errors.tail);
  }

  int ended(Store& store, RunEnd how, const std::string&) override {
    std::vector<TrialRow> trials = store.trials();
    std::erase_if(trials, [](const TrialRow& trial) { return trial.role == TrialRole::warm_up; });
    const bool all_count =
        how == RunEnd::done &&
        std::all_of(trials.begin(), trials.end(), [](const TrialRow& one) { return one.counts(); });
    write_answer(options_.json ? json(trials, store) : fitted(text(trials, store)));
    if (how == RunEnd::interrupted) return static_cast<int>(ExitCode::interrupted);
    return static_cast<int>(all_count ? ExitCode::done : ExitCode::some_trials_failed);
  }

  void keep_logs() {
    std::error_code none;
    if (std::filesystem::exists(folder_.path() + "/rehearsal.logs", none)) folder_.keep();
  }

 private:
  static std::vector<PlannedTrial> trials_of(const Plan& plan) {
    std::map<std::string, int> chosen;  // by scenario
    for (std::size_t i = 0; i < plan.points.size(); ++i) {
      const auto [at, is_new] = chosen.emplace(plan.points[i].scenario, static_cast<int>(i));
      if (!is_new && plan.points[i].reference) at->second = static_cast<int>(i);
    }
    std::vector<PlannedTrial> trials;
    for (const auto& [scenario, point] : chosen)
      trials.push_back(planned_trial(plan.points[static_cast<std::size_t>(point)],
                                     {point, 1, TrialRole::point}, static_cast<int>(trials.size()) + 1));
    return trials;
  }

  // Of all that is planned, each trial as long as its work took here with all that belongs to it. nullopt: some work did not run.
  std::optional<Seconds> expected() const {
    double seconds = 0;
    int trials = 0;
    for (const PlannedTrial& trial : plan_->trials) {
      if (is_idle(trial.role)) continue;
      const auto slot = slot_of_scenario_.find(plan_->points[static_cast<std::size_t>(trial.point)].scenario);
      if (slot == slot_of_scenario_.end()) return std::nullopt;
      seconds += slot->second;
      ++trials;
    }
    const auto& budget = plan_->experiment.budget;
    if (budget.trials && trials > *budget.trials) seconds *= static_cast<double>(*budget.trials) / trials;
    if (budget.time) seconds = std::min(seconds, budget.time->value());
    if (trials > 0) return Seconds{seconds};
    // Chosen one by one: at most so many.
    if (slot_of_scenario_.empty()) return std::nullopt;
    for (const auto& [scenario, slot] : slot_of_scenario_)
      seconds += slot * most_trials_of_scenario(*plan_, scenario);
    return Seconds{seconds};
  }

  std::string text(const std::vector<TrialRow>& trials, Store& store) const {
    std::string text =
        fmt::format("rehearsal of {}: each work once, at its reference; nothing of it is kept\n\n",
                    printable(plan_->experiment.name));
    TextTable table;
    table.row({"", "time", "energy", "verdict"}, true);
    for (const TrialRow& trial : trials)
      table.row({printable(trial.point), trial.time_s ? amount(*trial.time_s, "s") : "—",
                 trial.energy_j ? amount(*trial.energy_j, "J") : "—",
                 trial.counts() ? "counts" : printable(trial.verdict)});
    text += table.text(text_look());
    for (const TrialRow& trial : trials) {
      if (trial.counts()) continue;
      const auto said = said_.find(trial.key);
      text += fmt::format("\n{}: {}{}\n", printable(trial.point), printable(trial.verdict_text),
                          said == said_.end() || said->second.empty() ? "" : "; it said: " + said->second);
    }
    const auto lines = store.sensor_lines();
    if (!lines.empty()) text += "\nmeters and sensors:\n";
    for (const std::string& line : lines) text += "  " + printable(line) + "\n";
    if (const auto length = expected())
      text += fmt::format(
          "\nthe night: {} {} for {}, as fast as here; lower clocks take longer, and warm-ups, idle windows "
          "and blocks that are added come on top\n",
          plan_->experiment.search.one_by_one() ? "at most" : "about", format_duration(*length),
          plan_->experiment.search.one_by_one() ? "the search"
                                                : counted(plan_->experiment.repeat.min, "block"));
    return text;
  }

  std::string json(const std::vector<TrialRow>& trials, Store& store) const {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array();
    for (const TrialRow& trial : trials)
      rows.push_back({{"point", trial.point},
                      {"counts", trial.counts()},
                      {"verdict", trial.verdict},
                      {"verdict_text", trial.verdict_text},
                      {"time_s", or_null(trial.time_s)},
                      {"energy_j", or_null(trial.energy_j)}});
    const auto length = expected();
    const Json all{{"experiment", plan_->experiment.name},
                   {"rehearsed", rows},
                   {"sensors", store.sensor_lines()},
                   {"expected_s", length ? Json(length->value()) : Json(nullptr)}};
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  const RunOptions& options_;
  ScratchFolder folder_;
  const Plan* plan_ = nullptr;                      // the run's own, which outlives its part's last call
  std::map<std::string, double> slot_of_scenario_;  // s
  std::map<std::string, std::string> said_;         // on stderr at the end, by trial, where it does not count
};

}  // namespace

int rehearse(const RunOptions& options) {
  Rehearsal part(options);
  try {
    return run_here(options, &part);
  } catch (const Error& error) {
    // What a service said is still to be read; of what a night's error would say to do next, nothing is kept here.
    part.keep_logs();
    const bool of_a_night =
        error.hint().find("goes on") != std::string::npos || error.hint().find("kept") != std::string::npos;
    throw Error(error.code(), error.what(),
                of_a_night ? "this was a rehearsal: mend that, and rehearse again" : error.hint());
  }
}

}  // namespace dvfs_plan
