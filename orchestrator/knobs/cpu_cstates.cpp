// cpu.cstates: the deepest idle state that CPUs may enter. Documentation/admin-guide/pm/cpuidle.rst: each state of a CPU is a
// folder cpuN/cpuidle/stateM, deeper ones behind shallower ones, with `disable`, which keeps the governor from it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {
namespace {

struct IdleState {
  std::string name;             // "POLL", "C1", "C6"
  std::string path;             // of its `disable`
  bool off_by_default = false;  // the driver itself keeps it off: it stays as it is unless it is too deep
};
struct IdleCpu {
  int cpu = 0;
  std::vector<IdleState> states;  // the shallowest first
};

class CpuIdleStates : public Knob {
 public:
  CpuIdleStates(const KnobRequest& request, std::vector<std::string> names, std::vector<IdleCpu> cpus)
      : axis_(request.axis),
        names_(std::move(names)),
        cpus_(std::move(cpus)),
        threads_(request.threads),
        sysfs_(request.sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override {
    AxisOffer offer;
    for (const std::string& name : names_) offer.values.push_back({name, std::nullopt});
    return offer;
  }
  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const IdleCpu& one : cpus_) {
      for (const IdleState& state : one.states) save_or_refuse(axis_, state.path, sysfs_, saved);
    }
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const IdleCpu& one : cpus_) {
      for (const IdleState& state : one.states) paths.push_back(state.path);
    }
    return paths;
  }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const IdleCpu& one : cpus_) {
      if (threads_->has_taken({one.cpu})) continue;
      for (SettingText& request : requests_of_cpu(one, value.text)) requests.push_back(std::move(request));
    }
    return requests;
  }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    // There are hundreds on a server: what is so already is not written.
    std::vector<SettingText> wanted = requests(value), missing;
    for (const SettingText& request : wanted) {
      if (sysfs_.text(request.path) != request.text) missing.push_back(request);
    }
    std::map<std::string, std::string> refused;  // by path
    const auto answers = missing.empty() ? std::vector<WriteAnswer>{} : writer.write(missing);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i].problem.empty()) refused[missing[i].path] = answers[i].problem;
    }
    // CPUs that did the same are told of together.
    std::map<std::pair<std::string, std::string>, AppliedSetting> outcomes;
    std::map<std::pair<std::string, std::string>, std::vector<int>> of_cpus;
    for (const IdleCpu& one : cpus_) {
      if (threads_->has_taken({one.cpu})) continue;
      AppliedSetting setting = read_back(one, value.text, refused);
      const std::pair key(setting.applied.value_or(""), setting.problem);
      of_cpus[key].push_back(one.cpu);
      auto& outcome = outcomes[key];
      setting.stands.insert(setting.stands.begin(), outcome.stands.begin(), outcome.stands.end());
      outcome = std::move(setting);
    }
    std::vector<AppliedSetting> applied;
    for (auto& [key, outcome] : outcomes) {
      outcome.target = (of_cpus[key].size() == 1 ? "cpu" : "cpus ") + format_cpu_list(of_cpus[key]);
      if (!outcome.problem.empty())
        outcome.problem = fmt::format("{} {}: {}", axis_, outcome.target, outcome.problem);
      applied.push_back(std::move(outcome));
    }
    return applied;
  }

 private:
  static std::vector<SettingText> requests_of_cpu(const IdleCpu& one, const std::string& deepest) {
    std::vector<SettingText> requests;
    bool too_deep = false;
    for (const IdleState& state : one.states) {
      if (too_deep || !state.off_by_default) requests.push_back({state.path, too_deep ? "1" : "0"});
      too_deep = too_deep || state.name == deepest;
    }
    return requests;
  }

  AppliedSetting read_back(const IdleCpu& one, const std::string& deepest,
                           const std::map<std::string, std::string>& refused) const {
    AppliedSetting setting{{}, deepest, std::nullopt, {}};
    std::string why;
    for (const SettingText& request : requests_of_cpu(one, deepest)) {
      if (const auto found = refused.find(request.path); found != refused.end() && why.empty())
        why = fmt::format("write {} to {}: {}", request.text, request.path, found->second);
      setting.stands.push_back({axis_, request.path, request.text});
    }
    for (const IdleState& state : one.states) {
      const auto off = sysfs_.text(state.path);
      if (!off) why = state.path + " cannot be read back";
      if (off == "0") setting.applied = state.name;
    }
    if (!why.empty())
      setting.problem = why;
    else if (setting.applied != deepest)
      setting.problem = fmt::format("asked for {}, the deepest state that is not disabled is {}", deepest,
                                    setting.applied.value_or("none"));
    return setting;
  }

  std::string axis_;
  std::vector<std::string> names_;
  std::vector<IdleCpu> cpus_;
  std::shared_ptr<CoreThreads> threads_;
  const Sysfs& sysfs_;
};

IdleCpu idle_cpu(int cpu, const Sysfs& sysfs) {
  IdleCpu one{cpu, {}};
  const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/cpuidle/", cpu);
  for (int i = 0;; ++i) {
    const std::string state = fmt::format("{}state{}/", folder, i);
    const auto name = sysfs.text(state + "name");
    if (!name || !sysfs.exists(state + "disable")) break;
    one.states.push_back({*name, state + "disable", sysfs.text(state + "default_status") == "disabled"});
  }
  return one;
}

KnobFinding find_cpu_cstates(const KnobRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  const auto online = parse_cpu_list(sysfs.text("/sys/devices/system/cpu/online").value_or(""));
  auto wanted = request.target.empty() ? online : parse_cpu_list(request.target);
  if (!wanted || wanted->empty())
    return {request.axis, nullptr,
            request.target.empty() ? std::string("/sys/devices/system/cpu/online cannot be read")
                                   : fmt::format("'@{}' is no list of CPUs such as 0-3", request.target)};
  std::vector<IdleCpu> cpus;
  for (const int cpu : *wanted) {
    cpus.push_back(idle_cpu(cpu, sysfs));
    if (cpus.back().states.empty())
      return {request.axis, nullptr,
              fmt::format("the kernel manages no idle states of cpu{} (no cpuidle below "
                          "/sys/devices/system/cpu/cpu{}): in a virtual "
                          "machine the host does; on hardware look for idle=, cpuidle.off or "
                          "intel_idle.max_cstate in /proc/cmdline",
                          cpu, cpu)};
  }
  // On a hybrid machine: those that all have, as the first one orders them.
  std::vector<std::string> names;
  for (const IdleState& state : cpus.front().states) {
    const bool all = std::all_of(cpus.begin(), cpus.end(), [&](const IdleCpu& one) {
      return std::any_of(one.states.begin(), one.states.end(), [&](const IdleState& other) {
        return other.name == state.name && !other.off_by_default;
      });
    });
    if (all) names.push_back(state.name);
  }
  if (names.size() < 2)
    return {request.axis, nullptr,
            names.empty()
                ? std::string("these CPUs have no idle state in common; name some: cpu.cstates@0-7")
                : fmt::format("{} is the only idle state here: there is nothing to choose", names.front())};
  return {request.axis, std::make_unique<CpuIdleStates>(request, std::move(names), std::move(cpus)), {}};
}

const Registered<KnobKind> cpu_cstates(
    {.name = "cpu.cstates",
     .place = 55,
     .what = "deepest idle state that CPUs may enter (cpuidle): a name such as C1",
     .find = find_cpu_cstates});

}  // namespace
}  // namespace dvfs_plan
