// cpu.smt: one thread a core, or all of them. Documentation/ABI/testing/sysfs-devices-system-cpu (smt/control, smt/active) and
// Documentation/admin-guide/hw-vuln/l1tf.rst: "off" takes the further threads of all cores offline, "on" brings every CPU of theirs back.
// What a CPU had set is the driver's to remember (its policy is made anew, cpufreq_online() in drivers/cpufreq/cpufreq.c), so it is
// written anew here; one that its owner had switched off by itself is switched off again.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/settings/attribute_setting.hpp"

namespace dvfs_plan {
namespace {

const std::string all_cpus = "/sys/devices/system/cpu/";
const std::string smt_control = all_cpus + "smt/control";

// Interrupts that are bound to these CPUs alone: as they go the kernel moves them elsewhere (kernel/irq/cpuhotplug.c), and it does not bring
// them back.
std::vector<int> interrupts_bound_to(const std::set<int>& cpus, const Sysfs& sysfs) {
  std::vector<int> bound;
  for (const std::string& name : sysfs.list("/proc/irq")) {
    const auto number = parse_number(name);
    const auto mask = parse_cpu_list(sysfs.text("/proc/irq/" + name + "/smp_affinity_list").value_or(""));
    if (!number || !mask || mask->empty()) continue;
    if (std::all_of(mask->begin(), mask->end(), [&](int cpu) { return cpus.contains(cpu); }))
      bound.push_back(static_cast<int>(*number));
  }
  return bound;
}

// What goes with these CPUs, in the order to put it back: whether each CPU is online, policies of theirs alone, their idle states.
std::vector<SavedSetting> settings_of_threads(const std::string& axis, const KnobRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  std::vector<SavedSetting> saved;
  for (const std::string& cpu : sysfs.list(all_cpus)) {
    if (cpu.starts_with("cpu") && sysfs.exists(all_cpus + cpu + "/online"))
      save_attribute(axis, all_cpus + cpu + "/online", sysfs, saved);
  }
  const auto& further = request.threads->further();
  std::vector<CpufreqPolicy> policies = request.cpufreq->policies();
  std::erase_if(policies, [&](const CpufreqPolicy& policy) {
    return std::any_of(policy.cpus.begin(), policy.cpus.end(),
                       [&](int cpu) { return !further.contains(cpu); });
  });
  for (SavedSetting& setting : snapshot_policies(axis, policies, sysfs)) {
    // Switches of the whole machine stay where they are. A governor's tunables go with the last policy that it has.
    if (setting.path.starts_with(all_cpus + "cpufreq/policy") || is_governor_tunable(setting.path))
      saved.push_back(std::move(setting));
  }
  for (const int cpu : further) {
    const std::string states = fmt::format("{}cpu{}/cpuidle/", all_cpus, cpu);
    for (const std::string& state : sysfs.list(states)) {
      if (state.starts_with("state")) save_attribute(axis, states + state + "/disable", sysfs, saved);
    }
  }
  return saved;
}

class CpuSmt : public Knob {
 public:
  explicit CpuSmt(const KnobRequest& request)
      : axis_(request.axis),
        of_threads_(settings_of_threads(request.axis, request)),
        threads_(request.threads),
        sysfs_(request.sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override {
    AxisOffer offer;
    offer.values = {{"off", std::nullopt}, {"on", std::nullopt}};
    return offer;
  }
  // The switch first: nothing of the others is there before.
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    save_or_refuse(axis_, smt_control, sysfs_, saved);
    for (const SavedSetting& setting : of_threads_) save_attribute(axis_, setting.path, sysfs_, saved);
    return saved;
  }
  std::vector<std::string> writes() const override { return {smt_control}; }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    return {{smt_control, value.text}};
  }
  void changed_by_others() override { last_.clear(); }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    AppliedSetting applied{"machine", value.text, std::nullopt, {}};
    const std::string before = sysfs_.text(smt_control).value_or("");
    if (!last_.empty() && before != last_)
      applied.note =
          fmt::format("{} was '{}' before this trial; this run had set {}: somebody else changed it",
                      smt_control, printable(before), last_);
    if (before == "on" && value.text == "off") {
      const std::vector<int> bound = interrupts_bound_to(threads_->further(), sysfs_);
      if (!bound.empty())
        applied.note += fmt::format(
            "{}interrupts {} were bound to CPUs that are switched off now: the kernel moves them, and they "
            "are not put back (/proc/irq/N/smp_affinity_list)",
            applied.note.empty() ? "" : "; ", format_cpu_list(bound));
    }
    std::string refused;
    if (before != value.text) refused = writer.write(smt_control, value.text).problem;
    applied.applied = sysfs_.text(smt_control);
    last_ = applied.applied.value_or("");
    applied.stands = {{axis_, smt_control, value.text}};
    threads_->are_off(applied.applied == "off");
    if (applied.applied != value.text)
      applied.problem = fmt::format("{}: asked for {}, read back '{}' from {}{}", axis_, value.text, last_,
                                    smt_control, refused.empty() ? "" : ": " + refused);
    else if (value.text == "off")
      applied.problem = problem_of_leaving();
    else if (before != "on")
      applied.problem = problem_of_coming_back(writer);
    return {applied};
  }

