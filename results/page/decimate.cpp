#include "results/page/decimate.hpp"

#include <algorithm>
#include <cmath>

namespace dvfs_plan {

std::vector<TraceSample> min_max_decimated(const std::vector<TraceSample>& samples, std::size_t most) {
  if (samples.size() <= std::max<std::size_t>(most, 4)) return samples;
  const std::size_t stretches = std::max<std::size_t>(1, most / 2 - 1);
  const double from = samples.front().time, length = samples.back().time - from;
  std::vector<TraceSample> kept{samples.front()};
  const auto keep = [&](std::vector<std::size_t> which) {
    std::sort(which.begin(), which.end());
    which.erase(std::unique(which.begin(), which.end()), which.end());
    for (const std::size_t i : which) {
      if (i > 0 && i + 1 < samples.size()) kept.push_back(samples[i]);
    }
  };
  std::size_t begin = 0;
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const double until = from + length * static_cast<double>(stretch + 1) / static_cast<double>(stretches);
    std::size_t end = begin;
    while (end < samples.size() && (samples[end].time < until || stretch + 1 == stretches)) ++end;
    std::size_t least = end, largest = end, unknown = end;
    for (std::size_t i = begin; i < end; ++i) {
      if (std::isnan(samples[i].value)) {
        if (unknown == end) unknown = i;
        continue;
      }
      if (least == end || samples[i].value < samples[least].value) least = i;
      if (largest == end || samples[i].value > samples[largest].value) largest = i;
    }
    std::vector<std::size_t> which;
    for (const std::size_t i : {least, largest, unknown}) {
      if (i != end) which.push_back(i);
    }
    keep(std::move(which));
    begin = end;
  }
  kept.push_back(samples.back());
  return kept;
}

}  // namespace dvfs_plan
