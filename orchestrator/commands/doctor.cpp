// dvfs-plan doctor: what this machine offers, what is missing, and the command that fixes each.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/own_draw.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/conditions/board_use.hpp"
#include "orchestrator/conditions/other_setters.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "probes/probe_table.hpp"
#include "results/report/json_values.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

struct KnobReport {
  std::string axis;
  bool usable = false;
  std::string offers;
  std::string problem, fix;
};

struct Diagnosis {
  std::map<std::string, std::string> machine;
  std::vector<KnobReport> knobs;
  std::vector<ProbeFinding> probes;
  std::vector<OtherSetter> daemons;
  std::vector<std::pair<std::string, std::string>> notes;  // what, fix
};

// Why the guardian would set it to no value at all; empty: it would to one at least.
SettingAnswer refusal_of(const Knob& knob, GuardClient& guard) {
  SettingAnswer first;
  for (const AxisValue& value : knob.offer().values) {
    const auto requests = knob.requests(value);
    const auto answers = guard.may(requests);
    const auto refused =
        std::find_if(answers.begin(), answers.end(), [](const SettingAnswer& one) { return one.refused(); });
    if (refused == answers.end()) return {};
    if (!first.refused()) first = *refused;
    if (refused->by_kernel) break;  // whatever the value
  }
  return first;
}

std::vector<KnobReport> look_at_knobs(const Sysfs& sysfs, const UsedBoards& gpus, GuardClient& guard) {
  std::vector<KnobReport> reports;
  for (const KnobFinding& finding : find_knobs(candidate_axes(sysfs), sysfs, {}, gpus)) {
    KnobReport report;
    report.axis = finding.axis;
    report.problem = finding.problem;
    if (finding.knob) {
      report.offers = offers_text(finding.knob->offer());
      const SettingAnswer refused = refusal_of(*finding.knob, guard);
      report.problem = refused.refusal;
      report.usable = !refused.refused();
      if (refused.refused()) report.fix = next_step_after(refused);
    }
    reports.push_back(report);
  }
  return reports;
}

// What a sweep of boards should know beforehand.
void note_boards(const UsedBoards& gpus, const Sysfs& sysfs, Diagnosis& d) {
  bool nvidia = false;
  for (const GpuBoard& board : gpus.used) {
    nvidia = nvidia || board.vendor == GpuVendor::nvidia;
    if (board.mig)
      d.notes.emplace_back(
          fmt::format("{} ({}): MIG is enabled; its clocks and its power are those of all its "
                      "instances",
                      board.domain, board.name),
          fmt::format("while it is idle: sudo nvidia-smi -i {} -mig 0", board.uuid));
  }
  if (nvidia)
    d.notes.emplace_back(
        "NVIDIA offers no way to read a clock lock: after a sweep of gpu.core or gpu.memory the locks are "
        "reset, whatever they were before; power limits and application clocks are put back to what they "
        "were",
        "if you keep locks on these boards, set them again after a sweep: sudo nvidia-smi -lgc MIN,MAX");
  if (const std::string others = BoardUse(watch_boards(gpus.used, sysfs)).others(); !others.empty())
    d.notes.emplace_back("somebody computes on the boards now: " + others,
                         "a sweep would measure their work; wait until they are done");
}

Diagnosis diagnose(const Sysfs& sysfs, GuardClient& guard) {
  Diagnosis d;
  d.machine = machine_facts(sysfs);
  const UsedBoards gpus = all_boards(sysfs);
  d.machine.merge(board_facts(gpus.used, sysfs));
  d.knobs = look_at_knobs(sysfs, gpus, guard);
  d.probes = find_probes({sysfs, gpus.used}, WhichProbes::all);
  note_boards(gpus, sysfs, d);
  d.daemons = find_other_setters(sysfs);
  for (const CpufreqPolicy& policy : cpufreq_access(sysfs)->policies()) {
    if (policy.bios_limit_khz && *policy.bios_limit_khz < policy.highest_khz) {
      d.notes.emplace_back(
          fmt::format("{}: the firmware limits it to {} now (bios_limit); it can do {}", policy.name,
                      format(Hertz{static_cast<double>(*policy.bios_limit_khz) * 1e3}),
                      format(Hertz{static_cast<double>(policy.highest_khz) * 1e3})),
          "look at the firmware's power cap, the power supply and the cooling");
    }
  }
  if (const auto paranoid = sysfs.number("/proc/sys/kernel/perf_event_paranoid");
      paranoid && *paranoid > 0 && ::geteuid() != 0 && !guard.is_stood_by()) {
    d.notes.emplace_back(
        fmt::format("kernel.perf_event_paranoid is {}: RAPL by perf events is for root", *paranoid),
        "sudo sysctl kernel.perf_event_paranoid=0");
  }
  return d;
}