 private:
  std::string problem_of_leaving() const {
    std::vector<int> still;
    for (const int cpu : threads_->further()) {
      if (sysfs_.text(online_file(cpu)) != "0") still.push_back(cpu);
    }
    if (still.empty()) return {};
    return fmt::format("{}: {} says off, and cpus {} are online still", axis_, smt_control,
                       format_cpu_list(still));
  }

  std::string problem_of_coming_back(SettingWriter& writer) const {
    const auto missing = [&] {
      std::vector<SettingText> all;
      for (const SavedSetting& setting : of_threads_) {
        if (sysfs_.text(setting.path) != setting.value) all.push_back({setting.path, setting.value});
      }
      return all;
    };
    // Setting one may reset another (a governor the preference), and a limit may not cross the other one.
    constexpr int rounds = 3;
    std::vector<SettingText> left = missing();
    std::string refused;
    for (int round = 0; round < rounds && !left.empty(); ++round) {
      refused = first_problem(writer.write(left));
      left = missing();
    }
    if (left.empty()) return {};
    return fmt::format(
        "{}: {} was '{}' before its CPU was switched off, and reads '{}' now that it is back{}", axis_,
        left.front().path, left.front().text, sysfs_.text(left.front().path).value_or(""),
        refused.empty() ? "" : ": " + refused);
  }

  static std::string online_file(int cpu) { return fmt::format("{}cpu{}/online", all_cpus, cpu); }

  const std::string axis_;
  const std::vector<SavedSetting> of_threads_;  // as they were before anything was set
  const std::shared_ptr<CoreThreads> threads_;
  const Sysfs& sysfs_;
  std::string last_;  // what it read after we set it
};

KnobFinding find_cpu_smt(const KnobRequest& request) {
  const auto none = [&](const std::string& why) { return KnobFinding{request.axis, nullptr, why}; };
  if (!request.target.empty()) return none("SMT is one switch of the whole machine: it takes no '@'");
  const auto control = request.sysfs.text(smt_control);
  if (!control) return none(fmt::format("this kernel has no switch for it (no {})", smt_control));
  if (*control == "notsupported" || *control == "notimplemented")
    return none(
        fmt::format("the cores have one thread each here, or the firmware has switched the others off ({} is "
                    "'{}')",
                    smt_control, *control));
  if (*control == "forceoff")
    return none(
        fmt::format("it is off for good: {} is 'forceoff' (nosmt=force in /proc/cmdline)", smt_control));
  if (*control == "off")
    return none(fmt::format(
        "it is off now, and of CPUs that are not there nothing can be put on record; switch it on "
        "for the sweep: echo on | sudo tee {}",
        smt_control));
  if (*control != "on" || request.threads->further().empty())
    return none(
        fmt::format("only 'on' and 'off' are known here, with more than one thread a core online; {} is '{}'",
                    smt_control, printable(*control)));
  return {request.axis, std::make_unique<CpuSmt>(request), {}};
}

const Registered<KnobKind> cpu_smt({.name = "cpu.smt",
                                    .place = 8,
                                    .what = "threads a core: all of them (on) or one (off)",
                                    .find = find_cpu_smt});

}  // namespace
}  // namespace dvfs_plan
