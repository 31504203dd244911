#include "orchestrator/commands/prepare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/vocabulary.hpp"
#include "orchestrator/conditions/board_use.hpp"
#include "orchestrator/knobs/overlaps.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "probes/command_probe.hpp"

namespace dvfs_plan {
namespace {

bool looks_like_a_result(const std::string& file) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string start(magic.size(), '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == magic;
}

std::string read_experiment_file(const std::string& file) {
  // The invoking user's file is read as the invoking user: what they may not read is not shown to them.
  const ActingAs owner(invoking_owner());
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    const std::string command = nearest_word(file, command_names());
    throw Error(ExitCode::bad_experiment,
                fmt::format("{}: there is no such file{}", printable(file),
                            command.empty() ? "" : fmt::format(" (did you mean the command '{}'?)", command)),
                "`dvfs-plan --help` shows a first experiment");
  }
  if (looks_like_a_result(file)) {
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} is a result file, not an experiment", printable(file)),
                fmt::format("dvfs-plan report {}", shell_quote(file)));
  }
  if (!std::filesystem::is_regular_file(status))
    throw Error(ExitCode::bad_experiment, fmt::format("{} is not a file", printable(file)),
                "give the experiment's YAML file");
  std::ifstream stream(file, std::ios::binary);
  // One byte more than may be read: a longer file is refused by its size, not read whole.
  std::string text((1U << 20) + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (!stream.eof() && stream.gcount() == 0))
    throw Error(ExitCode::bad_experiment, fmt::format("{} cannot be read", printable(file)));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

std::string absolute(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

Credentials require_user(const std::string& name) {
  auto user = find_user(name);
  if (!user)
    throw Error(ExitCode::machine_refuses, fmt::format("user '{}' cannot be looked up now", name),
                "see: getent passwd " + shell_quote(name));
  return *user;
}

// Who a child runs as: `run_as`, else the user behind sudo, else ourselves (nullopt). Whoever comes through
// sudo may have himself: the file is his, and naming another user in it must not make him that user.
std::optional<Credentials> user_of(const std::string& what, const std::optional<std::string>& run_as) {
  const auto invoking = invoking_user();
  auto user = run_as ? std::optional(require_user(*run_as)) : invoking;
  if (!user || (user->user == ::geteuid() && !invoking)) return std::nullopt;
  if (::geteuid() != 0)
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} is to run as {}, which only root may arrange", what, user->name),
                "run with sudo, or take 'run_as' away");
  if (invoking && user->user != invoking->user)
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} is to run as {}, and this program serves {}, who called it through sudo: only root "
                    "himself may name another user",
                    what, user->name, invoking->name),
        "take 'run_as' away, or let root himself run it: su -, or env -u SUDO_UID in root's shell");
  return user;
}

LaunchSpec probe_launch(const ProbeSpec& spec, const Experiment& experiment, const std::string& run) {
  LaunchSpec launch;
  launch.argv = spec.command;
  launch.run_as = user_of(fmt::format("probe '{}'", spec.name), spec.run_as);
  auto environment = environment_for(launch.run_as, {});
  launch.executable = find_executable(spec.command[0], experiment.folder, environment["PATH"]);
  for (const auto& [name, value] : environment) launch.environment.push_back(name + "=" + value);
  launch.discard_errors = true;  // nobody reads them, and a full pipe would stop the meter
  launch.environment.push_back("DVFS_PLAN_RUN=" + run);
  return launch;
}

std::unique_ptr<Probe> own_probe(const ProbeSpec& spec, const Experiment& experiment, const std::string& run,
                                 Launcher& launcher, const Clock& clock) {
  CommandProbeSettings settings;
  settings.name = spec.name;
  settings.every = spec.every;
  if (spec.rate) settings.period = Seconds{1 / spec.rate->value()};
  settings.launch = probe_launch(spec, experiment, run);
  for (const auto& channel : spec.channels) {
    Channel one;
    one.name = channel.name;
    one.unit = channel.unit;
    one.kind = channel.unit == "J" ? ChannelKind::counter : ChannelKind::gauge;
    one.domain = channel.domain;
    one.averages_over_s = channel.averages_over_s;
    settings.channels.push_back(one);
  }
  return start_command_probe(std::move(settings), launcher, clock);
}

