#include "orchestrator/knobs/gpu/gpu_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"

namespace dvfs_plan {
namespace {

// The boards the axis means: one that it names, else those the experiment uses.
std::vector<GpuBoard> boards_of(const KnobRequest& request, std::string& problem) {
  if (request.gpus.all.boards.empty()) {
    problem = request.gpus.all.missing.empty() ? "this machine has no GPU" : request.gpus.all.missing;
    return {};
  }
  if (!request.gpus.problem.empty()) {
    problem = request.gpus.problem;
    return {};
  }
  if (request.target.empty()) return request.gpus.used;
  auto choice = choose_boards(request.gpus.all.boards, {request.target});
  problem = choice.problem;
  return choice.boards;
}

KnobFinding find_gpu_knob(GpuAxis axis, const KnobRequest& request) {
  KnobFinding finding{request.axis, nullptr, {}};
  const auto boards = boards_of(request, finding.problem);
  if (boards.empty()) {
    if (finding.problem.empty()) finding.problem = "the experiment uses no GPU";
    return finding;
  }
  for (const GpuBoard& board : boards) {
    if (board.vendor != boards.front().vendor) {
      finding.problem =
          fmt::format("the boards used are of several vendors ({}, {}); name one: {}@{}", boards.front().name,
                      board.name, split_axis_name(request.axis).base, boards.front().index);
      return finding;
    }
    if (board.mig) {
      finding.problem = fmt::format(
          "MIG is enabled on {} ({}): its clocks and its power are those of all its instances; while it is "
          "idle: sudo nvidia-smi -i {} -mig 0",
          board.domain, board.name, board.uuid);
      return finding;
    }
  }
  if (axis == GpuAxis::profile) {
    if (boards.front().vendor == GpuVendor::nvidia) return find_nvidia_profile_knob(request, boards);
    finding.problem = fmt::format("workload power profiles are NVIDIA's; {} ({}) has none",
                                  boards.front().domain, boards.front().name);
    return finding;
  }
  switch (boards.front().vendor) {
    case GpuVendor::nvidia:
      return find_nvidia_knob(axis, request, boards);
    case GpuVendor::amd:
      return find_amdgpu_knob(axis, request, boards);
    case GpuVendor::intel:
      return find_intel_gpu_knob(axis, request, boards);
  }
  return finding;
}

class PowerFileKnob : public Knob {
 public:
  PowerFileKnob(std::string axis, AxisOffer offer, std::vector<PowerFile> files, const Sysfs& sysfs)
      : axis_(std::move(axis)), offer_(std::move(offer)), files_(std::move(files)), sysfs_(sysfs) {}
  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const PowerFile& file : files_) {
      save_or_refuse(axis_, file.path, sysfs_, saved);
    }
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const PowerFile& file : files_) paths.push_back(file.path);
    return paths;
  }
  void changed_by_others() override { last_.clear(); }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const PowerFile& file : files_)
      requests.push_back({file.path, std::to_string(std::llround(value.watts().value() * 1e6))});
    return requests;
  }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    const std::string wanted = std::to_string(std::llround(value.watts().value() * 1e6));
    for (const PowerFile& file : files_) {
      AppliedSetting setting{file.target, value.text, std::nullopt, {}};
      const auto before = sysfs_.text(file.path);
      const auto ours = last_.find(file.path);
      if (before && ours != last_.end() && *before != ours->second)
        setting.note =
            fmt::format("{} was {} uW before this trial; this run had set {} uW: somebody else changed it",
                        file.path, *before, ours->second);
      if (const WriteAnswer answer = writer.write(file.path, wanted); !answer.problem.empty()) {
        setting.problem = fmt::format("{} {}: set {}: {}", axis_, file.target, value.text, answer.problem);
      } else {
        const auto now = sysfs_.read_until(
            file.path, [&](const std::string& text) { return text == wanted; }, read_back_patience_ms);
        const auto watts = now.text ? parse_number(*now.text) : std::nullopt;
        if (watts) setting.power_limit = Watts{*watts * 1e-6};
        if (watts) setting.applied = format_quantity(*watts * 1e-6, Dimension::power);
        constexpr double rounding_w = 1;  // firmware counts in whole watts, or eighths
        if (!watts || std::abs(*watts * 1e-6 - value.watts().value()) > rounding_w)
          setting.problem = fmt::format("{} {}: asked for {}, read back {}", axis_, file.target, value.text,
                                        setting.applied.value_or("nothing"));
        if (now.text) last_[file.path] = *now.text;
        if (now.text) setting.stands = {{axis_, file.path, *now.text}};
      }
      applied.push_back(setting);
    }
    return applied;
  }

 private:
  std::string axis_;
  AxisOffer offer_;
  std::vector<PowerFile> files_;
  const Sysfs& sysfs_;
  std::map<std::string, std::string> last_;  // what each read after we set it
};

}  // namespace

