#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/knobs/limit_pair.hpp"

namespace dvfs_plan {
namespace {

class LimitKnob : public Knob {
 public:
  LimitKnob(std::string axis, AxisOffer offer, std::vector<LimitPair> pairs, double unit, const Sysfs& sysfs,
            std::string clock_quantity)
      : axis_(std::move(axis)),
        offer_(std::move(offer)),
        pairs_(std::move(pairs)),
        unit_(unit),
        sysfs_(sysfs),
        clock_quantity_(std::move(clock_quantity)) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const LimitPair& pair : pairs_) {
      save_or_refuse(axis_, pair.max_file, sysfs_, saved);
      save_or_refuse(axis_, pair.min_file, sysfs_, saved);
      if (!pair.boost_file.empty()) save_or_refuse(axis_, pair.boost_file, sysfs_, saved);
    }
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const LimitPair& pair : pairs_) {
      paths.push_back(pair.max_file);
      paths.push_back(pair.min_file);
      if (!pair.boost_file.empty()) paths.push_back(pair.boost_file);
    }
    return paths;
  }
  std::string clock_quantity() const override { return clock_quantity_; }
  bool whole_steps() const override { return !clock_quantity_.empty(); }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const LimitPair& pair : pairs_) {
      for (SettingText& one : requests_of(pair, raw_of(value))) requests.push_back(std::move(one));
    }
    return requests;
  }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    const long raw = raw_of(value);
    std::vector<AppliedSetting> applied;
    for (const LimitPair& pair : pairs_) {
      AppliedSetting setting{pair.target, value.text, std::nullopt, {}};
      const std::string refused = first_problem(writer.write(requests_of(pair, raw)));
      if (!refused.empty()) {
        setting.problem = fmt::format("{} {}: set {}: {}", axis_, pair.target, value.text, refused);
      } else {
        setting.stands = {{axis_, pair.min_file, std::to_string(raw)},
                          {axis_, pair.max_file, std::to_string(raw)}};
        const auto [min, max] = read_limits_back(sysfs_, pair.min_file, pair.max_file, raw);
        if (max)
          setting.applied =
              *max == static_cast<double>(raw) ? value.text : format_clock(*max * unit_, value.text);
        if (!min || !max || *min != static_cast<double>(raw) || *max != static_cast<double>(raw)) {
          setting.problem = fmt::format("{} {}: asked for {}, read back {} to {}", axis_, pair.target,
                                        value.text, min ? format_clock(*min * unit_, value.text) : "nothing",
                                        max ? format_clock(*max * unit_, value.text) : "nothing");
        }
      }
      applied.push_back(setting);
    }
    return applied;
  }

 private:
  long raw_of(const AxisValue& value) const { return static_cast<long>(value.hertz().value() / unit_ + 0.5); }
  std::vector<SettingText> requests_of(const LimitPair& pair, long raw) const {
    auto requests = limit_requests(sysfs_, pair.min_file, pair.max_file, raw);
    if (!pair.boost_file.empty()) requests.push_back({pair.boost_file, std::to_string(raw)});
    return requests;
  }

  std::string axis_;
  AxisOffer offer_;
  std::vector<LimitPair> pairs_;
  double unit_;  // hertz per unit of the files
  const Sysfs& sysfs_;
  std::string clock_quantity_;
};

AxisValue frequency_value(double hertz) {
  return {format(Hertz{hertz}), hertz, Dimension::frequency};
}

}  // namespace

std::unique_ptr<Knob> make_limit_knob(std::string axis, AxisOffer offer, std::vector<LimitPair> pairs,
                                      double unit, const Sysfs& sysfs, std::string clock_quantity) {
  return std::make_unique<LimitKnob>(std::move(axis), std::move(offer), std::move(pairs), unit, sysfs,
                                     std::move(clock_quantity));
}

