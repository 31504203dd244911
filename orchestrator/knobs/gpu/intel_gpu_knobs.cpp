// Intel's clocks (xe and i915 min/max files) and power limit (hwmon).
#include <fmt/format.h>

#include <algorithm>

#include "orchestrator/knobs/gpu/gpu_knobs.hpp"
#include "orchestrator/knobs/limit_pair.hpp"
#include "probes/gpu/intel_gt.hpp"

namespace dvfs_plan {
namespace {

// The firmware counts in 50/3 MHz; every third of them is a round number in the files.
constexpr double step_mhz = 50;

KnobFinding find_intel_power(const KnobRequest& request, const std::vector<GpuBoard>& boards) {
  std::vector<PowerFile> files;
  for (const GpuBoard& board : boards) {
    for (const std::string& hwmon : request.sysfs.list(board.folder + "/hwmon")) {
      const std::string folder = board.folder + "/hwmon/" + hwmon + "/";
      // The card's limit where there is one, else the package's.
      for (const char* name : {"power1", "power2"}) {
        const std::string limit = folder + name + "_max";
        const auto highest = request.sysfs.exists(folder + name + "_rated_max")
                                 ? request.sysfs.number(folder + name + "_rated_max")
                                 : request.sysfs.number(limit);
        if (!request.sysfs.exists(limit) || !highest || *highest <= 0) continue;
        // No file tells the least; a quarter of the rated limit is what boards still hold.
        files.push_back({board.domain, limit, *highest * 1e-6 / 4, *highest * 1e-6});
        break;
      }
    }
  }
  if (files.size() != boards.size())
    return {request.axis, nullptr,
            fmt::format("{} has no power limit in hwmon (integrated graphics share the CPU's)",
                        boards.front().name)};
  return make_power_file_knob(request, std::move(files));
}

}  // namespace

KnobFinding find_intel_gpu_knob(GpuAxis axis, const KnobRequest& request,
                                const std::vector<GpuBoard>& boards) {
  if (axis == GpuAxis::power_limit) return find_intel_power(request, boards);
  if (axis == GpuAxis::memory)
    return {request.axis, nullptr,
            "Intel's drivers offer no memory clock; gpu.core and gpu.power_limit they do"};
  std::vector<LimitPair> pairs;
  double lowest = 0, highest = 1e9;
  for (const GpuBoard& board : boards) {
    const auto gts = find_intel_gts(request.sysfs, board);
    if (gts.empty())
      return {request.axis, nullptr,
              fmt::format("{} ({}) has no clock limits in {}", board.domain, board.name, board.folder)};
    for (const IntelGt& gt : gts) {
      if (gt.media) continue;
      const bool first = &gt == &gts.front();
      pairs.push_back(
          {first ? board.domain : board.domain + "/" + gt.name, gt.min_file, gt.max_file, gt.boost_file});
      lowest = std::max(lowest, gt.lowest_mhz);
      highest = std::min(highest, gt.highest_mhz);
    }
  }
  if (lowest > highest)
    return {request.axis, nullptr, "the boards have no clock in common; name one: gpu.core@0"};
  return {request.axis,
          make_limit_knob(request.axis, offer_of_mhz_range(lowest, highest, step_mhz), std::move(pairs), 1e6,
                          request.sysfs, clock_quantity_of(axis)),
          {}};
}

}  // namespace dvfs_plan