// A probe read at another rate than its own.
class RatedProbe : public Probe {
 public:
  RatedProbe(std::unique_ptr<Probe> probe, Seconds period) : probe_(std::move(probe)), period_(period) {}
  const std::string& name() const override { return probe_->name(); }
  const std::vector<Channel>& channels() const override { return probe_->channels(); }
  Seconds period() const override { return period_; }
  void begin() override { probe_->begin(); }
  void read(std::span<Sample> samples) override { probe_->read(samples); }

 private:
  std::unique_ptr<Probe> probe_;
  Seconds period_;
};

void refuse_overlaps(const Experiment& experiment, const std::vector<KnobFinding>& knobs, const Sysfs& sysfs,
                     Diagnostics& diagnostics) {
  const auto mark_of = [&](const std::string& axis) {
    const auto spec = std::find_if(experiment.axes.begin(), experiment.axes.end(),
                                   [&](const AxisSpec& a) { return a.name == axis; });
    return spec == experiment.axes.end() ? Mark{} : spec->mark;
  };
  for (const Overlap& overlap : find_overlaps(knobs, sysfs))
    diagnostics.error(mark_of(overlap.axis), overlap_text(overlap, mark_of(overlap.other).line));
}

}  // namespace

PreparedExperiment prepare_experiment(const std::string& file, const Sysfs& sysfs) {
  Diagnostics diagnostics(file);
  auto experiment = parse_experiment(read_experiment_file(file), file, registered_vocabulary(), diagnostics);
  PreparedExperiment prepared;
  if (experiment) {
    experiment->folder = absolute(experiment->folder);
    std::vector<std::string> axes;
    for (const AxisSpec& axis : experiment->axes) axes.push_back(axis.name);
    const auto environment = current_environment();
    prepared.gpus = find_used_boards(*experiment, sysfs, environment);
    prepared.knobs = find_knobs(axes, sysfs, experiment->sysfs, prepared.gpus);
    refuse_overlaps(*experiment, prepared.knobs, sysfs, diagnostics);
    const auto path = environment.find("PATH");
    // As the invoking user: digests of files that he may not read are not his to learn.
    const ActingAs owner(invoking_owner());
    auto plan = resolve_plan(
        *experiment, {offers_of(prepared.knobs), path == environment.end() ? "" : path->second}, diagnostics);
    if (plan && !diagnostics.has_errors()) {
      prepared.plan = std::move(*plan);
      prepared.warnings = diagnostics.text();
      return prepared;
    }
  }
  std::string text = diagnostics.text();
  if (!text.empty()) text.pop_back();
  throw Error(ExitCode::bad_experiment, text, "nothing was run and nothing was set");
}

std::string result_path(const std::string& output, const Experiment& experiment) {
  std::string path = output;
  if (path.empty() && experiment.result)
    path = (std::filesystem::path(experiment.folder) / experiment.result->text).string();
  if (path.empty()) path = experiment.name + ".sqlite";
  // The folder's links are the user's own business; the file itself must not be one.
  std::error_code error;
  const auto folder = std::filesystem::canonical(std::filesystem::absolute(path).parent_path(), error);
  if (error)
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: its folder: {}", path, error.message()),
                "make the folder, or choose another place with --output");
  return (folder / std::filesystem::path(path).filename()).string();
}

std::vector<std::string> resume_obstacles(Store& store, const Plan& plan,
                                          const std::map<std::string, std::string>& facts) {
  std::vector<std::string> differences;
  if (store.plan_hash() != plan.hash) differences = plan_differences(store.canonical_plan(), plan.canonical);
  for (std::string& difference : decisive_differences(store.machine_facts(), facts))
    differences.push_back(std::move(difference));
  return differences;
}

