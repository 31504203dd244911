// jetson.mode: the power mode of an NVIDIA Jetson (settings/nvpmodel_setting.hpp), by its name. What a mode writes by the way, CPUs
// that are online and limits of clocks, is on record with it: going back to the former mode sets what that mode has, which need not
// be what was set.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/nvpmodel_setting.hpp"

namespace dvfs_plan {
namespace {

class JetsonMode : public Knob {
 public:
  JetsonMode(std::string axis, NvpmodelConfiguration configuration, const Sysfs& sysfs)
      : axis_(std::move(axis)),
        configuration_(std::move(configuration)),
        sysfs_(sysfs),
        setting_(nvpmodel_setting_at(path(), sysfs)) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override {
    AxisOffer offer;
    for (const PowerMode& mode : configuration_.modes) offer.values.push_back({mode.name, std::nullopt});
    return offer;
  }
  std::vector<SavedSetting> snapshot() const override {
    const Setting::Read now = setting_->read();
    if (!now.text)
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("the power mode cannot be read now, so it could not be put back: {}", now.problem),
          "nothing was set; `sudo nvpmodel -q` must tell it");
    std::vector<SavedSetting> saved{{axis_, path(), *now.text}};
    for (const std::string& file : configuration_.files) {
      if (sysfs_.writable(file)) save_attribute(axis_, file, sysfs_, saved);
    }
    return saved;
  }
  std::vector<std::string> writes() const override { return {path()}; }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    return {{path(), number_of(value.text)}};
  }
  void changed_by_others() override { last_.reset(); }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    AppliedSetting applied{"machine", value.text, std::nullopt, {}};
    const Setting::Read before = setting_->read();
    if (before.text && last_ && *before.text != *last_)
      applied.note = fmt::format(
          "the power mode was {} before this trial; this run had set {}: somebody else changed it",
          name_of(*before.text), name_of(*last_));
    const std::string wanted = number_of(value.text);
    const WriteAnswer answer = writer.write(path(), wanted);
    const Setting::Read now = setting_->read();
    if (now.text) {
      last_ = now.text;
      applied.applied = name_of(*now.text);
      applied.stands = {{axis_, path(), *now.text}};
    }
    if (!answer.problem.empty())
      applied.problem = fmt::format("{}: asked for {}: {}", axis_, value.text, answer.problem);
    else if (now.text != wanted)
      applied.problem = fmt::format("{}: asked for {}, and nvpmodel says {}", axis_, value.text,
                                    now.text ? name_of(*now.text) : now.problem);
    return {applied};
  }

 private:
  static std::string path() { return std::string(nvpmodel_setting); }
  std::string number_of(const std::string& name) const {
    const auto mode = std::find_if(configuration_.modes.begin(), configuration_.modes.end(),
                                   [&](const PowerMode& one) { return one.name == name; });
    return mode == configuration_.modes.end() ? std::string{} : mode->number;
  }
  std::string name_of(const std::string& number) const {
    const auto mode = std::find_if(configuration_.modes.begin(), configuration_.modes.end(),
                                   [&](const PowerMode& one) { return one.number == number; });
    return mode == configuration_.modes.end() ? "mode " + number : mode->name;
  }

  const std::string axis_;
  const NvpmodelConfiguration configuration_;
  const Sysfs& sysfs_;
  const std::unique_ptr<Setting> setting_;
  std::optional<std::string> last_;  // what it read after we set it
};

KnobFinding find_jetson_mode(const KnobRequest& request) {
  if (!request.target.empty())
    return {request.axis, nullptr, "a power mode is of the whole machine: it takes no '@'"};
  const auto text = request.sysfs.text(nvpmodel_configuration);
  if (!nvpmodel_setting_at(std::string(nvpmodel_setting), request.sysfs)->exists() || !text)
    return {request.axis, nullptr,
            fmt::format("this machine has no power modes: there is no {} with {}, as an NVIDIA Jetson has",
                        nvpmodel_program, nvpmodel_configuration)};
  NvpmodelConfiguration configuration = parse_nvpmodel_configuration(*text);
  if (configuration.modes.empty())
    return {request.axis, nullptr, fmt::format("{} names no POWER_MODEL", nvpmodel_configuration)};
  return {
      request.axis, std::make_unique<JetsonMode>(request.axis, std::move(configuration), request.sysfs), {}};
}

const Registered<KnobKind> jetson_mode({.name = "jetson.mode",
                                        .place = 6,
                                        .what = "power mode of an NVIDIA Jetson, by nvpmodel",
                                        .find = find_jetson_mode});

}  // namespace
}  // namespace dvfs_plan
