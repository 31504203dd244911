// bench_families PLAYS [CONFIDENCE [FAMILY [FIRST_SEED]]]: how often the bound that a search states holds, on
// surfaces made up at random, one family after the other.
// bench_families tables FOLDER SEEDS [CONFIDENCE]: the same on recorded tables.
// Each play is a whole search as an experiment without a word on stopping has it: until no other setting is
// better by more than 1 %, or as many trials as the full grid three times.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "orchestrator/replay/landscape.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "results/statistics/estimate.hpp"
#include "results/surface/plan_surface.hpp"
#include "results/surface/stated_comparison.hpp"

namespace dvfs_plan {
namespace {

using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
int among(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}
bool chance(Random& random, double probability) {
  return between(random, 0, 1) < probability;
}

// What a board does, and how its trials scatter about it.
struct Board {
  Plan plan;
  std::vector<double> time, power;         // of each point, without what differs from trial to trial
  double noise_time = 0, noise_power = 0;  // standard deviations, shares
  bool heavy = false;  // Student's t with three degrees of freedom, and now and then a disturbance
  // At some points a boost comes in some trials and not in others.
  std::vector<double> boosted;  // probability; empty: nowhere
  double boost_time = 1, boost_power = 1;
  // Of power, over the trials: a slope and a wave.
  double drift = 0, wave = 0, period = 1;
  bool slowdown = false;  // is constrained
  double together = 0;    // correlation of a trial's time and power