void require_same_plan(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts,
                       const std::string& path) {
  const auto differences = resume_obstacles(store, plan, facts);
  if (differences.empty()) return;
  std::string message = fmt::format("{} holds trials of another plan; what changed:", path);
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i)
    message += "\n  " + printable(differences[i]);
  if (differences.size() > most) message += fmt::format("\n  ... and {} more", differences.size() - most);
  throw Error(ExitCode::bad_experiment, message,
              "undo the change to resume, use --fresh to start a new result (the old one is kept), or "
              "--output for another file");
}

std::map<std::string, std::optional<Credentials>> workload_users(const Plan& plan) {
  std::map<std::string, std::optional<Credentials>> users;
  for (const PlanWorkload& workload : plan.workloads) {
    const auto& run_as = workload.spec.run_as;
    const auto user = user_of(fmt::format("workload '{}'", workload.spec.name),
                              run_as ? std::optional(run_as->text) : std::nullopt);
    users[workload.spec.name] = user;
  }
  return users;
}

namespace {

// A finding's probes, and what is to be said of it.
void take(ProbeFinding& finding, ChosenProbes& chosen) {
  if (!finding.problem.empty())
    chosen.notes.push_back(fmt::format("probe {}: {}{}", finding.name, finding.problem,
                                       finding.fix.empty() ? "" : "; " + finding.fix));
  if (finding.probe) chosen.probes.push_back(std::move(finding.probe));
  for (auto& part : finding.others) chosen.probes.push_back(std::move(part));
}

// What an experiment needs whether it asks for it or not.
void add_needed(const Experiment& experiment, const UsedBoards& gpus, const Sysfs& sysfs,
                std::vector<ProbeSpec>& wanted) {
  const auto add = [&](const char* name) {
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
  for (const GpuBoard& board : gpus.used)
    add(board.vendor == GpuVendor::nvidia ? "nvidia"
        : board.vendor == GpuVendor::amd  ? "amdgpu"
                                          : "intel_gpu");
  // Nor does the temperature gate work without a thermometer.
  if (experiment.conditions.temperature_band && find_probe("thermal", {sysfs}).probe) add("thermal");
}

}  // namespace

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
    for (ProbeFinding& finding : find_probes(request)) take(finding, chosen);
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
    take(finding, chosen);
  }
  return chosen;
}

std::map<std::string, std::string> facts_of(const PreparedExperiment& prepared, const Sysfs& sysfs) {
  auto facts = machine_facts(sysfs);
  facts.merge(board_facts(prepared.gpus.used, sysfs));
  for (const PlanWorkload& workload : prepared.plan.workloads) {
    for (const WorkFile& file : workload.files) {
      if (file.named) facts[work_file_fact + file.path] = file.sha256;
    }
  }
  return facts;
}

std::optional<Error> board_obstacle(const PreparedExperiment& prepared, const Sysfs& sysfs) {
  const auto refuse = [](const std::string& message, const std::string& hint) {
    return Error(ExitCode::machine_refuses, message, hint);
  };
  const UsedBoards& gpus = prepared.gpus;
  if (uses_gpus(prepared.plan.experiment) && gpus.all.boards.empty())
    return refuse(gpus.all.missing, "`dvfs-plan doctor` shows what this machine has");
  if (!gpus.problem.empty()) return refuse(gpus.problem, "`dvfs-plan doctor` lists the boards");
  if (gpus.used.empty() || prepared.plan.experiment.conditions.flag_gpu_processes) return std::nullopt;
  const std::string others = BoardUse(watch_boards(gpus.used, sysfs)).others();
  if (others.empty()) return std::nullopt;
  return refuse(fmt::format("somebody else is on the boards that are used: {}", others), board_hint);
}

}  // namespace dvfs_plan
