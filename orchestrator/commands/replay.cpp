// dvfs-plan replay TABLE.csv: how a way of searching would have done on recorded landscapes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/replay/play.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

// Shares as they were written.
struct ReplayOptions : CommonOptions {
  std::string search = "adaptive";
  int trials = 0;  // at most, of each workload; 0: 12 with one axis, 16 with two, 24 with three
  int seeds = 40;
  std::string noise_time = "0", noise_power = "0";
  std::string confidence = "95%";
  std::string regret = "0";  // stop at this bound; 0: use all trials
  bool own_stop = false;     // as an experiment that says no more than `search: adaptive`
  std::string objective = "energy";
};

using Json = nlohmann::ordered_json;

double share_of(const std::string& option, const std::string& text, const char* such_as = "2%, or 0.02") {
  const auto quantity = parse_quantity(text);
  const bool fits = quantity &&
                    (quantity->dimension == Dimension::ratio || quantity->dimension == Dimension::none) &&
                    quantity->value >= 0 && quantity->value < 1;
  if (!fits) {
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("--{} must be a share of at least 0 and below 100 %, not '{}'", option, printable(text)),
        fmt::format("write --{} {}", option, such_as));
  }
  return quantity->value;
}

// Of blocks that go on until their bound is low enough; past this they would not end in a night.
constexpr int most_full_trials = 20000;

struct WorkloadPlays {
  const Landscape* landscape = nullptr;
  std::vector<Play> plays;
};

struct Figures {
  int plays = 0, named = 0;  // `named`: of the plays, those that named a setting
  double mean_trials = 0;
  // Of the settings named that hold the constraints: one that breaks them may have less than any that holds, which is no merit.
  std::optional<double> mean_regret, p95_regret;
  std::optional<double> median_bound, coverage;
  // Under constraints: how often the named setting breaks one, and how often it should by what was stated.
  std::optional<double> violated, stated_violated;
};

Figures figures_of(const std::vector<Play>& plays) {
  Figures figures;
  std::vector<double> regrets, bounds;
  int held = 0, violated = 0, stated = 0;
  double expected = 0;
  figures.plays = static_cast<int>(plays.size());
  for (const Play& play : plays) {
    figures.mean_trials += play.trials;
    if (play.chosen < 0) continue;
    ++figures.named;
    if (play.feasible) {
      ++stated;
      violated += play.violates ? 1 : 0;
      expected += 1 - *play.feasible;
    }
    if (play.violates) continue;
    regrets.push_back(play.regret);
    if (!play.bound) continue;
    bounds.push_back(*play.bound);
    held += play.regret <= *play.bound + 1e-12 ? 1 : 0;
  }
  figures.mean_trials /= static_cast<double>(plays.size());
  if (stated > 0) {
    figures.violated = static_cast<double>(violated) / stated;
    figures.stated_violated = expected / stated;
  }
  if (regrets.empty()) return figures;
  figures.mean_regret =
      std::accumulate(regrets.begin(), regrets.end(), 0.0) / static_cast<double>(regrets.size());
  figures.p95_regret = quantile(regrets, 0.95);
  if (!bounds.empty()) {
    figures.median_bound = estimate(bounds)->median;
    figures.coverage = static_cast<double>(held) / static_cast<double>(bounds.size());
  }
  return figures;
}

std::string point_text(const Landscape& landscape, int point) {
  if (point < 0) return "none";
  const std::string& key = landscape.plan.points[static_cast<std::size_t>(point)].key;
  return key.empty() ? "the only setting" : key;
}

// What a table's best setting, as it was recorded, has less of the objective than its highest one, and how much longer it takes: shares.
struct OptimumOfTable {
  double saves = 0, slower = 0;
};
OptimumOfTable optimum_of(const Landscape& landscape) {
  const auto reference = std::find_if(landscape.plan.points.begin(), landscape.plan.points.end(),
                                      [](const PlanPoint& point) { return point.reference; });
  const int highest = static_cast<int>(reference - landscape.plan.points.begin()),
            best = landscape.constrained_best();
  return {1 - landscape.objective(best) / landscape.objective(highest),
          landscape.seconds(best) / landscape.seconds(highest) - 1};
}

