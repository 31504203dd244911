#include <sched.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {
namespace {

// Online CPUs this process may use, ordered so that the first n are n whole cores where there are as many:
// first threads of each core, then second ones.
std::vector<int> cpus_cores_first(const Sysfs& sysfs) {
  auto online =
      parse_cpu_list(sysfs.text("/sys/devices/system/cpu/online").value_or("")).value_or(std::vector<int>{});
  if (sysfs.root().empty()) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
      std::erase_if(online, [&](int cpu) { return !CPU_ISSET(static_cast<std::size_t>(cpu), &allowed); });
    }
  }
  std::vector<std::pair<int, int>> ranked;  // thread number within its core, cpu
  for (const int cpu : online) {
    auto threads = threads_of_core(cpu, sysfs);
    if (threads.empty()) threads = {cpu};
    ranked.emplace_back(std::find(threads.begin(), threads.end(), cpu) - threads.begin(), cpu);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<int> cpus;
  for (const auto& [thread, cpu] : ranked) cpus.push_back(cpu);
  return cpus;
}

class CpuCores : public Knob {
 public:
  CpuCores(const KnobRequest& request, std::vector<int> cpus)
      : axis_(request.axis), cpus_(std::move(cpus)), threads_(request.threads) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override {
    AxisOffer offer;
    offer.dimension = Dimension::none;
    for (std::size_t n = 1; n <= cpus_.size(); ++n)
      offer.values.push_back({std::to_string(n), static_cast<double>(n)});
    return offer;
  }
  std::vector<SavedSetting> snapshot() const override {
    return {};
  }  // it is the workload's, not the machine's
  std::vector<std::string> writes() const override { return {"workload:cpus"}; }
  std::vector<SettingText> requests(const AxisValue&) const override { return {}; }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter&) override {
    const std::string count = std::to_string(workload_cpus(value).size());
    AppliedSetting applied{"workload", value.text, count, {}};
    if (count != value.text)
      applied.problem = fmt::format(
          "{}: asked for {} CPUs, and {} are there while cpu.smt is off: leave such points out with "
          "'exclude'",
          axis_, value.text, count);
    return {applied};
  }
  std::vector<int> workload_cpus(const AxisValue& value) const override {
    std::vector<int> cpus;
    for (const int cpu : cpus_) {
      if (cpus.size() < static_cast<std::size_t>(*value.number) && !threads_->has_taken({cpu}))
        cpus.push_back(cpu);
    }
    return cpus;
  }

 private:
  std::string axis_;
  std::vector<int> cpus_;
  std::shared_ptr<CoreThreads> threads_;
};

KnobFinding find_cpu_cores(const KnobRequest& request) {
  if (!request.target.empty())
    return {request.axis, nullptr, "cpu.cores is for the workload as a whole and takes no '@'"};
  auto cpus = cpus_cores_first(request.sysfs);
  if (cpus.empty()) return {request.axis, nullptr, "/sys/devices/system/cpu/online cannot be read"};
  return {request.axis, std::make_unique<CpuCores>(request, std::move(cpus)), {}};
}

const Registered<KnobKind> cpu_cores({.name = "cpu.cores",
                                      .place = 110,
                                      .what = "how many CPUs the workload gets (affinity), whole cores first",
                                      .find = find_cpu_cores});

}  // namespace
}  // namespace dvfs_plan
