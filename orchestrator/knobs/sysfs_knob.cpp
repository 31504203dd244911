#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {
namespace {

class SysfsKnob : public Knob {
 public:
  SysfsKnob(std::string axis, std::string path, const std::vector<RawValue>& values, const Sysfs& sysfs)
      : axis_(std::move(axis)), path_(std::move(path)), sysfs_(sysfs) {
    for (const RawValue& value : values) offer_.values.push_back({value.text, std::nullopt});
  }
  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    save_attribute(axis_, path_, sysfs_, saved);
    return saved;
  }
  std::vector<std::string> writes() const override { return {path_}; }
  std::vector<SettingText> requests(const AxisValue& value) const override { return {{path_, value.text}}; }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    AppliedSetting setting{"machine", value.text, std::nullopt, {}};
    if (const WriteAnswer answer = writer.write(path_, value.text); !answer.problem.empty()) {
      setting.problem = fmt::format("{}: write {} to {}: {}", axis_, value.text, path_, answer.problem);
      return {setting};
    }
    // Read as it will be saved: a choice in brackets counts as the word itself.
    std::vector<SavedSetting> now;
    save_attribute(axis_, path_, sysfs_, now);
    setting.stands = {{axis_, path_, value.text}};
    if (!now.empty()) setting.applied = now.front().value;
    if (setting.applied != value.text) {
      setting.problem = fmt::format("{}: asked for {}, read back {} from {}", axis_, value.text,
                                    setting.applied.value_or("nothing"), path_);
    }
    return {setting};
  }

 private:
  std::string axis_, path_;
  AxisOffer offer_;
  const Sysfs& sysfs_;
};

// cpuN/online, cpuN/hotplug/target, smt/control: Documentation/core-api/cpu_hotplug.rst.
bool switches_cpus_off(const std::string& path) {
  const std::string_view all = "/sys/devices/system/cpu/";
  return path.starts_with(all) &&
         (path.ends_with("/online") || path.ends_with("/hotplug/target") || path.ends_with("/smt/control"));
}

KnobFinding find_sysfs_knob(const KnobRequest& request) {
  const std::string name = split_axis_name(request.axis).base.substr(std::string("sysfs.").size());
  std::vector<std::string> names;
  for (const SysfsKnobSpec& spec : request.own.sysfs) {
    names.push_back(spec.name);
    if (spec.name != name) continue;
    // Links in /sys lead all over /sys, but one that leads out of it is a way round.
    std::error_code error;
    const auto resolved = std::filesystem::canonical(request.sysfs.real_path(spec.path.text), error);
    if (error) return {request.axis, nullptr, fmt::format("{}: {}", spec.path.text, error.message())};
    const auto sys = std::filesystem::canonical(request.sysfs.real_path("/sys"), error).string() + "/";
    if (error || !resolved.string().starts_with(sys)) {
      return {request.axis, nullptr,
              fmt::format("{} leads to {}, which is not below /sys", spec.path.text, resolved.string())};
    }
    if (!std::filesystem::is_regular_file(resolved, error))
      return {request.axis, nullptr, fmt::format("{} is not a file", spec.path.text)};
    const std::string path = "/sys/" + resolved.string().substr(sys.size());
    if (!request.sysfs.text(path))
      return {request.axis, nullptr,
              fmt::format("{} cannot be read, so it could not be put back", spec.path.text)};
    if (switches_cpus_off(path))
      return {request.axis, nullptr,
              fmt::format("{} switches CPUs off, which takes their limits, their idle states and their "
                          "governor's tunables along, and of those this axis puts nothing back: cpu.smt "
                          "switches further threads off and puts all of it back, cpu.cores leaves cores idle",
                          spec.path.text)};
    if (path.ends_with("/scaling_governor"))
      return {request.axis, nullptr,
              fmt::format(
                  "{} takes its policies' setspeed and its governor's tunables along, and of those this axis "
                  "puts nothing back: cpu.governor sets it and puts all of it back",
                  spec.path.text)};
    return {request.axis, std::make_unique<SysfsKnob>(request.axis, path, spec.values, request.sysfs), {}};
  }
  return {request.axis, nullptr,
          fmt::format("add its file and allowed values:  sysfs: {{{}: {{path: /sys/..., values: [...]}}}}{}",
                      name, did_you_mean(name, names))};
}

const Registered<KnobKind> sysfs_knob(
    {.name = "sysfs.",
     .place = 100,
     .what = "any file below /sys that the experiment names with its allowed values",
     .find = find_sysfs_knob});

}  // namespace
}  // namespace dvfs_plan
