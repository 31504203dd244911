// bench_search tables FOLDER SEEDS: every search on every table of recorded landscapes, side by side.
// bench_search cost [TRIALS]: what one proposal costs.
// bench_search learning FOLDER SEEDS: what earlier results on the board are worth.
#include <dlib/global_optimization.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "orchestrator/replay/play.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/statistics/estimate.hpp"
#include "results/surface/plan_surface.hpp"

namespace dvfs_plan {
namespace {

PlayOptions noisy(const std::string& search, int trials) {
  PlayOptions options;
  options.search = search;
  options.trials = trials;
  options.noise_time = 0.005;
  options.noise_power = 0.02;
  return options;
}

// The issue of a full grid: one axis 12 trials, two axes 16, three 24.
int trials_for(const Landscape& landscape) {
  const std::size_t axes = landscape.plan.axes.size();
  return axes <= 1 ? 12 : axes == 2 ? 16 : 24;
}

// dlib's global optimiser (Malherbe and Vayatis 2017 with a trust region) on the axes' indices; the settings
// it asks for that were not recorded are taken from the nearest one that was.
Play play_dlib(const Landscape& landscape, int most, std::uint64_t seed) {
  const PlayOptions options = noisy("dlib", most);
  LandscapeTrials trials(landscape, options, seed);
  const auto& axes = landscape.plan.axes;
  const auto axis_count = static_cast<long>(axes.size());
  dlib::matrix<double, 0, 1> low(axis_count), high(axis_count);
  std::vector<bool> integers(axes.size(), true);
  for (std::size_t a = 0; a < axes.size(); ++a) {
    low(static_cast<long>(a)) = 0;
    high(static_cast<long>(a)) = static_cast<double>(axes[a].values.size() - 1);
  }
  const auto nearest = [&](const dlib::matrix<double, 0, 1>& x) {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < landscape.plan.points.size(); ++p) {
      double squares = 0;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const auto at =
            std::find(axes[a].values.begin(), axes[a].values.end(), *landscape.plan.points[p].values[a]);
        const double d = static_cast<double>(at - axes[a].values.begin()) - x(static_cast<long>(a));
        squares += d * d;
      }
      if (squares < least) {
        least = squares;
        best = static_cast<int>(p);
      }
    }
    return best;
  };
  std::map<int, std::pair<double, int>> sums;
  Play play;
  const auto run = [&](const dlib::matrix<double, 0, 1>& x) {
    const int point = nearest(x);
    const double joules = trials.run(point).joules;
    auto& [sum, n] = sums[point];
    sum += std::log(joules);
    ++n;
    ++play.trials;
    return joules;
  };
  dlib::function_spec spec(low, high, integers);
  dlib::global_function_search search(spec);
  search.set_seed(static_cast<time_t>(seed));
  for (int k = 0; k < most; ++k) {
    auto request = search.get_next_x();
    request.set(-run(request.x()));
  }
  double least = 0;
  for (const auto& [point, sum] : sums) {
    if (play.chosen >= 0 && sum.first / sum.second >= least) continue;
    least = sum.first / sum.second;
    play.chosen = point;
  }
  play.settings = static_cast<int>(sums.size());
  play.regret = landscape.joules(play.chosen) / landscape.joules(landscape.best()) - 1;
  return play;
}

using Contestant = std::function<Play(const Landscape&, std::uint64_t)>;

std::vector<Play> all_plays(const std::vector<Landscape>& landscapes, int seeds,
                            const Contestant& contestant) {
  std::vector<Play> plays(landscapes.size() * static_cast<std::size_t>(seeds));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t job = next++; job < plays.size(); job = next++)
      plays[job] = contestant(landscapes[job / static_cast<std::size_t>(seeds)],
                              job % static_cast<std::size_t>(seeds) + 1);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return plays;
}

void print_line(const std::string& name, const std::vector<Play>& plays) {
  std::vector<double> regrets, bounds;
  double trials = 0, seconds = 0, slowest = 0;
  int held = 0;
  for (const Play& play : plays) {
    regrets.push_back(play.regret);
    trials += play.trials;
    seconds += play.seconds;
    slowest = std::max(slowest, play.slowest_proposal_s);
    if (!play.bound) continue;
    bounds.push_back(*play.bound);
    held += play.regret <= *play.bound + 1e-12 ? 1 : 0;
  }
  const double n = static_cast<double>(plays.size());
  std::string bound;
  if (!bounds.empty()) {
    bound = fmt::format("  bound {:5.2f} % (median), held {:5.1f} %, {:.1f} ms a proposal, slowest {:.0f} ms",
                        100 * quantile(bounds, 0.5), 100 * held / n, 1e3 * seconds / trials, 1e3 * slowest);
  }
  fmt::print("  {:<22} {:6.1f} trials   regret mean {:5.2f} %  p95 {:5.2f} %{}\n", name, trials / n,
             100 * std::accumulate(regrets.begin(), regrets.end(), 0.0) / n, 100 * quantile(regrets, 0.95),
             bound);
}