std::string clock_quantity_of(GpuAxis axis) {
  return axis == GpuAxis::memory ? "memory_clock" : "core_clock";
}

AxisOffer offer_of_mhz(std::vector<double> mhz) {
  std::sort(mhz.begin(), mhz.end());
  mhz.erase(std::unique(mhz.begin(), mhz.end()), mhz.end());
  AxisOffer offer;
  offer.dimension = Dimension::frequency;
  for (const double one : mhz)
    offer.values.push_back({fmt::format("{:g} MHz", one), one * 1e6, Dimension::frequency});
  return offer;
}

AxisOffer offer_of_mhz_range(double lowest, double highest, double step) {
  std::vector<double> mhz{lowest};
  for (double one = (std::floor(lowest / step) + 1) * step; one < highest; one += step) mhz.push_back(one);
  mhz.push_back(highest);
  return offer_of_mhz(std::move(mhz));
}

AxisOffer offer_of_watts(double lowest, double highest) {
  constexpr double steps[] = {1, 2, 5, 10, 20, 25, 50, 100};
  constexpr double most_values = 25;
  double step = steps[0];
  for (const double one : steps) {
    step = one;
    if ((highest - lowest) / one < most_values) break;
  }
  AxisOffer offer;
  offer.dimension = Dimension::power;
  offer.continuous = AxisOffer::Continuous{lowest, highest};
  const auto add = [&](double watts) {
    offer.values.push_back({format_quantity(watts, Dimension::power), watts, Dimension::power});
  };
  add(lowest);
  for (double watts = (std::floor(lowest / step) + 1) * step; watts < highest; watts += step) add(watts);
  if (highest > lowest) add(highest);
  return offer;
}

KnobFinding make_power_file_knob(const KnobRequest& request, std::vector<PowerFile> files) {
  double lowest = 0, highest = 1e9;
  for (const PowerFile& file : files) {
    lowest = std::max(lowest, file.lowest_w);
    highest = std::min(highest, file.highest_w);
  }
  if (files.empty() || highest <= 0 || lowest > highest)
    return {request.axis, nullptr, "these boards have no power limit in common that can be set"};
  return {request.axis,
          std::make_unique<PowerFileKnob>(request.axis, offer_of_watts(lowest, highest), std::move(files),
                                          request.sysfs),
          {}};
}

namespace {

KnobFinding find_gpu_core(const KnobRequest& request) {
  return find_gpu_knob(GpuAxis::core, request);
}
KnobFinding find_gpu_memory(const KnobRequest& request) {
  return find_gpu_knob(GpuAxis::memory, request);
}
KnobFinding find_gpu_power_limit(const KnobRequest& request) {
  return find_gpu_knob(GpuAxis::power_limit, request);
}

KnobFinding find_gpu_profile(const KnobRequest& request) {
  return find_gpu_knob(GpuAxis::profile, request);
}

const Registered<KnobKind> gpu_profile({.name = "gpu.profile",
                                        .place = 65,
                                        .what = "workload power profile: NVIDIA by nvidia-smi power-profiles",
                                        .find = find_gpu_profile});
const Registered<KnobKind> gpu_power_limit(
    {.name = "gpu.power_limit",
     .place = 70,
     .what = "power limit: NVIDIA by nvidia-smi, AMD and Intel by hwmon",
     .find = find_gpu_power_limit});
const Registered<KnobKind> gpu_memory({.name = "gpu.memory",
                                       .place = 80,
                                       .what = "memory clock: NVIDIA by nvidia-smi, AMD by DPM levels",
                                       .find = find_gpu_memory});
const Registered<KnobKind> gpu_core({.name = "gpu.core",
                                     .place = 90,
                                     .what = "core clock: NVIDIA locks, else application clocks; AMD DPM "
                                             "levels or overdrive table; Intel min and max files",
                                     .find = find_gpu_core});

}  // namespace
}  // namespace dvfs_plan