Json figures_json(const Figures& figures) {
  Json json{{"mean_trials", figures.mean_trials}, {"named", figures.named}};
  json["mean_regret"] = figures.mean_regret ? Json(*figures.mean_regret) : Json(nullptr);
  json["p95_regret"] = figures.p95_regret ? Json(*figures.p95_regret) : Json(nullptr);
  json["median_bound"] = figures.median_bound ? Json(*figures.median_bound) : Json(nullptr);
  json["bound_held"] = figures.coverage ? Json(*figures.coverage) : Json(nullptr);
  if (figures.violated) {
    json["violated"] = *figures.violated;
    json["stated_violated"] = *figures.stated_violated;
  }
  return json;
}

Json plays_json(const WorkloadPlays& one) {
  Json json{{"device", one.landscape->device},
            {"workload", one.landscape->workload},
            {"settings", one.landscape->plan.points.size()},
            {"best", point_text(*one.landscape, one.landscape->constrained_best())},
            {"best_saves", optimum_of(*one.landscape).saves},
            {"best_is_slower_by", optimum_of(*one.landscape).slower}};
  json.update(figures_json(figures_of(one.plays)));
  for (std::size_t seed = 0; seed < one.plays.size(); ++seed) {
    const Play& play = one.plays[seed];
    Json entry{{"seed", seed + 1},
               {"trials", play.trials},
               {"settings_run", play.settings},
               {"chosen", play.chosen < 0 ? Json(nullptr) : Json(point_text(*one.landscape, play.chosen))},
               {"regret", play.chosen < 0 || play.violates ? Json(nullptr) : Json(play.regret)}};
    entry["bound"] = play.bound ? Json(*play.bound) : Json(nullptr);
    entry["bound_held"] =
        play.bound && !play.violates ? Json(play.regret <= *play.bound + 1e-12) : Json(nullptr);
    if (play.feasible) {
      entry["feasible"] = *play.feasible;
      entry["violates"] = play.violates;
    }
    json["plays"].push_back(entry);
  }
  return json;
}

// Throws Error for what does not go together.
PlayOptions play_options_of(const ReplayOptions& options, bool constrained) {
  PlayOptions play_options;
  play_options.search = options.search;
  play_options.noise_time = share_of("noise-time", options.noise_time);
  play_options.noise_power = share_of("noise-power", options.noise_power);
  play_options.confidence = share_of("confidence", options.confidence, "95%");
  play_options.stop_regret = share_of("regret", options.regret);
  const bool full = !chooses_one_by_one(options.search);
  const bool by_model = Registered<StrategyKind>::find(options.search)->by_model;
  if (options.own_stop && !by_model && !full)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--own-stop: {} search states no bound", options.search),
                "it goes with --search adaptive or full");
  if (play_options.stop_regret > 0 && !by_model && !full)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--regret: {} search states no bound to stop at", options.search),
                "it goes with --search adaptive or full");
  if (constrained && !by_model)
    throw Error(ExitCode::bad_experiment, fmt::format("{} search knows no constraints", options.search),
                "leave out 'subject to', or play --search adaptive");
  if (options.own_stop && play_options.stop_regret == 0) play_options.stop_regret = SearchSpec{}.regret;
  if (!(play_options.confidence > 0.5 && play_options.confidence <= 0.99))
    throw Error(ExitCode::bad_experiment, "--confidence must be above 50 % and at most 99 %",
                "write --confidence 95%");
  if (!full && options.trials > most_search_trials)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--trials {}: {} search runs {} at most", options.trials, options.search,
                            most_search_trials),
                "with that many, --search full runs every setting");
  return play_options;
}

// The workloads of the table in which a setting holds the constraints.
std::vector<Landscape> landscapes_of(const ReplayOptions& options, const ObjectiveSpec& objective) {
  std::vector<std::string> notes;
  auto landscapes = read_landscapes(options.file, notes);
  for (Landscape& landscape : landscapes) landscape.plan.experiment.objective = objective;
  std::erase_if(landscapes, [&](const Landscape& landscape) {
    if (landscape.constrained_best() >= 0) return false;
    notes.push_back(fmt::format("{} {}: left out: no setting holds the constraints",
                                printable(landscape.device), printable(landscape.workload)));
    return true;
  });
  if (landscapes.empty())
    throw Error(ExitCode::bad_experiment, "no workload of the table has a setting that holds the constraints",
                "loosen them");
  for (const std::string& note : notes) write_stderr("note: " + note + "\n");
  return landscapes;
}

