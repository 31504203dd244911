// Known loads on a real H200, with every step of its energy counter as it was recorded
// (../shared/fixtures/nvidia-h200/loads): played again to slower readers through the real sampler.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/truth/counter_nights.hpp"

namespace dvfs_plan::truth {

struct RecordedLoad {
  std::string name;  // "s0.5", "many"
  std::vector<Window> regions;
  double joules = 0;  // true: the counter in rest before and after, less rest power x the rest between
};

class RecordedCounter {
 public:
  struct Step {
    double time = 0, joules = 0;
  };
  // nullopt: the recording is not here.
  static std::optional<RecordedCounter> open(const std::string& folder, const std::string& name);

  const std::vector<RecordedLoad>& loads() const { return loads_; }
  // Reads one load, `look` seconds between looks (0: following), from a random moment before it on.
  Outcome measure(const RecordedLoad& load, double look, std::uint64_t seed) const;
  // As tools do that read the counter where the region begins and ends.
  double plain_difference(const RecordedLoad& load) const;

 private:
  double shown_at(double time) const;
  std::vector<Step> steps_;
  std::vector<RecordedLoad> loads_;
};

}  // namespace dvfs_plan::truth
