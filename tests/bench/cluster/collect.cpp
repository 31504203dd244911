// What collecting costs: files of NODES nodes with BLOCKS blocks of 100 trials each are made up, handed in and collected.
//
//   bench_collect FOLDER NODES BLOCKS
//
// Each trial has three channels of 100 readings and what else a trial has. Prints the rate and the time to the report.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "experiments/plan/plan.hpp"
#include "orchestrator/cluster/collector.hpp"
#include "orchestrator/commands/vocabulary.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

double seconds_since(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - when).count();
}

Plan plan_of(int blocks) {
  std::string clocks;
  for (int i = 0; i < 98; ++i)
    clocks += fmt::format("{}{}", i == 0 ? "" : ", ", 10 + i);  // and two of the reference
  const std::string text = fmt::format(
      "name: made-up\nworkloads: [{{name: w, command: [\"true\", \"{{n}}\"]}}]\naxes: {{n: [{}, "
      "9]}}\nrepeat: {}\n"
      "objective: {{minimise: energy, across: [n], same work: true}}\nconditions: {{idle: none}}\nreference: "
      "{{n: 9}}\n",
      clocks, blocks);
  Diagnostics diagnostics("made-up.yaml");
  const auto experiment = parse_experiment(text, "made-up.yaml", registered_vocabulary(), diagnostics);
  return *resolve_plan(*experiment, {{}, "/usr/bin:/bin"}, diagnostics);
}

const std::vector<Channel>& channels() {
  static const std::vector<Channel> all = [] {
    std::vector<Channel> made;
    for (const char* domain : {"package-0", "package-1", "system"})
      made.push_back({.name = fmt::format("made:{}", domain),
                      .probe = "made",
                      .unit = "W",
                      .kind = ChannelKind::gauge,
                      .domain = domain,
                      .within = "",
                      .wraps_at = {},
                      .source = "made up"});
    return made;
  }();
  return all;
}

TrialRecord trial_of(const PlannedTrial& planned, double level, std::mt19937_64& random) {
  std::normal_distribution<double> normal(1, 0.01);
  const double joules = level * (50 + planned.point) * normal(random);
  constexpr Nanoseconds s = 1'000'000'000, ms = 1'000'000;
  TrialRecord t;
  static_cast<PlannedTrial&>(t) = planned;
  t.started_at = "2026-01-01T00:00:00.000Z";
  t.child.end = ChildResult::End::exited;
  t.child.started = 10 * s;
  t.child.ended = 20 * s;
  t.runs = {{t.child.started, t.child.ended}};
  t.regions = {{"", 1, t.child.started, t.child.ended, true, joules}};
  t.region_s = 10;
  t.energy_j = t.objective = joules;
  t.energy_half_width_j = 0.1;
  t.fresh_readings = 100;
  for (std::uint32_t channel = 0; channel < channels().size(); ++channel) {
    for (int i = 0; i < 100; ++i)
      t.readings.push_back({channel, 10 * s + i * 100 * ms, joules / 10 * normal(random), ReadingStatus::ok});
    t.energies.push_back({channel, joules, 100, EnergyFault::none, 0.1, 0.0, 100, {}});
  }
  t.metrics = {{"rate", 1.5, "1/s"}};
  return t;
}

int bench(const std::string& where, int nodes, int blocks_of_node) {
  std::filesystem::create_directories(where);
  const Plan plan = plan_of(nodes * blocks_of_node);
  const SharedFolder folder(where + "/shared");
  folder.make();
  std::mt19937_64 random(1);
  int trials = 0;
  std::uintmax_t bytes = 0;
  const auto made = std::chrono::steady_clock::now();
  for (int block = 1; block <= nodes * blocks_of_node; ++block) {
    const std::string node = fmt::format("n{:03}", (block - 1) % nodes + 1),
                      origin = fmt::format("origin-{:05}", block);
    const std::string path = where + "/own.sqlite";
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path + ending);
    Store own = Store::create(path, plan, channels(),
                              {"system", "bench", "2026-01-01T00:00:00Z", {{"host", node}}}, {});
    own.database().execute("PRAGMA synchronous = OFF");
    own.begin_session(block, "boot", "bench", "2026-01-01T00:00:00Z");
    note_block_run(own, {origin, block, node, fmt::format("1_{} start 1", block)});
    const auto hand_in = [&](const std::string& name, const std::string& part) {
      bytes += part.size();
      if (const std::string why = folder.hand_in(origin + "." + name + ".part", part); !why.empty())
        throw Error(ExitCode::machine_refuses, why);
    };
    hand_in("s0001", session_part(own, {{"host", node}}));
    const double level = 1 + 0.03 * std::normal_distribution<double>()(random);
    for (const PlannedTrial& planned : plan.trials) {
      if (planned.block != block) continue;
      own.write_trial(trial_of(planned, level, random));
      hand_in(fmt::format("t{:06}", ++trials), trial_part(own, planned.key));
    }
    hand_in("z", end_part(own, "2026-01-01T00:00:00.000Z"));
  }
  fmt::print("{} trials of {} nodes made up and handed in within {:.1f} s, {:.1f} kB each\n", trials, nodes,
             seconds_since(made), static_cast<double>(bytes) / trials / 1e3);
  const std::string result = where + "/all.sqlite";
  Store store = Store::create(result, plan, {}, {"system", "bench", "2026-01-01T00:00:00Z", {}}, {});
  Collector collector(folder, store);
  const auto began = std::chrono::steady_clock::now();
  const Collected collected = collector.collect();
  const double took = seconds_since(began);
  fmt::print("collected {} trials in {:.2f} s: {:.0f} trials/s; the result has {:.1f} MB\n", collected.trials,
             took, collected.trials / took, static_cast<double>(std::filesystem::file_size(result)) / 1e6);
  const auto report = std::chrono::steady_clock::now();
  const auto rows = store.trials();
  const std::string text = terminal_report(summary_of(store, rows), rows, {});
  fmt::print("report over {} nodes: {:.2f} s, {} kB\n", nodes, seconds_since(report), text.size() / 1000);
  return collected.trials == trials ? 0 : 1;
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return dvfs_plan::bench(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}