std::string doctor_text(const Diagnosis& d) {
  std::string text = "machine\n";
  for (const auto& [name, value] : d.machine) text += fmt::format("  {}: {}\n", name, printable(value));
  text += "\nknobs\n";
  for (const KnobReport& knob : d.knobs) {
    text += fmt::format("  {} {}: {}\n", knob.usable ? "+" : "-", knob.axis,
                        knob.offers.empty() ? knob.problem : knob.offers);
    if (!knob.offers.empty() && !knob.problem.empty()) text += fmt::format("      {}\n", knob.problem);
    if (!knob.fix.empty()) text += fmt::format("      fix: {}\n", knob.fix);
  }
  text += "\nprobes\n";
  for (const ProbeFinding& probe : d.probes) {
    const ProbeKind* kind = Registered<ProbeKind>::find(probe.name);
    text += fmt::format("  {} {}{}{}\n", probe.probe ? "+" : "-", probe.name,
                        probe.problem.empty() ? "" : ": " + probe.problem,
                        probe.probe && kind != nullptr && kind->on_request
                            ? " (read where an experiment's `probes` names it)"
                            : "");
    if (!probe.fix.empty()) text += fmt::format("      fix: {}\n", probe.fix);
    for (const Channel& channel : channels_of(probe)) {
      text += fmt::format("      {} [{}] {}{}\n", channel.name, channel.unit, channel.source,
                          channel.within.empty() ? "" : fmt::format("  (inside {})", channel.within));
    }
  }
  text += "\ncompeting services\n";
  if (d.daemons.empty())
    text +=
        "  none of tuned, TLP, power-profiles-daemon, thermald, irqbalance, dcgm-exporter and their like "
        "runs\n";
  for (const OtherSetter& daemon : d.daemons)
    text += fmt::format(
        "  ! {} (pid {}) {}{}\n      fix: {}\n", daemon.name, daemon.pid, daemon.why,
        daemon.cpu ? fmt::format("; it used {:.1f} % of a CPU since it was started", 100 * *daemon.cpu) : "",
        daemon.fix);
  for (const auto& [note, fix] : d.notes) text += fmt::format("\n! {}\n    fix: {}\n", note, fix);
  return text;
}

std::string doctor_json(const Diagnosis& d) {
  Json json{{"machine", d.machine},
            {"knobs", Json::array()},
            {"probes", Json::array()},
            {"services", Json::array()},
            {"notes", Json::array()}};
  for (const KnobReport& knob : d.knobs) {
    json["knobs"].push_back({{"axis", knob.axis},
                             {"usable", knob.usable},
                             {"offers", knob.offers},
                             {"problem", knob.problem},
                             {"fix", knob.fix}});
  }
  for (const ProbeFinding& probe : d.probes) {
    Json one{{"probe", probe.name},
             {"usable", probe.probe != nullptr},
             {"problem", probe.problem},
             {"fix", probe.fix},
             {"channels", Json::array()}};
    for (const Channel& channel : channels_of(probe)) {
      one["channels"].push_back({{"channel", channel.name},
                                 {"unit", channel.unit},
                                 {"domain", channel.domain},
                                 {"within", channel.within},
                                 {"source", channel.source}});
    }
    json["probes"].push_back(one);
  }
  for (const OtherSetter& daemon : d.daemons)
    json["services"].push_back({{"service", daemon.name},
                                {"pid", daemon.pid},
                                {"why", daemon.why},
                                {"cpu", or_null(daemon.cpu)},
                                {"sets", daemon.sets},
                                {"fix", daemon.fix}});
  for (const auto& [note, fix] : d.notes) json["notes"].push_back({{"note", note}, {"fix", fix}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct DoctorOptions : CommonOptions {
  bool self = false;
  std::string lasts = "3min";
};

Seconds length_of(const std::string& text) {
  constexpr double shortest = 10, longest = 24 * 3600;
  const auto quantity = parse_quantity(text);
  const bool good = quantity && quantity->dimension == Dimension::time && quantity->value >= shortest &&
                    quantity->value <= longest;
  if (!good)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--lasts {}: wanted a duration from 10 s to 24 h", printable(text)),
                "such as --lasts 3min");
  return Seconds{quantity->value};
}

int doctor_command(const DoctorOptions& options) {
  Sysfs sysfs(options.sysfs_root);
  const Seconds lasts = length_of(options.lasts);
  GuardClient guard({.experiment = "doctor",
                     .state_folder = options.state_folder,
                     .sysfs_root = options.sysfs_root,
                     .mode = GuardWish::Mode::looks});
  sysfs.use(&guard);
  if (options.self) {
    const auto who = who_has_the_machine(
        {.experiment = "", .state_folder = options.state_folder, .sysfs_root = options.sysfs_root});
    if (who.holder)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("doctor --self: {} sweeps on this machine ({}), and would be measured too",
                              printable(who.holder->user), printable(who.holder->experiment)),
                  "`dvfs-plan who` says until when");
    const OwnDrawReport report = find_own_draw(sysfs, lasts);
    write_answer(options.json ? own_draw_json(report) : fitted(own_draw_text(report)));
    return static_cast<int>(report.draw.watts.empty() ? ExitCode::machine_refuses : ExitCode::done);
  }
  Diagnosis diagnosis = diagnose(sysfs, guard);
  for (const GuardNote& note : guard.notes()) diagnosis.notes.emplace_back(note.text, note.next_step);
  write_answer(fmt::format("{}", options.json ? doctor_json(diagnosis) : fitted(doctor_text(diagnosis))));
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> doctor(
    {.name = "doctor",
     .place = 20,
     .what = "what this machine offers, what is missing, and how to fix it",
     .examples = "dvfs-plan doctor\n"
                 "dvfs-plan doctor --json",
     .needs_rights = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<DoctorOptions>();
       const auto self = app.add_flag(
           "--self", options->self,
           "measures what this program's own sampling draws: reads all probes as in a night, a tenth as "
           "often, and not at all, by turns; leave the machine alone meanwhile");
       app.add_option("--lasts", options->lasts, "of --self: about so long")
           ->type_name("DURATION")
           ->needs(self);
       return declared(app, options, doctor_command);
     }});

}  // namespace
}  // namespace dvfs_plan