namespace {

// Where uncore clocks are limited: packages and dies; with TPMI (Sierra Forest, Granite Rapids and newer) each cluster of fabric by itself: a
// package's own files then set all of its clusters alike, which would be lost in what is put back.
std::vector<std::string> uncore_places(const std::string& folder, const std::string& target,
                                       const Sysfs& sysfs) {
  std::vector<std::string> packages, clusters;
  for (const std::string& name : sysfs.list(folder)) {
    if (name.starts_with("package_")) packages.push_back(name);
    if (name.starts_with("uncore")) clusters.push_back(name);
  }
  std::vector<std::string> chosen = clusters.empty() ? packages : clusters;
  if (target.empty()) return chosen;
  const bool of_package = std::find(packages.begin(), packages.end(), target) != packages.end();
  std::erase_if(chosen, [&](const std::string& name) {
    if (name == target) return false;
    const auto package = sysfs.number(folder + name + "/package_id");
    return !of_package || !package ||
           !target.starts_with(fmt::format("package_{:02}_", static_cast<int>(*package)));
  });
  return chosen;
}

// Documentation/admin-guide/pm/intel_uncore_frequency_scaling.rst.
KnobFinding find_cpu_uncore(const KnobRequest& request) {
  const std::string folder = "/sys/devices/system/cpu/intel_uncore_frequency/";
  std::vector<LimitPair> pairs;
  double lowest = 0, highest = 1e18;
  for (const std::string& die : uncore_places(folder, request.target, request.sysfs)) {
    pairs.push_back({die, folder + die + "/min_freq_khz", folder + die + "/max_freq_khz", {}});
    lowest = std::max(lowest, request.sysfs.number(folder + die + "/initial_min_freq_khz").value_or(0) * 1e3);
    highest =
        std::min(highest, request.sysfs.number(folder + die + "/initial_max_freq_khz").value_or(0) * 1e3);
  }
  if (pairs.empty()) {
    return {request.axis, nullptr,
            request.target.empty()
                ? "no intel_uncore_frequency here; on Intel servers: sudo modprobe intel_uncore_frequency"
                : fmt::format("there is no {} in {}", request.target, folder)};
  }
  AxisOffer offer;
  offer.dimension = Dimension::frequency;
  constexpr double step = 100e6;  // the ratio register counts in 100 MHz
  for (double hertz = lowest; hertz <= highest + 1; hertz += step)
    offer.values.push_back(frequency_value(hertz));
  return {request.axis,
          make_limit_knob(request.axis, std::move(offer), std::move(pairs), 1e3, request.sysfs),
          {}};
}

// Documentation/ABI/testing/sysfs-class-devfreq.
KnobFinding find_devfreq(const KnobRequest& request) {
  const std::string name = split_axis_name(request.axis).base.substr(std::string("devfreq.").size());
  const std::string folder = "/sys/class/devfreq/";
  const auto devices = request.sysfs.list(folder);
  if (std::find(devices.begin(), devices.end(), name) == devices.end()) {
    return {request.axis, nullptr,
            devices.empty() ? "this machine has no /sys/class/devfreq"
                            : fmt::format("there is no device '{}' in /sys/class/devfreq{}; there are: {}",
                                          name, did_you_mean(name, devices), join(devices, ", "))};
  }
  const std::string device = folder + name;
  AxisOffer offer;
  offer.dimension = Dimension::frequency;
  std::vector<double> frequencies;
  for (const std::string& word :
       split_words(request.sysfs.text(device + "/available_frequencies").value_or(""))) {
    if (const auto hertz = parse_number(word)) frequencies.push_back(*hertz);
  }
  std::sort(frequencies.begin(), frequencies.end());
  for (const double hertz : frequencies) offer.values.push_back(frequency_value(hertz));
  if (offer.values.empty())
    return {request.axis, nullptr, fmt::format("{} lists no available_frequencies", device)};
  return {request.axis,
          make_limit_knob(request.axis, std::move(offer),
                          {{name, device + "/min_freq", device + "/max_freq", {}}}, 1.0, request.sysfs),
          {}};
}

const Registered<KnobKind> cpu_uncore(
    {.name = "cpu.uncore",
     .place = 50,
     .what = "clock of the uncore, per package and die, or cluster (intel_uncore_frequency)",
     .find = find_cpu_uncore});
const Registered<KnobKind> devfreq(
    {.name = "devfreq.",
     .place = 60,
     .what = "clock of a device of /sys/class/devfreq: boards, memory controllers",
     .find = find_devfreq});

}  // namespace
}  // namespace dvfs_plan
