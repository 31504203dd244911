// RAPL through perf events: 64 bits wide (the kernel follows the hardware's wraps) and one read each.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <set>

#include "base/error.hpp"
#include "base/protected_sensors.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "probes/rapl.hpp"

namespace dvfs_plan {
namespace {

const std::string pmu_folder = "/sys/bus/event_source/devices/power/";

struct DomainName {
  const char* event;
  const char* domain;
  bool inside_package;
};
constexpr DomainName domains[] = {{"energy-pkg", "package", false},
                                  {"energy-ram", "dram", false},
                                  {"energy-cores", "core", true},
                                  {"energy-gpu", "uncore", true},
                                  {"energy-psys", "psys", false}};

class RaplPerfProbe : public Probe {
 public:
  RaplPerfProbe(std::vector<RaplEvent> events, std::vector<UniqueFd> fds) : fds_(std::move(fds)) {
    for (RaplEvent& event : events) {
      channels_.push_back(event.channel);
      scales_.push_back(event.joules_per_unit);
    }
  }
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return Seconds{0.1}; }
  void read(std::span<Sample> samples) override {
    for (std::size_t i = 0; i < fds_.size(); ++i) {
      std::uint64_t count = 0;
      const bool whole = ::read(fds_[i].get(), &count, sizeof count) == static_cast<ssize_t>(sizeof count);
      if (whole)
        samples[i] = {static_cast<double>(count) * scales_[i], ReadingStatus::ok};
      else
        samples[i] = {std::nullopt, errno == ENODEV ? ReadingStatus::gone : ReadingStatus::absent};
    }
  }

 private:
  std::string name_ = "rapl";
  std::vector<Channel> channels_;
  std::vector<double> scales_;
  std::vector<UniqueFd> fds_;
};

std::string package_of(const Sysfs& sysfs, int cpu) {
  return sysfs.text(fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", cpu))
      .value_or("0");
}

// On these energy-pkg is the whole package's, whatever the mask names: Linux 6.9 and 6.10 have one CPU of each of its dies in it ("perf/x86/rapl: Fix
// the energy-pkg event for AMD CPUs").
bool is_of_amd(const Sysfs& sysfs) {
  for (const std::string& line : split_lines(sysfs.text("/proc/cpuinfo").value_or(""))) {
    if (line.starts_with("vendor_id"))
      return line.find("AuthenticAMD") != std::string::npos || line.find("HygonGenuine") != std::string::npos;
  }
  return false;
}

UniqueFd open_event(const RaplEvent& event) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = event.type;
  attributes.config = event.config;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, event.cpu, -1, PERF_FLAG_FD_CLOEXEC)));
}

}  // namespace

std::vector<RaplEvent> list_rapl_events(const Sysfs& sysfs) {
  std::vector<RaplEvent> events;
  const auto type = sysfs.number(pmu_folder + "type");
  const auto cpus = parse_cpu_list(sysfs.text(pmu_folder + "cpumask").value_or(""));
  if (!type || !cpus) return events;
  const bool psys = sysfs.exists(pmu_folder + "events/energy-psys");
  const bool of_packages = is_of_amd(sysfs);
  std::set<std::string> seen;
  for (const int cpu : *cpus) {
    const std::string package = package_of(sysfs, cpu);
    if (of_packages && !seen.insert(package).second) continue;
    // The mask names one CPU a die: two dies of one package are two counters.
    const bool several = !of_packages && std::count_if(cpus->begin(), cpus->end(), [&](int other) {
                                           return package_of(sysfs, other) == package;
                                         }) > 1;
    const std::string die =
        several ? "-die-" + sysfs.text(fmt::format("/sys/devices/system/cpu/cpu{}/topology/die_id", cpu))
                                .value_or(std::to_string(cpu))
                : "";
    for (const DomainName& domain : domains) {
      const std::string file = pmu_folder + "events/" + domain.event;
      const auto config = sysfs.text(file);  // "event=0x02"
      const auto scale = sysfs.number(file + ".scale");
      if (!config || !scale || !config->starts_with("event=0x")) continue;
      if (sysfs.text(file + ".unit").value_or("Joules") != "Joules") continue;
      const bool whole_platform = std::string_view(domain.domain) == "psys";
      if (whole_platform && cpu != cpus->front()) continue;  // one platform, however many packages
      RaplEvent event;
      event.type = static_cast<unsigned>(*type);
      std::from_chars(config->data() + 8, config->data() + config->size(), event.config, 16);
      event.cpu = cpu;
      event.joules_per_unit = *scale;
      event.channel.probe = "rapl";
      event.channel.unit = "J";
      event.channel.kind = ChannelKind::counter;
      event.channel.domain = whole_platform ? "psys" : fmt::format("{}-{}{}", domain.domain, package, die);
      event.channel.name = "rapl:" + event.channel.domain;
      event.channel.source = fmt::format("perf power/{}/ on cpu{}", domain.event, cpu);
      if (domain.inside_package)
        event.channel.within = "package-" + package + die;
      else if (psys && !whole_platform)
        event.channel.within = "psys";
      events.push_back(event);
    }
  }
  return events;
}

namespace {

ProbeFinding find_rapl_perf(const Sysfs& sysfs) {
  ProbeFinding finding{"rapl", nullptr, {}, {}};
  auto events = list_rapl_events(sysfs);
  if (events.empty()) {
    finding.problem = "no RAPL events in /sys/bus/event_source/devices/power";
    return finding;
  }
  std::vector<UniqueFd> fds;
  for (const RaplEvent& event : events) {
    fds.push_back(open_event(event));
    if (!fds.back() && (errno == EACCES || errno == EPERM) && sysfs.sensors() != nullptr)
      fds.back() = sysfs.sensors()->open_event(event.type, event.config, event.cpu).fd;
    if (fds.back()) continue;
    finding.problem = system_error_text("perf_event_open " + event.channel.source, errno);
    finding.fix = "run with sudo, or: sudo sysctl kernel.perf_event_paranoid=0";
    return finding;
  }
  finding.probe = std::make_unique<RaplPerfProbe>(std::move(events), std::move(fds));
  return finding;
}

// Perf events where they may be opened, the powercap files otherwise.
ProbeFinding find_rapl(const ProbeRequest& request) {
  const Sysfs& sysfs = request.sysfs;
  // A recorded tree describes events that this machine's kernel does not have: only files count there.
  if (sysfs.root().empty()) {
    if (auto perf = find_rapl_perf(sysfs); perf.probe) return perf;
  }
  return find_rapl_powercap(sysfs);
}

const Registered<ProbeKind> rapl(
    {.name = "rapl",
     .place = 10,
     .what = "energy counters of CPU packages and memory (RAPL), by perf events or powercap",
     .find = find_rapl});

}  // namespace
}  // namespace dvfs_plan