void tables(const std::string& folder, int seeds) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Play> all;
  for (const auto& file : files) {
    std::vector<std::string> notes;
    const auto landscapes = read_landscapes(file.string(), notes);
    std::size_t points = 0;
    for (const Landscape& l : landscapes) points += l.plan.points.size();
    fmt::print(
        "{}: {} workloads, {:.1f} settings on average, {} axes, {} seeds; noise 0.5 % of time, 2 % of "
        "power\n",
        file.stem().string(), landscapes.size(),
        static_cast<double>(points) / static_cast<double>(landscapes.size()),
        landscapes.front().plan.axes.size(), seeds);
    const auto with = [&](const std::string& search, std::function<int(const Landscape&)> trials) {
      return all_plays(landscapes, seeds, [&, trials](const Landscape& l, std::uint64_t seed) {
        return play(l, noisy(search, trials(l)), seed);
      });
    };
    const auto settings = [](const Landscape& l) { return static_cast<int>(l.plan.points.size()); };
    const auto adaptive = with("adaptive", trials_for);
    print_line("adaptive", adaptive);
    all.insert(all.end(), adaptive.begin(), adaptive.end());
    print_line("adaptive, full grid's", with("adaptive", settings));
    print_line("full grid once", with("full", settings));
    print_line("full grid three times", with("full", [&](const Landscape& l) { return 3 * settings(l); }));
    print_line("random", with("random", trials_for));
    print_line("golden section", with("golden", trials_for));
    print_line("dlib find_min_global",
               all_plays(landscapes, seeds, [](const Landscape& l, std::uint64_t seed) {
                 return play_dlib(l, trials_for(l), seed);
               }));
  }
  fmt::print("all tables together\n");
  print_line("adaptive", all);
}

// A made-up board: P0 + c f V^2 with V flat, then rising; time a + b/f, and memory clocks that limit it.
Plan made_up(const std::vector<int>& sizes) {
  Plan plan;
  plan.experiment.conditions.idle = Seconds{0};
  plan.experiment.search.method = "adaptive";
  plan.experiment.search.at_most = 1000;
  plan.experiment.search.regret = 0;
  std::size_t count = 1;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    PlanAxis axis{"axis" + std::to_string(a), true, Dimension::frequency, {}};
    for (int i = 0; i < sizes[a]; ++i) {
      const double hertz = 5e8 + 1.5e9 * i / (sizes[a] - 1);
      axis.values.push_back({std::to_string(hertz), hertz});
    }
    plan.axes.push_back(axis);
    count *= axis.values.size();
  }
  for (std::size_t i = 0; i < count; ++i) {
    PlanPoint point;
    std::size_t rest = i;
    for (const PlanAxis& axis : plan.axes) {
      point.values.push_back(axis.values[rest % axis.values.size()]);
      rest /= axis.values.size();
    }
    point.key = point.operating_point = "p" + std::to_string(i);
    point.scenario = "made up";
    plan.points.push_back(point);
  }
  plan.points.back().reference = true;
  return plan;
}

