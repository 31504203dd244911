#include "orchestrator/commands/chosen_probes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

#include "base/acting_as.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/run_as.hpp"
#include "probes/command_probe.hpp"
#include "probes/meters/meter.hpp"

namespace dvfs_plan {
namespace {

LaunchSpec probe_launch(const ProbeSpec& spec, const Experiment& experiment, const std::string& run) {
  LaunchSpec launch;
  launch.argv = spec.command;
  launch.run_as = user_of(fmt::format("probe '{}'", spec.name), spec.run_as);
  auto environment = environment_for(launch.run_as, {});
  launch.executable = find_executable(spec.command[0], experiment.folder, environment["PATH"]);
  launch.folder = experiment.folder;
  for (const auto& [name, value] : environment) launch.environment.push_back(name + "=" + value);
  launch.environment.push_back(std::string(run_variable) + "=" + run);
  return launch;
}

std::vector<Channel> own_channels(const ProbeSpec& spec) {
  std::vector<Channel> channels;
  for (const auto& channel : spec.channels) {
    Channel one;
    one.name = channel.name;
    one.unit = channel.unit;
    one.kind = channel.unit == "J" ? ChannelKind::counter : ChannelKind::gauge;
    one.domain = channel.domain;
    one.averages_over_s = channel.averages_over_s;
    one.late_by_s = channel.late_by_s;
    channels.push_back(one);
  }
  return channels;
}

std::unique_ptr<Probe> own_probe(const ProbeSpec& spec, const Experiment& experiment, const std::string& run,
                                 Launcher& launcher, const Clock& clock) {
  CommandProbeSettings settings;
  settings.name = spec.name;
  settings.every = spec.every;
  if (spec.rate) settings.period = Seconds{1 / spec.rate->value()};
  settings.keeps_each = !spec.rate;
  settings.launch = probe_launch(spec, experiment, run);
  if (!run.empty()) {
    settings.mark = fmt::format("{}={}/meter {}", service_variable, run, spec.name);
    settings.launch.environment.push_back(settings.mark);
  }
  settings.channels = own_channels(spec);
  return start_command_probe(std::move(settings), launcher, clock);
}

// USER:PASSWORD of a file that nobody else may read. It goes into no result and no message.
std::pair<std::string, std::string> read_credentials(const ProbeSpec& spec, const Experiment& experiment) {
  const RawValue& named = *spec.meter->credentials;
  const std::string file = (std::filesystem::path(experiment.folder) / named.text).string();
  const auto refuse = [&](const std::string& found) {
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{}:{}:{}: probe '{}': 'credentials' is a file that nobody else may read, with one line, "
                    "USER:PASSWORD; {} {}",
                    experiment.file, named.mark.line, named.mark.column, spec.name, printable(file), found),
        fmt::format("chmod 600 {}", shell_quote(file)));
  };
  const ActingAs owner(invoking_owner());
  struct stat info {};
  std::ifstream stream(file);
  if (!stream || ::stat(file.c_str(), &info) != 0) refuse("cannot be read");
  if ((info.st_mode & 077) != 0) refuse(fmt::format("has mode {:04o}", info.st_mode & 07777U));
  std::string line;
  std::getline(stream, line);
  const auto colon = line.find(':');
  if (colon == std::string::npos || colon == 0) refuse("has no such line");
  return {line.substr(0, colon), line.substr(colon + 1)};
}

std::unique_ptr<Probe> network_meter(const ProbeSpec& spec, const Experiment& experiment) {
  const ProbeSpec::MeterSpec& meter = *spec.meter;
  MeterRequest request{
      spec.name, meter.at.text, meter.outlet, meter.domain, {}, {}, {}, meter.averages_over_s, {}};
  request.late_by_s = meter.late_by_s;
  while (request.at.ends_with('/')) request.at.pop_back();
  if (spec.rate) request.period = Seconds{1 / spec.rate->value()};
  if (meter.credentials) std::tie(request.user, request.password) = read_credentials(spec, experiment);
  if (meter.authorities)
    request.authorities = (std::filesystem::path(experiment.folder) / meter.authorities->text).string();
  const MeterKind& kind = *Registered<MeterKind>::find(meter.kind);
  const auto refuse = [&](bool given, bool taken, const char* key) {
    if (!given || taken) return;
    throw Error(ExitCode::bad_experiment,
                fmt::format("{}:{}:{}: probe '{}': a meter of kind {} has no use for '{}'", experiment.file,
                            spec.mark.line, spec.mark.column, spec.name, meter.kind, key),
                "leave it out; docs/meters.md says what each kind takes");
  };
  refuse(!meter.outlet.empty(), kind.takes_outlet, "outlet");
  refuse(meter.credentials.has_value(), kind.takes_credentials, "credentials");
  refuse(meter.authorities.has_value(), kind.takes_authorities, "ca");
  request.power_query = meter.power_query;
  request.range_query = meter.range_query;
  refuse(!meter.power_query.empty(), kind.takes_queries, "power query");
  refuse(!meter.range_query.empty(), kind.takes_queries, "range query");
  MeterFinding found;
  try {
    found = kind.open(request);
  } catch (const std::exception& fault) {  // of a parser
    found.problem = fmt::format("meter '{}' ({}) at {}: {}", request.name, meter.kind, request.at,
                                printable(fault.what()));
  }
  if (!found.probe)
    throw Error(ExitCode::machine_refuses,
                fmt::format("{}:{}:{}: {}", experiment.file, spec.mark.line, spec.mark.column, found.problem),
                found.fix);
  return std::move(found.probe);
}