  double expected(int point, bool energy) const {
    const auto p = static_cast<std::size_t>(point);
    const double plain = time[p] * (energy ? power[p] : 1);
    const double other = boost_time * (energy ? boost_power : 1);
    return boosted.empty() ? plain : plain * (1 + boosted[p] * (other - 1));
  }
};

void add_axis(Plan& plan, const std::string& name, Dimension dimension, const std::vector<double>& numbers) {
  PlanAxis axis{name, true, dimension, {}};
  for (const double n : numbers) axis.values.push_back({fmt::format("{:.6g}", n), n});
  plan.axes.push_back(axis);
}

void add_points(Plan& plan) {
  std::size_t count = 1;
  for (const PlanAxis& axis : plan.axes) count *= axis.values.size();
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
}

// P0 + c f V^2 with V flat, then rising; time a + b/f.
Board clocks(Random& random) {
  Board board;
  const int n = among(random, 20, 120);
  const double low = between(random, 0.2, 0.5);
  const double knee = between(random, 0.4, 0.8), rise = between(random, 0.3, 1.5);
  const double idle = between(random, 20, 120), active = between(random, 80, 250);
  const double memory = between(random, 0, 0.8);
  std::vector<double> numbers;
  for (int i = 0; i < n; ++i) {
    const double f = low + (1 - low) * i / (n - 1), v = 1 + rise * std::max(0.0, f - knee);
    numbers.push_back(2e9 * f);
    board.time.push_back(memory + (1 - memory) / f);
    board.power.push_back(idle + active * f * v * v);
  }
  add_axis(board.plan, "clock", Dimension::frequency, numbers);
  add_points(board.plan);
  board.noise_time = between(random, 0.002, 0.008);
  board.noise_power = between(random, 0.005, 0.02);
  return board;
}

// From some clock on the delivered clock stays.
Board plateau(Random& random) {
  Board board = clocks(random);
  const auto from =
      static_cast<std::size_t>(between(random, 0.3, 0.9) * static_cast<double>(board.time.size()));
  for (std::size_t p = from; p < board.time.size(); ++p) {
    board.time[p] = board.time[from];
    board.power[p] = board.power[from];
  }
  return board;
}

std::size_t least_energy(const Board& board) {
  std::size_t best = 0;
  for (std::size_t p = 1; p < board.time.size(); ++p) {
    if (board.time[p] * board.power[p] < board.time[best] * board.power[best]) best = p;
  }
  return best;
}

// Anywhere, or as often where it matters: near the least energy.
std::size_t somewhere(Random& random, const Board& board) {
  const auto n = static_cast<double>(board.time.size());
  double at = between(random, 0.1, 0.9) * n;
  if (chance(random, 0.5)) at = static_cast<double>(least_energy(board)) + between(random, -0.15, 0.15) * n;
  return static_cast<std::size_t>(std::clamp(at, 1.0, n - 1));
}

// A power rail that goes up, or a memory clock that comes with the core's.
Board step(Random& random) {
  Board board = clocks(random);
  const bool rail = chance(random, 0.5);
  const double power = rail ? between(random, 1.04, 1.25) : between(random, 1.05, 1.2);
  const double time = rail ? 1 : between(random, 0.85, 0.98);
  for (std::size_t p = somewhere(random, board); p < board.time.size(); ++p) {
    board.time[p] *= time;
    board.power[p] *= power;
  }
  return board;
}

// Some ranges of clocks take 3 to 7 % more or less power than their neighbours.
Board islands(Random& random) {
  Board board = clocks(random);
  const std::size_t n = board.time.size();
  for (int k = among(random, 1, 4); k > 0; --k) {
    const auto width =
        static_cast<std::size_t>(std::lround(between(random, 0.03, 0.15) * static_cast<double>(n)));
    const double share = between(random, 0.03, 0.07);
    const double factor = chance(random, 0.7) ? 1 - share : 1 + share;
    const std::size_t middle = somewhere(random, board), from = middle - std::min(middle, width / 2);
    for (std::size_t p = from; p < std::min(n, from + std::max<std::size_t>(1, width)); ++p)
      board.power[p] *= factor;
  }
  return board;
}

// A divider that takes several clocks to come round.
Board sawtooth(Random& random) {
  Board board = clocks(random);
  const int period = among(random, 3, 8), phase = among(random, 0, 7);
  const double height = between(random, 0.01, 0.04);
  for (std::size_t p = 0; p < board.time.size(); ++p)
    board.power[p] *= 1 + height * ((static_cast<int>(p) + phase) % period) / (period - 1.0);
  return board;
}

// Each setting has a scatter of its own that its repetitions do not show.
Board jagged(Random& random) {
  Board board = clocks(random);
  const double scatter = between(random, 0.01, 0.04);
  std::normal_distribution<double> normal;
  for (double& power : board.power) power *= std::exp(scatter * normal(random));
  return board;
}

Board bimodal(Random& random) {
  Board board = clocks(random);
  const double from = between(random, 0.1, 0.7) * static_cast<double>(board.time.size());
  const double probability = between(random, 0.2, 0.5);
  for (std::size_t p = 0; p < board.time.size(); ++p)
    board.boosted.push_back(static_cast<double>(p) >= from ? probability : 0);
  board.boost_time = between(random, 0.94, 0.98);
  board.boost_power = between(random, 1.05, 1.15);
  return board;
}

// Power limits of which the upper ones do not bind.
Board caps(Random& random) {
  Board board;
  const int n = among(random, 20, 60);
  const double need = between(random, 180, 280), idle = between(random, 30, 80),
               cube = between(random, 1.5, 3);
  const double memory = between(random, 0, 0.6);
  std::vector<double> numbers;
  for (int i = 0; i < n; ++i) {
    const double cap = 100 + 200.0 * i / (n - 1), power = std::min(cap, need);
    const double f = std::pow((power - idle) / (need - idle), 1 / cube);
    numbers.push_back(cap);
    board.time.push_back(memory + (1 - memory) / f);
    board.power.push_back(power);
  }
  add_axis(board.plan, "power_limit", Dimension::power, numbers);
  add_points(board.plan);
  board.noise_time = between(random, 0.002, 0.008);
  board.noise_power = between(random, 0.003, 0.015);
  return board;
}

// Core and memory clocks: the slower of the two limits, softly.
Board interaction(Random& random) {
  Board board;
  const int cores = among(random, 6, 20), memories = among(random, 3, 8);
  const double knee = between(random, 0.4, 0.8), rise = between(random, 0.3, 1.5);
  const double idle = between(random, 20, 120), active = between(random, 80, 250),
               of_memory = between(random, 10, 80);
  const double share = between(random, 0.2, 0.8), soft = between(random, 2, 8);
  std::vector<double> core, memory;
  for (int i = 0; i < cores; ++i) core.push_back(0.3 + 0.7 * i / (cores - 1));
  for (int k = 0; k < memories; ++k) memory.push_back(0.4 + 0.6 * k / (memories - 1));
  for (const double g : memory) {
    for (const double f : core) {
      const double v = 1 + rise * std::max(0.0, f - knee);
      const double time = std::pow(std::pow((1 - share) / f, soft) + std::pow(share / g, soft), 1 / soft);
      board.time.push_back(time);
      board.power.push_back(idle + active * f * v * v + of_memory * g * g);
    }
  }
  for (double& f : core) f *= 2e9;
  for (double& g : memory) g *= 5e9;
  add_axis(board.plan, "core", Dimension::frequency, core);
  add_axis(board.plan, "memory", Dimension::frequency, memory);
  add_points(board.plan);
  board.noise_time = between(random, 0.002, 0.008);
  board.noise_power = between(random, 0.005, 0.02);
  return board;
}

Board heavy(Random& random) {
  Board board = clocks(random);
  board.heavy = true;
  return board;
}

Board drifting(Random& random) {
  Board board = clocks(random);
  board.drift = between(random, -0.0005, 0.0005);
  board.wave = between(random, 0, 0.015);
  board.period = between(random, 20, 80);
  return board;
}

// Another machine's work beside it: trials scatter four times as much as they mostly do.
Board noisy(Random& random) {
  Board board = clocks(random);
  board.noise_time *= 4;
  board.noise_power *= 4;
  return board;
}

// What takes longer draws more meanwhile, too.
Board together(Random& random) {
  Board board = clocks(random);
  board.noise_time = between(random, 0.01, 0.03);
  board.noise_power = between(random, 0.01, 0.03);
  board.together = 0.8;
  return board;
}

Board slower(Random& random) {
  Board board = clocks(random);
  board.slowdown = true;
  return board;
}

struct Family {
  const char* name;
  std::function<Board(Random&)> make;
};
const std::vector<Family>& families() {
  static const std::vector<Family> all{{"smooth", clocks},
                                       {"plateau", plateau},
                                       {"step", step},
                                       {"islands", islands},
                                       {"sawtooth", sawtooth},
                                       {"jagged", jagged},
                                       {"bimodal", bimodal},
                                       {"caps", caps},
                                       {"two axes", interaction},
                                       {"heavy tails", heavy},
                                       {"drift", drifting},
                                       {"slowdown 5 %", slower},
                                       {"four times the noise", noisy},
                                       {"time and power together", together}};
  return all;
}

// One after the other, so that a drift is one.
class Trials {
 public:
  Trials(const Board& board, std::uint64_t seed) : board_(board), random_(seed) {}

