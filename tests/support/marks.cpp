// marks N [MICROSECONDS]: N steps inside one region, through the header that users copy, each that long;
// prints what a mark cost the workload.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
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
  std::vector<double> costs;
  costs.reserve(static_cast<std::size_t>(2 * steps));
  {
    const dvfs_plan_region region("train");
    for (long i = 0; i < steps; ++i) {
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