// One workload is independent of the next, and so is each seed: spread over the CPUs, the result is the same.
std::vector<WorkloadPlays> play_all(const std::vector<Landscape>& landscapes, const ReplayOptions& options,
                                    const PlayOptions& play_options) {
  std::vector<WorkloadPlays> all;
  for (const Landscape& landscape : landscapes)
    all.push_back({&landscape, std::vector<Play>(static_cast<std::size_t>(options.seeds))});
  const std::size_t jobs = all.size() * static_cast<std::size_t>(options.seeds);
  std::atomic<std::size_t> next{0};
  std::mutex fault_of;
  std::exception_ptr fault;
  const auto work = [&] {
    for (std::size_t job = next++; job < jobs; job = next++) {
      WorkloadPlays& one = all[job / static_cast<std::size_t>(options.seeds)];
      const std::size_t seed = job % static_cast<std::size_t>(options.seeds);
      PlayOptions mine = play_options;
      const std::size_t dimensions = one.landscape->plan.axes.size();
      const int few = dimensions <= 1 ? 12 : dimensions == 2 ? 16 : 24;
      // Own stop: the adaptive search has its own limit; blocks go on until their bound is as low.
      const int until_it_stops = chooses_one_by_one(options.search) ? 0 : most_full_trials;
      mine.trials = options.trials > 0 ? options.trials : options.own_stop ? until_it_stops : few;
      try {
        one.plays[seed] = play(*one.landscape, mine, seed + 1);
      } catch (...) {
        const std::scoped_lock lock(fault_of);
        fault = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
  }

  if (fault) std::rethrow_exception(fault);
  return all;
}

std::map<std::string, std::vector<Play>> by_device(const std::vector<WorkloadPlays>& all) {
  std::map<std::string, std::vector<Play>> of_device;
  for (const WorkloadPlays& one : all) {
    auto& plays = of_device[one.landscape->device];
    plays.insert(plays.end(), one.plays.begin(), one.plays.end());
  }
  return of_device;
}

// Records of a setting that has several are drawn as they are.
std::string noise_text(const std::vector<WorkloadPlays>& all, const PlayOptions& options) {
  bool one = false, several = false;
  for (const WorkloadPlays& plays : all) {
    for (const auto& records : plays.landscape->records) (records.size() > 1 ? several : one) = true;
  }
  if (!one) return "no noise: each setting has several records";
  return fmt::format("noise {:g} % of time and {:g} % of power{}", 100 * options.noise_time,
                     100 * options.noise_power, several ? " where a setting has one record" : "");
}

std::string replay_json(const std::vector<WorkloadPlays>& all, const ReplayOptions& options,
                        const PlayOptions& play_options) {
  Json json{{"table", options.file},
            {"search", options.search},
            {"seeds", options.seeds},
            {"noise_time", play_options.noise_time},
            {"noise_power", play_options.noise_power},
            {"noise", noise_text(all, play_options)},
            {"confidence", play_options.confidence},
            {"objective", options.objective},
            {"stop_regret", play_options.stop_regret}};
  for (const WorkloadPlays& one : all) json["workloads"].push_back(plays_json(one));
  for (const auto& [device, plays] : by_device(all))
    json["devices"][device] = figures_json(figures_of(plays));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string replay_text(const std::vector<WorkloadPlays>& all, const ReplayOptions& options,
                        const PlayOptions& play_options, bool constrained) {
  const auto bound_text = [](const Figures& f) {
    return f.median_bound ? fmt::format("{:>7.2f} %  {:>5.1f} %", 100 * *f.median_bound, 100 * *f.coverage)
                          : fmt::format("{:>9}  {:>7}", "-", "-");
  };
  std::string text = fmt::format("{} search, {} seeds, {}\n\n", options.search, options.seeds,
                                 noise_text(all, play_options));
  text += fmt::format("{:<44} {:>8} {:>6}  {:>11} {:>9}  {:>9}  {:>7}{}\n", "workload", "settings", "trials",
                      "mean regret", "95th pct", "bound", "held",
                      constrained ? fmt::format("  {:>9}  {:>7}", "violated", "stated") : "");
  const auto line = [&](const std::string& name, const std::string& settings, const Figures& f) {
    text += fmt::format(
        "{:<44} {:>8} {:>6.1f}  {}  {}{}{}\n", printable(name).substr(0, 44), settings, f.mean_trials,
        f.mean_regret ? fmt::format("{:>9.2f} % {:>7.2f} %", 100 * *f.mean_regret, 100 * *f.p95_regret)
                      : fmt::format("{:>11} {:>9}", "-", "-"),
        bound_text(f),
        f.violated ? fmt::format("  {:>7.1f} %  {:>5.1f} %", 100 * *f.violated, 100 * *f.stated_violated)
                   : "",
        f.named < f.plays ? fmt::format("  ({} of {} named no setting)", f.plays - f.named, f.plays) : "");
  };
  for (const WorkloadPlays& one : all)
    line(one.landscape->device + " " + one.landscape->workload,
         std::to_string(one.landscape->plan.points.size()), figures_of(one.plays));
  text += "\n";
  std::map<std::string, std::vector<double>> saves, slower;
  for (const WorkloadPlays& one : all) {
    const OptimumOfTable optimum = optimum_of(*one.landscape);
    saves[one.landscape->device].push_back(optimum.saves);
    slower[one.landscape->device].push_back(optimum.slower);
  }
  for (const auto& [device, plays] : by_device(all)) {
    line("all of " + device, "", figures_of(plays));
    const auto& mine = saves[device];
    text += fmt::format(
        "  the best setting there saves {:.1f} % against the highest (median of {} workloads, {:.1f} to "
        "{:.1f} %), {:.1f} % slower\n",
        100 * estimate(mine)->median, mine.size(), 100 * *std::min_element(mine.begin(), mine.end()),
        100 * *std::max_element(mine.begin(), mine.end()), 100 * estimate(slower[device])->median);
  }
  return text;
}

int replay_command(const ReplayOptions& options) {
  const ObjectiveSpec objective = objective_of_tables(options.objective);
  const bool constrained = !objective.constraints.empty();
  const PlayOptions play_options = play_options_of(options, constrained);
  const auto landscapes = landscapes_of(options, objective);
  const auto all = play_all(landscapes, options, play_options);
  write_answer(options.json ? replay_json(all, options, play_options)
                            : replay_text(all, options, play_options, constrained));
  return 0;
}

const Registered<CommandKind> replay(
    {.name = "replay",
     .place = 90,
     .what = "plays a search against recorded sweeps: how it would have done",
     .examples = "dvfs-plan replay table.csv --trials 16\n"
                 "dvfs-plan replay table.csv --search golden --noise-time 0.5%",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<ReplayOptions>();
       app.add_option(
              "TABLE", options->file,
              "a CSV table: device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts")
           ->required();
       app.add_option("--search", options->search, "how trials are chosen")
           ->check(CLI::IsMember(play_searches()))
           ->capture_default_str();
       app.add_option("--trials", options->trials,
                      "of each workload, at most (default: 12 with one axis, 16 with two, 24 with three); "
                      "full: in blocks of all "
                      "settings, one at the least")
           ->check(CLI::Range(1, 100000));
       app.add_option("--seeds", options->seeds, "how often each workload is played")
           ->check(CLI::Range(1, 100000))
           ->capture_default_str();
       app.add_option("--noise-time", options->noise_time,
                      "standard deviation of a trial's time, where the table has one record of a setting")
           ->capture_default_str();
       app.add_option("--noise-power", options->noise_power, "likewise of its power")->capture_default_str();
       app.add_option("--confidence", options->confidence, "of the stated bound")->capture_default_str();
       app.add_option("--regret", options->regret,
                      "adaptive and full: stop once the bound is this low (0: use all trials)")
           ->capture_default_str();
       app.add_flag(
           "--own-stop", options->own_stop,
           "adaptive and full: stop as an experiment does that says no more than 'search: adaptive' (at a "
           "bound of 1 %, or after three times the grid)");
       app.add_option("--objective", options->objective,
                      "as in an experiment: edp, or '{minimise: energy, subject to: {slowdown: 5 %}}'")
           ->capture_default_str();
       return declared(app, options, replay_command);
     }});

}  // namespace
}  // namespace dvfs_plan
