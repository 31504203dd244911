#include <fmt/format.h>

#include <algorithm>

#include "orchestrator/knobs/cpu_frequency_by_slurm.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {
namespace {

// Drivers that take any frequency in their range are offered in steps of the bus clock.
constexpr long continuous_step_khz = 100'000;

AxisValue value_of_khz(long khz) {
  return {clock_text(khz), static_cast<double>(khz) * 1e3, Dimension::frequency};
}

// The range that all policies share; on a hybrid machine the cores differ.
AxisOffer common_offer(const std::vector<CpufreqPolicy>& policies) {
  AxisOffer offer;
  offer.dimension = Dimension::frequency;
  long lowest = 0, highest = policies.front().highest_khz;
  for (const CpufreqPolicy& policy : policies) {
    lowest = std::max(lowest, policy.lowest_khz);
    highest = std::min(highest, policy.highest_khz);
  }
  const bool listed = std::all_of(policies.begin(), policies.end(),
                                  [](const CpufreqPolicy& p) { return !p.available_khz.empty(); });
  if (listed) {
    for (const long khz : policies.front().available_khz) {
      const bool everywhere = std::all_of(policies.begin(), policies.end(), [&](const CpufreqPolicy& p) {
        return std::binary_search(p.available_khz.begin(), p.available_khz.end(), khz);
      });
      if (everywhere) offer.values.push_back(value_of_khz(khz));
    }
    return offer;
  }
  if (lowest > highest) return offer;
  offer.continuous =
      AxisOffer::Continuous{static_cast<double>(lowest) * 1e3, static_cast<double>(highest) * 1e3};
  offer.values.push_back(value_of_khz(lowest));
  for (long khz = (lowest / continuous_step_khz + 1) * continuous_step_khz; khz < highest;
       khz += continuous_step_khz) {
    offer.values.push_back(value_of_khz(khz));
  }
  if (highest > lowest) offer.values.push_back(value_of_khz(highest));
  return offer;
}

class CpuFrequency : public Knob {
 public:
  CpuFrequency(const KnobRequest& request, std::vector<CpufreqPolicy> policies)
      : axis_(request.axis),
        policies_(std::move(policies)),
        threads_(request.threads),
        sysfs_(request.sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return common_offer(policies_); }
  std::vector<SavedSetting> snapshot() const override { return snapshot_policies(axis_, policies_, sysfs_); }
  std::vector<std::string> writes() const override { return limit_files(policies_); }

  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const CpufreqPolicy& policy : policies_there(policies_, *threads_)) {
      for (SettingText& one : limit_requests(sysfs_, policy.path + "/scaling_min_freq",
                                             policy.path + "/scaling_max_freq", khz_of(value)))
        requests.push_back(std::move(one));
    }
    return requests;
  }

  // All policies are written, then all are read back.
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    const auto policies = policies_there(policies_, *threads_);
    const auto answers = writer.write(requests(value));
    std::vector<AppliedSetting> applied;
    for (std::size_t i = 0; i < policies.size(); ++i)
      applied.push_back(read_back(policies[i], value, first_problem(std::span(answers).subspan(2 * i, 2))));
    return applied;
  }

 private:
  AppliedSetting read_back(const CpufreqPolicy& policy, const AxisValue& value, const std::string& refused) {
    const long khz = khz_of(value);
    if (!refused.empty())
      return {policy.name, value.text, std::nullopt,
              fmt::format("cpufreq {}: set {}: {}", policy.name, value.text, refused)};
    const LimitsRead read =
        read_limits_back(sysfs_, policy.path + "/scaling_min_freq", policy.path + "/scaling_max_freq", khz);
    AppliedSetting setting = clock_setting(axis_, policy, value, read);
    if (setting.applied && !holds_clock(read, khz)) {
      setting.problem =
          fmt::format("cpufreq {}: asked for {}, read back {}", policy.name, value.text, *setting.applied);
      const auto limit = sysfs_.number(policy.path + "/bios_limit");
      if (limit && *limit < static_cast<double>(khz))
        setting.problem +=
            fmt::format("; the firmware limits this policy to {}", clock_text(static_cast<long>(*limit)));
    }
    return setting;
  }

  std::string axis_;
  std::vector<CpufreqPolicy> policies_;
  std::shared_ptr<CoreThreads> threads_;
  const Sysfs& sysfs_;
};

// Works with every driver; intel_pstate and amd-pstate in active mode have no userspace governor to ask
// instead.
KnobFinding find_cpu_frequency(const KnobRequest& request) {
  auto choice = choose_policies(request.target, request.sysfs, *request.cpufreq);
  if (!choice.problem.empty()) return {request.axis, nullptr, choice.problem};
  if (request.by == "slurm") {
    AxisOffer offer = common_offer(choice.policies);
    return cpu_frequency_by_slurm(request, std::move(choice.policies), std::move(offer));
  }
  auto knob = std::make_unique<CpuFrequency>(request, std::move(choice.policies));
  if (knob->offer().values.empty()) {
    return {request.axis, nullptr,
            "its policies have no frequency in common; name one kind of core: cpu.frequency@P-cores, "
            "cpu.frequency@E-cores"};
  }
  return {request.axis, std::move(knob), {}};
}

const Registered<KnobKind> cpu_frequency(
    {.name = "cpu.frequency",
     .place = 40,
     .what =
         "CPU clock: lower limit = upper limit on every cpufreq policy, under whatever governor is in force",
     .of_cpu_clocks = true,
     .find = find_cpu_frequency});

}  // namespace
}  // namespace dvfs_plan