  Landscape::Record run(int point) {
    const auto p = static_cast<std::size_t>(point);
    const double at = ran_++;
    const double of_time = noise();
    const double of_power =
        board_.together * of_time + std::sqrt(1 - board_.together * board_.together) * noise();
    double time = board_.time[p] * std::exp(board_.noise_time * of_time);
    double power = board_.power[p] * std::exp(board_.noise_power * of_power);
    power *= std::exp(board_.drift * at + board_.wave * std::sin(2 * M_PI * at / board_.period));
    if (!board_.boosted.empty() && chance(random_, board_.boosted[p])) {
      time *= board_.boost_time;
      power *= board_.boost_power;
    }
    constexpr double disturbed = 0.03;
    if (board_.heavy && chance(random_, disturbed)) time *= between(random_, 1.02, 1.2);
    return {time, time * power};
  }

 private:
  double noise() { return board_.heavy ? std::student_t_distribution<double>(3)(random_) : normal_(random_); }

  const Board& board_;
  Random random_;
  std::normal_distribution<double> normal_;
  double ran_ = 0;
};

struct Outcome {
  int trials = 0, grid = 0;
  bool named = false, within = false;  // the bound is what was asked for
  bool best_was_run = false;
  double regret = 0, bound = 0;
  double stated = 1;  // probability that the constraints hold
  bool violated = false;
  int runs = 0;  // of the setting named
  // What it is said to take less than the reference, once four trials were repetitions: as a report states it.
  bool states_gain = false;
  double gain = 0, gain_low = 0, gain_high = 0;
  bool model_holds = false;  // the model's own interval
  double model_width = 0;
};

// At most this many trials, so that a bench ends; the default of a large grid is more.
constexpr int most_trials = 150;

template <typename Run>
Outcome search(Plan plan, double confidence, Run run, const std::function<double(int)>& energy,
               const std::function<bool(int)>& allowed) {
  plan.experiment.conditions.idle = Seconds{0};
  plan.experiment.search.method = "adaptive";
  plan.experiment.search.confidence = confidence;
  const auto points = static_cast<int>(plan.points.size());
  plan.experiment.search.at_most = std::min(most_trials, points * plan.experiment.repeat.min);
  const auto strategy = make_strategy({plan});
  History history;
  Outcome outcome;
  std::vector<int> runs(plan.points.size());
  while (const PlannedTrial* trial = strategy->next(history)) {
    const Landscape::Record record = run(trial->point);
    FinishedTrial finished = as_planned(*trial);
    finished.counts = true;
    finished.objective = finished.work_energy_j = record.joules;
    finished.work_time_s = finished.slot_s = record.seconds;
    history.add(finished);
    ++runs[static_cast<std::size_t>(trial->point)];
    ++outcome.trials;
  }
  outcome.grid = points * plan.experiment.repeat.min;
  const OptimumModel model(surface_question(plan),
                           surface_trials(history.trials(), plan.experiment.objective.minimise));
  std::vector<int> all(plan.points.size());
  std::iota(all.begin(), all.end(), 0);
  const auto optimum = model.optimum(all, confidence);
  if (!optimum) return outcome;
  int best = -1;
  for (const int p : all) {
    if (allowed(p) && (best < 0 || energy(p) < energy(best))) best = p;
  }
  outcome.named = true;
  outcome.bound = optimum->regret_bound;
  outcome.within = outcome.bound <= plan.experiment.search.regret;
  outcome.regret = energy(optimum->point) / energy(best) - 1;
  outcome.stated = optimum->feasible;
  outcome.violated = !allowed(optimum->point);
  outcome.best_was_run = runs[static_cast<std::size_t>(best)] > 0;
  outcome.runs = runs[static_cast<std::size_t>(optimum->point)];
  int repeats = 0;
  for (const int n : runs) repeats += std::max(0, n - 1);
  const int reference = points - 1;
  if (repeats >= fewest_repeats && optimum->point != reference && runs.back() > 0) {
    const auto known = surface_trials(history.trials(), plan.experiment.objective.minimise);
    const auto stated =
        stated_comparison(model, optimum->point, reference, known, all, plan.experiment.objective).gain;
    outcome.states_gain = true;
    outcome.gain = 1 - energy(optimum->point) / energy(reference);
    outcome.gain_low = stated.low;
    outcome.gain_high = stated.high;
    const SurfaceChange of_model = model.compare(optimum->point, reference).gain;
    outcome.model_holds = of_model.low <= outcome.gain && outcome.gain <= of_model.high;
    outcome.model_width = of_model.high - of_model.low;
  }
  return outcome;
}

Outcome play(const Board& board, double confidence, std::uint64_t seed) {
  constexpr double limit = 0.05;
  Plan plan = board.plan;
  if (board.slowdown)
    plan.experiment.objective.constraints = {{"slowdown", {}, ConstraintSpec::Relation::at_most, limit, ""}};
  Trials trials(board, seed);
  const int reference = static_cast<int>(plan.points.size()) - 1;
  return search(
      plan, confidence, [&](int p) { return trials.run(p); }, [&](int p) { return board.expected(p, true); },
      [&](int p) {
        return !board.slowdown || board.expected(p, false) / board.expected(reference, false) - 1 <= limit;
      });
}

std::vector<Outcome> all_plays(std::size_t count, const std::function<Outcome(std::size_t)>& one) {
  std::vector<Outcome> outcomes(count);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t job = next++; job < outcomes.size(); job = next++) outcomes[job] = one(job);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return outcomes;
}

void print_line(const std::string& name, const std::vector<Outcome>& outcomes) {
  std::vector<double> bounds, regrets;
  double trials = 0, of_grid = 0, stated = 0;
  int held = 0, within = 0, held_within = 0, violated = 0, missed_unseen = 0, named = 0;
  for (const Outcome& o : outcomes) {
    trials += o.trials;
    of_grid += static_cast<double>(o.trials) / o.grid;
    if (!o.named) continue;
    ++named;
    const bool holds = o.regret <= o.bound + 1e-12;
    bounds.push_back(o.bound);
    regrets.push_back(o.regret);
    held += holds;
    within += o.within;
    held_within += o.within && holds;
    missed_unseen += !holds && !o.best_was_run;
    violated += o.violated;
    stated += o.stated;
  }
  if (named == 0) return;
  const double n = named;
  fmt::print(
      "| bound of a search | {} | {} | {:.1f} % | {:.2f} % | stops by itself in {:.1f} % (holds in {:.1f} "
      "%), "
      "truly worse by at most {:.2f} % in 95 %, {:.1f} trials ({:.0f} % of the full grid), missed best not "
      "run "
      "{}, run {}",
      name, named, 100 * held / n, 100 * quantile(bounds, 0.5), 100 * within / n,
      within > 0 ? 100.0 * held_within / within : 100, 100 * quantile(regrets, 0.95),
      trials / static_cast<double>(outcomes.size()), 100 * of_grid / static_cast<double>(outcomes.size()),
      missed_unseen, named - held - missed_unseen);
  if (violated > 0 || stated < n - 1e-9)
    fmt::print("; constraints broken in {:.1f} %, stated {:.1f} %", 100 * violated / n,
               100 - 100 * stated / n);
  fmt::print(" |\n");
  std::fflush(stdout);
}

void print_gain(const std::string& name, const std::vector<Outcome>& outcomes) {
  int stated = 0, below = 0, above = 0, of_model = 0;
  std::vector<double> widths, of_models;
  for (const Outcome& o : outcomes) {
    if (!o.states_gain) continue;
    ++stated;
    below += o.gain < o.gain_low;
    above += o.gain > o.gain_high;
    of_model += o.model_holds;
    widths.push_back(o.gain_high - o.gain_low);
    of_models.push_back(o.model_width);
  }
  if (stated == 0) return;
  fmt::print(
      "| gain of a search's best | {} | {} | {:.1f} % | {:.2f} % | half the interval; the truth is less in "
      "{:.1f} %, more in {:.1f} %; the "
      "model's own holds in {:.1f} %, {:.2f} % |\n",
      name, stated, 100.0 * (stated - below - above) / stated, 50 * quantile(widths, 0.5),
      100.0 * below / stated, 100.0 * above / stated, 100.0 * of_model / stated,
      50 * quantile(of_models, 0.5));
  std::fflush(stdout);
}

void print_head() {
  fmt::print("\n| claim | conditions | stated | holds | median | beside it |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
}

void made_up(std::size_t plays, double confidence, const std::string& only, std::uint64_t first) {
  print_head();
  for (const Family& family : families()) {
    if (!only.empty() && only != family.name) continue;
    const auto outcomes = all_plays(plays, [&](std::size_t job) {
      Random random((first + job) * 7919 + 1);
      return play(family.make(random), confidence, first + job);
    });
    print_line(family.name, outcomes);
    print_gain(family.name, outcomes);
  }
}

void tables(const std::string& folder, std::size_t seeds, double confidence) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  print_head();
  for (const auto& file : files) {
    std::vector<std::string> notes;
    const auto landscapes = read_landscapes(file.string(), notes);
    print_line(file.stem().string(), all_plays(landscapes.size() * seeds, [&](std::size_t job) {
                 const Landscape& landscape = landscapes[job / seeds];
                 Board board;
                 board.plan = landscape.plan;
                 for (int p = 0; p < static_cast<int>(landscape.records.size()); ++p) {
                   board.time.push_back(landscape.seconds(p));
                   board.power.push_back(landscape.joules(p) / landscape.seconds(p));
                 }
                 board.noise_time = 0.005;
                 board.noise_power = 0.02;
                 return play(board, confidence, 1 + job % seeds);
               }));
  }
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, double otherwise) { return argc > at ? std::atof(argv[at]) : otherwise; };
  if (what == "tables" && argc >= 4 && number(3, 0) >= 1) {
    dvfs_plan::tables(argv[2], static_cast<std::size_t>(number(3, 0)), number(4, 0.95));
  } else if (number(1, 0) >= 1) {
    dvfs_plan::made_up(static_cast<std::size_t>(number(1, 0)), number(2, 0.95), argc > 3 ? argv[3] : "",
                       static_cast<std::uint64_t>(number(4, 1)));
  } else {
    fmt::print(
        stderr,
        "bench_families PLAYS [CONFIDENCE [FAMILY [FIRST_SEED]]] | tables FOLDER SEEDS [CONFIDENCE]\n");
    return 2;
  }
  return 0;
}
