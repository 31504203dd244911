// How often what the program states is so: each claim through the program's own code, on nights whose truth
// is known, beside how wide it is. `./dev bench truth`.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/bench/truth/blocked_nights.hpp"
#include "tests/bench/truth/counter_nights.hpp"
#include "tests/bench/truth/gauge_nights.hpp"
#include "tests/bench/truth/recorded_loads.hpp"
#include "tests/bench/truth/whole_nights.hpp"

namespace dvfs_plan::truth {
namespace {

struct Tally {
  int nights = 0, known = 0, covered = 0;
  double width = 0, error = 0, looks = 0, updates = 0;
  void add(const Outcome& outcome) {
    ++nights;
    looks += outcome.looks;
    updates += outcome.updates;
    if (!outcome.joules) return;
    ++known;
    const double off = std::abs(*outcome.joules - outcome.truth);
    covered += off <= outcome.half_width ? 1 : 0;
    width += outcome.half_width / outcome.truth;
    error += off / outcome.truth;
  }
};

void print(const std::string& claim, const std::string& conditions, const Tally& t) {
  fmt::print("| {} | {} | {} | {:.1f} % | {:.2f} % | {:.2f} % | {:.2f} |\n", claim, conditions, t.known,
             100.0 * t.covered / t.known, 100 * t.width / t.known, 100 * t.error / t.known,
             t.looks / t.updates);
}

void recorded_loads(int nights) {
  const std::string folder = std::string(DVFS_PLAN_SOURCE) + "/../shared/fixtures/nvidia-h200/loads";
  for (const char* recording : {"steady", "many"}) {
    const auto counter = RecordedCounter::open(folder, recording);
    if (!counter) {
      fmt::print("(the recording {} is not here: {})\n", recording, folder);
      continue;
    }
    std::vector<std::string> names;
    for (const RecordedLoad& load : counter->loads()) {
      if (names.empty() || names.back() != load.name) names.push_back(load.name);
    }
    for (const std::string& name : names) {
      for (const double look : {0.0, 0.005, 0.02, 0.05, 0.072, 0.08, 0.1, 0.16, 0.3, 0.5}) {
        Tally tally;
        for (int seed = 1; tally.nights < std::max(36, nights / 10); ++seed) {
          for (const RecordedLoad& load : counter->loads()) {
            if (load.name == name) tally.add(counter->measure(load, look, static_cast<std::uint64_t>(seed)));
          }
        }
        print("energy of a counter, recorded",
              fmt::format("{}, looks {}", name,
                          look > 0 ? fmt::format("{:g} ms apart", 1e3 * look) : "that follow"),
              tally);
      }
      double error = 0;
      int loads = 0;
      for (const RecordedLoad& load : counter->loads()) {
        if (load.name != name) continue;
        error += std::abs(counter->plain_difference(load) / load.joules - 1);
        ++loads;
      }
      fmt::print("| plain difference at the edges | {} | {} | | | {:.2f} % | |\n", name, loads,
                 100 * error / loads);
    }
  }
}

// Gauges alone: of how many something is stated, how often that holds, and how far the others are off.
void gauges(int nights) {
  fmt::print(
      "\n| claim | conditions | nights | stated | of these hold | mean half-width | mean error | mean error "
      "of the others |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Gauge gauge : all_gauges) {
    for (const bool loaded : {true, false}) {
      for (const Load load : {Load::process, Load::inside, Load::step, Load::square, Load::pulses}) {
        int known = 0, stated = 0, held = 0;
        double width = 0, error = 0, other = 0;
        for (int seed = 1; seed <= nights; ++seed) {
          const auto one = measure_gauge({gauge, load, loaded}, static_cast<std::uint64_t>(seed));
          if (!one) continue;
          ++known;
          const double off = std::abs(one->joules - one->truth);
          (one->half_width ? error : other) += off / one->truth;
          if (!one->half_width) continue;
          ++stated;
          held += off <= *one->half_width ? 1 : 0;
          width += *one->half_width / one->truth;
        }
        const auto share = [](double part, int of) {
          return of > 0 ? fmt::format("{:.2f} %", 100 * part / of) : std::string();
        };
        fmt::print("| energy of a gauge | {}, {}, {} | {} | {} | {} | {} | {} | {} |\n", to_string(gauge),
                   loaded ? "window measured" : "window not known", to_string(load), known, stated,
                   share(held, stated), share(width, stated), share(error, stated),
                   share(other, known - stated));
      }
    }
  }
}

void blocked_nights(int nights) {
  fmt::print("\n| claim | conditions | stated | holds | mean width | beside it |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const int blocks : {3, 5, 10}) {
    for (const Drift drift : all_drifts) {
      BlockConditions conditions;
      conditions.drift = drift;
      conditions.blocks = blocks;
      conditions.alike = true;
      int stated = 0, hold = 0;
      double width = 0;
      for (int seed = 1; seed <= nights; ++seed) {
        const BlockOutcome one = state_a_night(conditions, static_cast<std::uint64_t>(seed), false);
        stated += one.savings;
        hold += one.savings_hold;
        width += one.savings_width;
      }
      fmt::print("| saving, A against A | {}, {} blocks of 12 points | {} | {:.1f} % | {:.2f} % | |\n",
                 to_string(drift), blocks, stated, 100.0 * hold / stated, 100 * width / stated);
    }
  }
  for (const int points : {5, 12, 25, 110}) {
    for (const int blocks : {3, 5, 10}) {
      if (points == 110 && blocks > 3) continue;
      for (const Noise noise : {Noise::equal, Noise::noisy_best, Noise::noisier_best, Noise::half_noisy}) {
        for (const std::string surface : {"all alike", "a valley", "one far below the others"}) {
          BlockConditions conditions;
          conditions.noise = noise;
          conditions.points = points;
          conditions.blocks = blocks;
          conditions.alike = surface == "all alike";
          conditions.clear = surface == "one far below the others";
          int known = 0, in_set = 0, all = 0, named = 0, plain = 0;
          double set = 0, width = 0, plain_width = 0;
          for (int seed = 1; seed <= nights; ++seed) {
            const BlockOutcome one = state_a_night(conditions, static_cast<std::uint64_t>(seed), true);
            ++all;
            in_set += one.best_in_set ? 1 : 0;
            set += one.set;
            if (!one.named) continue;
            ++known;
            named += one.named_holds ? 1 : 0;
            plain += one.plain_holds ? 1 : 0;
            width += one.named_width;
            plain_width += one.plain_width;
          }
          const std::string text =
              fmt::format("{}, {}, {} blocks of {}", to_string(noise), surface, blocks, points);
          fmt::print("| best in the set | {} | {} | {:.1f} % | {:.2f} points | |\n", text, all,
                     100.0 * in_set / all, set / all);
          if (known > 0)
            fmt::print(
                "| saving of the named point | {} | {} | {:.1f} % | {:.2f} % | its own pairs: {:.1f} %, "
                "{:.2f} % wide |\n",
                text, known, 100.0 * named / known, 100 * width / known, 100.0 * plain / known,
                100 * plain_width / known);
        }
      }
    }
  }
}

void confirmed_nights(int nights) {
  fmt::print("\n| claim | conditions | stated | holds | mean width | beside it |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const int blocks : {3, 5}) {
    for (const int confirming : {4, 5, 10}) {
      for (const Noise noise : {Noise::equal, Noise::noisy_best, Noise::half_noisy}) {
        for (const bool alike : {true, false}) {
          const BlockConditions conditions{.noise = noise, .points = 12, .blocks = blocks, .alike = alike};
          int stated = 0, hold = 0, corrected_holds = 0, fresh = 0;
          double width = 0, corrected_width = 0, worse = 0, corrected_worse = 0;
          for (int seed = 1; seed <= nights; ++seed) {
            const ConfirmedOutcome one =
                confirm_a_night(conditions, confirming, static_cast<std::uint64_t>(seed));
            if (!one.confirmed.stated || !one.corrected.stated) continue;
            ++stated;
            fresh += one.went_by_fresh_blocks ? 1 : 0;
            hold += one.confirmed.holds ? 1 : 0;
            corrected_holds += one.corrected.holds ? 1 : 0;
            width += one.confirmed.width;
            corrected_width += one.corrected.width;
            worse += one.confirmed.worse_than_best;
            corrected_worse += one.corrected.worse_than_best;
          }
          fmt::print(
              "| saving of the named point, confirmed | {}, {}, {} blocks of 12 and {} fresh | {} | {:.1f} % "
              "| {:.2f} % | by fresh blocks in {:.0f} %; corrected: {:.1f} %, {:.2f} % wide; the named point "
              "is worse than the best by {:.2f} %, before {:.2f} % |\n",
              to_string(noise), alike ? "all alike" : "a valley", blocks, confirming, stated,
              100.0 * hold / stated, 100 * width / stated, 100.0 * fresh / stated,
              100.0 * corrected_holds / stated, 100 * corrected_width / stated, 100 * worse / stated,
              100 * corrected_worse / stated);
        }
      }
    }
  }
}

void whole_nights(int nights) {
  fmt::print("\n| claim | conditions | stated | holds | mean width | beside it |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const int blocks : {3, 5, 10}) {
    for (const double drift : {0.0, 0.02}) {
      Stated slowdown;
      int pairs = 0, flagged = 0;
      for (int seed = 1; seed <= nights; ++seed) {
        const NightOutcome one = tell_a_night({.points = 6,
                                               .blocks = blocks,
                                               .scatter_of_time = 0.004,
                                               .scatter_of_energy = 0.005,
                                               .drift = drift},
                                              static_cast<std::uint64_t>(seed));
        slowdown.stated += one.slowdown.stated;
        slowdown.hold += one.slowdown.hold;
        slowdown.width += one.slowdown.width;
        pairs += one.blocks;
        flagged += one.flagged;
      }
      if (drift == 0)
        fmt::print("| slowdown | {} blocks of 6 points | {} | {:.1f} % | {:.2f} % | |\n", blocks,
                   slowdown.stated, 100.0 * slowdown.hold / slowdown.stated,
                   100 * slowdown.width / slowdown.stated);
      fmt::print(
          "| the reference's two trials differ by more than 1 % | {} blocks, energy drifts by {:g} % in each "
          "| {} | "
          "a fact | | {:.1f} % flagged |\n",
          blocks, 100 * drift, pairs, 100.0 * flagged / pairs);
    }
    for (const double offset : {0.0, 0.005, 0.01, 0.02}) {
      for (const double change : {0.0, 0.03}) {
        Stated energy;
        int alarms = 0, found = 0;
        for (int seed = 1; seed <= nights; ++seed) {
          const ComparedOutcome one = compare_nights({.points = 6,
                                                      .blocks = blocks,
                                                      .scatter_of_time = 0.004,
                                                      .scatter_of_energy = 0.005,
                                                      .drift = 0},
                                                     offset, change, static_cast<std::uint64_t>(seed));
          energy.stated += one.energy.stated;
          energy.hold += one.energy.hold;
          energy.width += one.energy.width;
          alarms += one.alarm ? 1 : 0;
          found += one.found ? 1 : 0;
        }
        fmt::print(
            "| change between two nights | {} blocks, the second night {:g} % higher{} | {} | {:.1f} % | "
            "{:.2f} % | "
            "false alarms in {:.1f} % of nights{} |\n",
            blocks, 100 * offset, change > 0 ? fmt::format(", one point {:g} %", 100 * change) : "",
            energy.stated, 100.0 * energy.hold / energy.stated, 100 * energy.width / energy.stated,
            100.0 * alarms / nights,
            change > 0 ? fmt::format(", the one found in {:.1f} %", 100.0 * found / nights) : "");
      }
    }
  }
  for (const double share : {0.0, 0.05, 0.1, 0.2, 0.5, 1.0}) {
    double error = 0;
    int counts = 0;
    for (int seed = 1; seed <= nights; ++seed) {
      const ClockOutcome one = tell_a_clock(share, static_cast<std::uint64_t>(seed));
      error += std::abs(one.delivered / one.truth - 1);
      counts += one.counts ? 1 : 0;
    }
    fmt::print(
        "| delivered clock | held down to the next step for {:g} % of a trial | {} | off by {:.3f} % | | "
        "counts as "
        "requested in {:.1f} % |\n",
        100 * share, nights, 100 * error / nights, 100.0 * counts / nights);
  }
}

// Apart, in updates.
constexpr double all_looks[] = {0.0, 0.1,  0.25, 0.5, 0.7, 0.9, 0.95, 0.98,
                                1.0, 1.02, 1.1,  1.3, 2.0, 5.0, 10.0};
std::string looks_text(double look) {
  return "looks " + (look > 0 ? fmt::format("{:g} updates apart", look) : std::string("that follow"));
}

// `only`: of the load of that name; empty: of all.
void counters_of_all_kinds(int nights, const std::string& only) {
  fmt::print("| claim | conditions | nights | holds | mean half-width | mean error | looks an update |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  const auto counters = [&](const std::string& text, CounterConditions conditions) {
    Tally tally;
    for (int seed = 1; seed <= nights; ++seed)
      tally.add(measure_counters(conditions, static_cast<std::uint64_t>(seed)));
    print("energy of a counter", text, tally);
  };
  for (const Load load : all_loads) {
    if (!only.empty() && to_string(load) != only) continue;
    for (const double look : all_looks)
      counters(to_string(load) + ", " + looks_text(look),
               {.load = load, .look = look, .region = {}, .boards = 1, .update = 0.1, .read_cost = {}});
  }
  for (const double look : all_looks) {
    if (!only.empty() && only != "steps") break;
    Tally tally;
    for (int seed = 1; seed <= nights / 4; ++seed)
      tally.add(
          measure_mean({.load = Load::steps, .look = look, .region = {}, .update = 0.1, .read_cost = {}},
                       static_cast<std::uint64_t>(seed), 8));
    print("mean of 8 trials by a counter", "steps, " + looks_text(look), tally);
  }
  for (const double region : {0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0}) {
    if (!only.empty() && only != "process") break;
    counters(
        fmt::format("process of {:g} updates, looks that follow", region),
        {.load = Load::process, .look = 0, .region = region, .boards = 1, .update = 0.1, .read_cost = {}});
  }
  for (const double region : {0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0}) {
    if (!only.empty() && only != "inside") break;
    counters(
        fmt::format("inside, {:g} updates, looks that follow", region),
        {.load = Load::inside, .look = 0, .region = region, .boards = 1, .update = 0.1, .read_cost = {}});
  }
  if (!only.empty()) return;
  counters("process, two boards, looks that follow",
           {.load = Load::process, .look = 0, .region = {}, .boards = 2, .update = 0.1, .read_cost = {}});
  recorded_loads(nights);
}

// `part`: one of the claims' kinds, empty for all; `load`: of counters those of this load.
int run(int nights, const std::string& part, const std::string& load) {
  if (part.empty() || part == "counters") counters_of_all_kinds(nights, load);
  if (part.empty() || part == "gauges") gauges(nights);
  if (part.empty() || part == "blocks") blocked_nights(nights);
  if (part.empty() || part == "confirmed") confirmed_nights(nights);
  if (part.empty() || part == "nights") whole_nights(nights);
  return 0;
}

}  // namespace
}  // namespace dvfs_plan::truth

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // hours: each row as it is known
  return dvfs_plan::truth::run(argc > 1 ? std::atoi(argv[1]) : 2000, argc > 2 ? argv[2] : "",
                               argc > 3 ? argv[3] : "");
}