// Between two trials, early, in the middle and late in a search that has no end of its own; and which points were
// chosen, as a number: changes that make it faster leave these as they are.
void cost(int most) {
  for (const auto& sizes : {std::vector{36}, std::vector{250}, std::vector{125, 2}, std::vector{10, 10, 5}}) {
    const Plan plan = made_up(sizes);
    const auto strategy = make_strategy({plan});
    History history;
    std::map<int, std::vector<double>> took;  // by the trials so far
    std::uint64_t state = 88172645463325252ULL, chosen = 14695981039346656037ULL;
    const auto noise = [&] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return (static_cast<double>(state >> 11) / 9007199254740992.0 - 0.5) * 3.46;
    };
    std::string names;
    std::set<int> run;
    while (history.workload_trials() < most) {
      const auto began = std::chrono::steady_clock::now();
      const PlannedTrial* trial = strategy->next(history);
      if (trial == nullptr) break;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      for (const int n : {20, 65, 200, 400}) {
        if (std::abs(history.workload_trials() - n) <= 2) took[n].push_back(seconds);
      }
      if (history.workload_trials() < 100)
        chosen = (chosen ^ static_cast<std::uint64_t>(trial->point)) * 1099511628211ULL;
      run.insert(trial->point);
      double time = 0.2, power = 50;
      for (const auto& value : plan.points[static_cast<std::size_t>(trial->point)].values) {
        const double f = *value->number / 2e9, v = 1 + 0.8 * std::max(0.0, f - 0.55);
        time += 0.3 / f;
        power += 60 * f * v * v;
      }
      time *= std::exp(0.005 * noise());
      FinishedTrial done = as_planned(*trial);
      done.counts = true;
      done.work_time_s = time;
      done.work_energy_j = time * power * std::exp(0.02 * noise());
      done.objective = done.work_energy_j;
      history.add(done);
    }
    fmt::print("{} axes, {} points, {} of them run:", sizes.size(), plan.points.size(), run.size());
    for (auto& [n, all] : took) {
      std::sort(all.begin(), all.end());
      fmt::print(" {:.1f} ms behind {} trials,", 1e3 * all[all.size() / 2], n);
    }
    fmt::print(" the first 100 are {:016x}\n", chosen);
  }
}

// Shapes of the workloads before this one in the table, of those that have the same settings.
std::vector<PriorShape> shapes_before(const std::vector<Landscape>& landscapes, std::size_t which,
                                      std::size_t most) {
  const std::size_t points = landscapes[which].plan.points.size();
  std::vector<PriorShape> shapes;
  for (std::size_t back = 1; back < landscapes.size() && shapes.size() < most; ++back) {
    const Landscape& other = landscapes[(which + landscapes.size() - back) % landscapes.size()];
    if (other.plan.points.size() != points) continue;
    PriorShape shape{std::to_string(back), {}, {}};
    double time = 0, power = 0;
    for (std::size_t p = 0; p < points; ++p) {
      const int at = static_cast<int>(p);
      shape.log_time.push_back(std::log(other.seconds(at)));
      shape.log_power.push_back(std::log(other.joules(at) / other.seconds(at)));
      time += shape.log_time.back() / static_cast<double>(points);
      power += shape.log_power.back() / static_cast<double>(points);
    }
    for (double& v : shape.log_time) v -= time;
    for (double& v : shape.log_power) v -= power;
    shapes.push_back(std::move(shape));
  }
  return shapes.size() == most ? shapes : std::vector<PriorShape>{};
}

void learning(const std::string& folder, int seeds) {
  for (const char* name : {"gpu-v100", "gpu-v100-power-limit", "gpu-gtx980-low", "gpu-gtx1080ti"}) {
    std::vector<std::string> notes;
    const auto landscapes = read_landscapes(folder + "/" + name + ".csv", notes);
    fmt::print("{}: eight earlier workloads of the board, or none\n", name);
    for (const int trials : {4, 6, 8, 12}) {
      for (const bool warm : {false, true}) {
        const auto plays = all_plays(landscapes, seeds, [&](const Landscape& l, std::uint64_t seed) {
          constexpr std::size_t earlier = 8;
          const auto which = static_cast<std::size_t>(&l - landscapes.data());
          return play(l, noisy("adaptive", trials), seed,
                      warm ? shapes_before(landscapes, which, earlier) : std::vector<PriorShape>{});
        });
        print_line(fmt::format("{} trials, {}", trials, warm ? "warm" : "cold"), plays);
      }
    }
  }
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "cost") {
    dvfs_plan::cost(argc > 2 ? std::atoi(argv[2]) : 403);
  } else if (argc == 4 && std::atoi(argv[3]) < 1) {
    fmt::print(stderr, "bench_search: SEEDS must be a number above 0, not {}\n", argv[3]);
    return 2;
  } else if (what == "tables" && argc == 4) {
    dvfs_plan::tables(argv[2], std::atoi(argv[3]));
  } else if (what == "learning" && argc == 4) {
    dvfs_plan::learning(argv[2], std::atoi(argv[3]));
  } else {
    fmt::print(stderr, "bench_search cost [TRIALS] | tables FOLDER SEEDS | learning FOLDER SEEDS\n");
    return 2;
  }
  return 0;
}
