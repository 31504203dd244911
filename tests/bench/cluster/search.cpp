// bench_cluster_search FOLDER SEEDS: what an adaptive search over several machines of a type gains against one, on recorded tables.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "orchestrator/replay/play_on_nodes.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

// Each workload once a seed.
std::vector<NodesPlay> play_all(const std::vector<Landscape>& landscapes, int seeds, int nodes, bool each) {
  std::vector<NodesPlay> plays(landscapes.size() * static_cast<std::size_t>(seeds));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t job = next++; job < plays.size(); job = next++) {
      PlayOptions options;
      options.trials = 150;
      options.noise_time = 0.005;
      options.noise_power = 0.02;
      options.stop_regret = 0.01;
      plays[job] = play_on_nodes(landscapes[job / static_cast<std::size_t>(seeds)], options, nodes,
                                 NodeScatter{}, each, job % static_cast<std::size_t>(seeds) + 1);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return plays;
}

// How often faster: the median over the plays in which one machine and these all reached the bound.
void print_line(int nodes, bool each, const std::vector<NodesPlay>& plays,
                const std::vector<NodesPlay>& of_one) {
  std::vector<double> faster, trials, regrets, bounds;
  double reached = 0, held = 0, twice = 0, within = 0, machines = 0;
  for (std::size_t i = 0; i < plays.size(); ++i) {
    const NodesPlay& play = plays[i];
    trials.push_back(play.play.trials);
    regrets.push_back(play.play.regret);
    bounds.push_back(play.play.bound.value_or(1));
    twice += play.twice;
    held += play.play.regret <= bounds.back() + 1e-12 ? 1 : 0;
    if (play.reached_s) reached += 1;
    if (play.reached_s && of_one[i].reached_s) faster.push_back(*of_one[i].reached_s / *play.reached_s);
    for (const double regret : play.regrets) {
      within += regret <= 0.01 ? 1 : 0;
      machines += 1;
    }
  }
  const double n = static_cast<double>(plays.size());
  fmt::print(
      "  {} machine{:<21} {:4.1f} times as fast (median); {:3.0f} trials; reached in {:3.0f} %, bound then "
      "{:.1f} %, held {:3.0f} %; "
      "regret {:.2f} % (mean), {:.2f} % (95th); {:3.0f} % of machines within 1 %; chosen twice {:.2f}\n",
      nodes,
      each         ? "s, the bound on each"
      : nodes == 1 ? ""
                   : "s",
      quantile(faster, 0.5), quantile(trials, 0.5), 100 * reached / n, 100 * quantile(bounds, 0.5),
      100 * held / n, 100 * std::accumulate(regrets.begin(), regrets.end(), 0.0) / n,
      100 * quantile(regrets, 0.95), 100 * within / machines, twice / n);
  std::fflush(stdout);
}

// The same bound of 1 %, of one machine and of the type by several; each workload of each table once a seed.
void on_nodes(const std::string& folder, int seeds) {
  for (const char* name : {"gpu-v100", "gpu-gtx980-low", "gpu-gtx1080ti", "gpu-v100-power-limit"}) {
    std::vector<std::string> notes;
    const auto landscapes = read_landscapes(folder + "/" + name + ".csv", notes);
    fmt::print(
        "{}: {} workloads, {} seeds; machines differ by 3 % in power, 2 % in its slopes, 0.3 % in time\n",
        name, landscapes.size(), seeds);
    std::vector<NodesPlay> of_one;
    for (const auto& [nodes, each] : {std::pair{1, false}, {2, false}, {4, false}, {8, false}, {8, true}}) {
      const auto plays = play_all(landscapes, seeds, nodes, each);
      print_line(nodes, each, plays, of_one.empty() ? plays : of_one);
      if (of_one.empty()) of_one = plays;
    }
  }
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  if (argc != 3 || std::atoi(argv[2]) < 1) {
    fmt::print(stderr, "bench_cluster_search FOLDER SEEDS\n");
    return 2;
  }
  dvfs_plan::on_nodes(argv[1], std::atoi(argv[2]));
  return 0;
}
