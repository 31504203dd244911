#include "orchestrator/commands/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "base/acting_as.hpp"
#include "base/child.hpp"
#include "base/invoking_user.hpp"
#include "experiments/plan/work_files.hpp"
#include "orchestrator/commands/experiment_text.hpp"
#include "orchestrator/commands/vocabulary.hpp"
#include "orchestrator/conditions/board_use.hpp"
#include "orchestrator/knobs/overlaps.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/run/attached_services.hpp"

namespace dvfs_plan {
namespace {

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

PreparedExperiment prepare_experiment(const std::string& file, const Sysfs& sysfs,
                                      const std::optional<std::string>& text_given) {
  Diagnostics diagnostics(file);
  auto experiment = parse_experiment(text_given ? *text_given : read_experiment_file(file), file,
                                     registered_vocabulary(), diagnostics);
  PreparedExperiment prepared;
  if (experiment) {
    experiment->folder = std::filesystem::absolute(experiment->folder).lexically_normal().string();
    std::vector<std::string> axes;
    std::map<std::string, std::string> by;
    for (const AxisSpec& axis : experiment->axes) {
      axes.push_back(axis.name);
      if (!axis.by.empty()) by[axis.name] = axis.by;
    }
    const auto environment = current_environment();
    prepared.gpus = find_used_boards(*experiment, sysfs, environment);
    prepared.knobs = find_knobs(axes, sysfs, experiment->own_knobs(), prepared.gpus, by);
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

namespace {

// Programs of the system come and go with its updates: what is watched is the user's own.
void leave_out_the_systems(std::set<std::string>& files) {
  std::erase_if(files, [](const std::string& file) {
    constexpr std::array system{"/usr/bin/", "/usr/sbin/", "/usr/lib", "/usr/share/",
                                "/bin/",     "/sbin/",     "/lib"};
    return file.empty() || std::any_of(system.begin(), system.end(),
                                       [&](const char* begin) { return file.starts_with(begin); });
  });
}

// Of an interpreter and its script the script.
std::string program_of(const std::vector<std::string>& command, const std::string& folder) {
  ProgramSpec program;
  for (const std::string& word : command) program.command.emplace_back().text = word;
  const auto script = interpreted_script(program, folder);
  return script ? *script : find_executable(command.front(), folder, current_environment()["PATH"]);
}

// The program of a meter, and what else its command names.
std::set<std::string> files_of_meter(const ProbeSpec& probe, const std::string& folder) {
  const auto named = named_work_files(probe.command, "", folder, current_environment()["PATH"]);
  std::set<std::string> files(named.begin(), named.end());
  files.insert(program_of(probe.command, folder));
  leave_out_the_systems(files);
  return files;
}

// The programs by which a knob is set and read. What else their commands name may be what they set.
std::set<std::string> files_of_setter(const CommandKnobSpec& knob, const std::string& folder) {
  std::set<std::string> files;
  for (const auto& command : {knob.command, knob.read, knob.restore}) {
    if (!command.empty()) files.insert(program_of(command, folder));
  }
  leave_out_the_systems(files);
  return files;
}

}  // namespace

std::map<std::string, std::string> facts_of(const PreparedExperiment& prepared, const Sysfs& sysfs) {
  auto facts = machine_facts(sysfs);
  facts.merge(board_facts(prepared.gpus.used, sysfs));
  const auto add_named = [&](const ProgramFiles& program) {
    for (const WorkFile& file : program.files) {
      if (file.named) facts[work_file_fact + file.path] = file.sha256;
    }
  };
  for (const PlanWorkload& workload : prepared.plan.workloads) add_named(workload);
  for (const PlanService& service : prepared.plan.services) add_named(service);
  // Another meter may tell other joules of the same work.
  const auto& probes = prepared.plan.experiment.probes;
  for (const ProbeSpec& probe : probes ? *probes : std::vector<ProbeSpec>{}) {
    if (probe.command.empty()) continue;
    for (const std::string& file : files_of_meter(probe, prepared.plan.experiment.folder))
      facts[meter_file_fact + file] = read_work_file(file).sha256;
  }
  for (const CommandKnobSpec& knob : prepared.plan.experiment.set) {
    for (const std::string& file : files_of_setter(knob, prepared.plan.experiment.folder))
      facts[setter_file_fact + file] = read_work_file(file).sha256;
  }
  return facts;
}

std::string next_step_after(const SettingAnswer& refusal) {
  return refusal.by_kernel
             ? "run with sudo, or let an administrator install the guardian (README, Install); the workloads "
               "run as you all the same"
             : "nothing was set; who administers this machine may change its policy (man dvfs-guardian)";
}

std::vector<RefusedSetting> refused_settings(const PreparedExperiment& prepared, GuardClient& guard) {
  std::map<std::string, std::vector<AxisValue>> values;
  for (const PlanAxis& axis : prepared.plan.axes) {
    if (axis.knob) values[axis.name] = axis.values;
  }
  const auto requests = requests_of(prepared.knobs, values);
  std::vector<SettingText> asked;
  for (const AxisRequest& one : requests) asked.push_back(one.request);
  std::vector<RefusedSetting> refused;
  if (asked.empty()) return refused;
  const auto answers = guard.may(asked);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].refused() || (!refused.empty() && refused.back().axis == requests[i].axis)) continue;
    refused.push_back({requests[i].axis, answers[i].refusal, next_step_after(answers[i])});
  }
  return refused;
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
  BoardUse boards(watch_boards(gpus.used, sysfs));
  boards.are_ours(attached_processes(prepared.plan), false);
  const std::string others = boards.others();
  if (others.empty()) return std::nullopt;
  return refuse(fmt::format("somebody else is on the boards that are used: {}", others), board_hint);
}

}  // namespace dvfs_plan