// A probe read at another rate than its own.
class RatedProbe : public Probe {
 public:
  RatedProbe(std::unique_ptr<Probe> probe, Seconds period) : probe_(std::move(probe)), period_(period) {}
  const std::string& name() const override { return probe_->name(); }
  const std::vector<Channel>& channels() const override { return probe_->channels(); }
  Seconds period() const override { return period_; }
  bool asks_device() const override { return probe_->asks_device(); }
  std::string begin() override { return probe_->begin(); }
  void read(std::span<Sample> samples) override { probe_->read(samples); }
  bool has_more() const override { return probe_->has_more(); }
  std::string last_words() const override { return probe_->last_words(); }

 private:
  std::unique_ptr<Probe> probe_;
  Seconds period_;
};

// A finding's probes, and what is to be said of it.
void add_finding(ProbeFinding& finding, ChosenProbes& chosen) {
  if (!finding.problem.empty())
    chosen.notes.push_back(fmt::format("probe {}: {}{}", finding.name, finding.problem,
                                       finding.fix.empty() ? "" : "; " + finding.fix));
  if (finding.probe) chosen.probes.push_back(std::move(finding.probe));
  for (auto& part : finding.others) chosen.probes.push_back(std::move(part));
}

// What an experiment needs whether it asks for it or not.
void add_needed(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                std::vector<ProbeSpec>& wanted) {
  const auto add = [&](std::string_view name) {
    const bool listed =
        std::any_of(wanted.begin(), wanted.end(), [&](const ProbeSpec& spec) { return spec.name == name; });
    ProbeSpec needed;
    needed.name = name;
    if (!listed) wanted.push_back(needed);
  };
  // Whoever sweeps a clock needs to know whether it was delivered.
  const bool sweeps_cpu_clock =
      std::any_of(experiment.axes.begin(), experiment.axes.end(),
                  [](const AxisSpec& axis) { return split_axis_name(axis.name).base == "cpu.frequency"; });
  if (sweeps_cpu_clock && find_probe("cpufreq", {sysfs}).probe) add("cpufreq");
  // Nor does a power limit show whether it was reached.
  const bool limits_packages =
      std::any_of(experiment.axes.begin(), experiment.axes.end(),
                  [](const AxisSpec& axis) { return split_axis_name(axis.name).base == "cpu.power_limit"; });
  if (limits_packages && find_probe("rapl", {sysfs}).probe) add("rapl");
  for (const GpuBoard& board : gpus.used) {
    for (const ProbeKind* kind : Registered<ProbeKind>::all()) {
      if (kind->boards_of == board.vendor) add(kind->name);
    }
  }
  // Nor does the temperature gate work without a thermometer.
  if (experiment.conditions.temperature_band && find_probe("thermal", {sysfs}).probe) add("thermal");
}

}  // namespace

std::vector<std::unique_ptr<Probe>> start_own_meters(const Experiment& experiment, Launcher& launcher,
                                                     const Clock& clock) {
  std::vector<std::unique_ptr<Probe>> meters;
  for (const ProbeSpec& spec : experiment.probes ? *experiment.probes : std::vector<ProbeSpec>{}) {
    if (!spec.command.empty()) meters.push_back(own_probe(spec, experiment, {}, launcher, clock));
  }
  return meters;
}

ChosenProbes choose_probes(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                           const std::string& run, Launcher& launcher, const Clock& clock) {
  ChosenProbes chosen;
  const ProbeRequest request{sysfs, gpus.used, &launcher, &clock, run};
  // Boards that nobody asks about are left alone, and that is said: their energy is in no result.
  if (!uses_gpus(experiment) && has_gpu_boards(sysfs))
    chosen.notes.push_back(
        "this machine has GPU boards, and this experiment does not measure them; if its workloads use them, "
        "add  gpus: all");
  if (!experiment.probes) {
    for (ProbeFinding& finding : find_probes(request)) add_finding(finding, chosen);
    return chosen;
  }
  std::vector<ProbeSpec> wanted = *experiment.probes;
  add_needed(experiment, gpus, sysfs, wanted);
  for (const ProbeSpec& spec : wanted) {
    if (!spec.command.empty() || spec.rate) chosen.fixed_rate.insert(spec.name);
    if (!spec.command.empty()) {
      chosen.probes.push_back(own_probe(spec, experiment, run, launcher, clock));
      continue;
    }
    if (spec.meter) {
      chosen.probes.push_back(network_meter(spec, experiment));
      continue;
    }
    ProbeFinding finding = find_probe(spec.name, request);
    if (!finding.probe) {
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{}:{}:{}: probe '{}': {}", experiment.file, spec.mark.line, spec.mark.column,
                      spec.name, finding.problem),
          finding.fix.empty() ? "`dvfs-plan doctor` shows what this machine can measure" : finding.fix);
    }
    if (spec.rate)
      finding.probe = std::make_unique<RatedProbe>(std::move(finding.probe), Seconds{1 / spec.rate->value()});
    add_finding(finding, chosen);
  }
  return chosen;
}

std::vector<Channel> channels_to_be(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                                    Launcher& launcher, const Clock& clock) {
  std::vector<Channel> channels;
  Experiment others = experiment;
  if (!others.probes) return channels;
  std::erase_if(*others.probes, [](const ProbeSpec& spec) { return !spec.command.empty(); });
  if (!others.probes->empty()) {
    for (const auto& probe : choose_probes(others, gpus, sysfs, {}, launcher, clock).probes)
      channels.insert(channels.end(), probe->channels().begin(), probe->channels().end());
  }
  for (const ProbeSpec& spec : *experiment.probes) {
    for (Channel& one : own_channels(spec)) {
      one.name = spec.name + ":" + one.name;  // as its probe calls it
      channels.push_back(std::move(one));
    }
  }
  return channels;
}

}  // namespace dvfs_plan
