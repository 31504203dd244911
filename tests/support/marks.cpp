// marks N [MICROSECONDS [steal]]: N steps inside one region, through the header that users copy, each that
// long; prints what a mark cost the workload. `steal`: half way the descriptor is closed and taken by a file
// `stolen`. marks N 0 epochs M: M regions "epoch" of N steps each, none around them, and "samples N" after
// each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "experiments/regions/dvfs_plan_regions.h"

namespace {

double now_us() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * static_cast<double>(t.tv_sec) + 1e-3 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::atol(argv[1]) : 1000;
  const double length = argc > 2 ? std::atof(argv[2]) : 0;
  if (argc > 4 && std::strcmp(argv[3], "epochs") == 0) {
    for (long epoch = 0; epoch < std::atol(argv[4]); ++epoch) {
      const dvfs_plan_region region("epoch");
      for (long i = 0; i < steps; ++i) {
        dvfs_plan_begin("step");
        dvfs_plan_end("step");
      }
      dvfs_plan_metric("samples", static_cast<double>(steps), "1");
    }
    return 0;
  }
  std::vector<double> costs;
  costs.reserve(static_cast<std::size_t>(2 * steps));
  {
    const dvfs_plan_region region("train");
    for (long i = 0; i < steps; ++i) {
      if (argc > 3 && i == steps / 2) {
        const int file = open("stolen", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(file, dvfs_plan_here()->fd);
      }
      const double before = now_us();
      dvfs_plan_begin("step");
      const double begun = now_us();
      while (now_us() < begun + length) {
      }
      const double ending = now_us();
      dvfs_plan_end("step");
      const double after = now_us();
      costs.push_back(begun - before);
      costs.push_back(after - ending);
    }
  }
  dvfs_plan_metric("samples", static_cast<double>(steps), "1");
  double sum = 0;
  for (const double cost : costs) sum += cost;
  std::sort(costs.begin(), costs.end());
  std::printf("mean %.3f us, median %.3f us, 99 %% %.3f us\n", sum / static_cast<double>(costs.size()),
              costs[costs.size() / 2], costs[costs.size() * 99 / 100]);
  return 0;
}
