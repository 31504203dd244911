// dvfs-plan use: runs a command at the setting that a result found, and puts the machine back.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/child.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/foreground_child.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/found_setting.hpp"
#include "orchestrator/commands/prepare.hpp"
#include "orchestrator/commands/run_as.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/settings_watch.hpp"

namespace dvfs_plan {
namespace {

struct UseOptions : CommonOptions {
  std::string workload, slowdown, experiment;
  std::optional<std::string> run_as;
  std::vector<std::string> keep;
  bool wait = false, quiet = false;
  std::vector<std::string> words;  // of the command, where it stands without `--`
};

class Use {
 public:
  explicit Use(const UseOptions& options)
      : options_(options),
        command_(options.behind.empty() ? options.words : options.behind),
        sysfs_(options.sysfs_root),
        found_(options.file, options.workload, options.slowdown, options.experiment) {}

  int run() {
    say(answer_text(found_.answer()));
    for (const std::string& doubt : found_.doubts()) warn(doubt);
    GuardClient guard({.experiment = "use " + options_.file,
                       .state_folder = options_.state_folder,
                       .sysfs_root = options_.sysfs_root,
                       .mode = options_.wait ? GuardWish::Mode::waits : GuardWish::Mode::now,
                       .tell = [this](const std::string& line) { say(line); },
                       .stop = [this] { return terminal_.pending() != 0 ? 1 : 0; }});
    sysfs_.use(&guard);
    for (const GuardNote& note : guard.notes()) say("note: " + note.text);
    for (const std::string& line : earlier_run_lines(guard.found_journal())) warn(line);
    found_.find_here(sysfs_);
    for (const std::string& change : found_.changes()) warn(change);
    tell_of_programs();
    const SpawnSpec command = command_of(guard);
    guard.require_known_former();
    guard.arm(settings_to_arm(found_.knobs(), sysfs_));
    ForegroundChild::Ended ended;
    try {
      apply(guard);
      if (terminal_.pending() == 0) ended = run_command(command, guard);
    } catch (...) {
      put_back(guard);
      throw;
    }
    const int code = terminal_.pending() != 0 && ended.code < 0 ? 128 + terminal_.pending() : ended.code;
    put_back(guard);
    if (stays_) throw Error(*stays_);
    if (!ended.problem.empty())
      throw Error(ExitCode::machine_refuses, ended.problem,
                  "the settings are as before; give a program that can be run");
    return code;
  }

 private:
  void say(const std::string& line) const {
    if (!options_.quiet) write_stderr(fmt::format("dvfs-plan: {}\n", line));
  }
  // What the result has run here besides: whoever has it from somebody else sees what it is.
  void tell_of_programs() const {
    for (const SavedSetting& setting : settings_of(found_.knobs())) {
      if (const auto programs = setter_programs_of(setting.path))
        say(fmt::format("{} is set by: {}; it is read by: {}", setting.knob,
                        printable(join(programs->set, " ")), printable(join(programs->read, " "))));
    }
  }
  static void warn(const std::string& line) { write_stderr(fmt::format("dvfs-plan: warning: {}\n", line)); }

  // Its words, with the parameters of the answer where they stand in braces, as in the experiment's own command.
  SpawnSpec command_of(const GuardClient& guard) const {
    SpawnSpec spec;
    for (std::string word : command_) {
      for (const AxisSetting& one : found_.settings()) {
        const std::string braced = "{" + one.axis + "}";
        for (std::size_t at = 0; (at = word.find(braced, at)) != std::string::npos; at += one.text.size())
          word.replace(at, braced.size(), one.text);
      }
      spec.argv.push_back(word);
    }
    for (const AxisSetting& one : found_.settings()) {
      const std::string braced = "{" + one.axis + "}";
      const bool used = std::any_of(command_.begin(), command_.end(), [&](const std::string& word) {
        return word.find(braced) != std::string::npos;
      });
      if (!is_knob_axis(one.axis) && !used)
        say(fmt::format(
            "note: the answer is for {} = {}, which is the command's own: {} in it would be replaced by that",
            printable(one.axis), printable(one.text), printable(braced)));
    }
    spec.run_as = user_of("the command", options_.run_as);
    auto environment = environment_for(spec.run_as, options_.keep);
    const auto path = environment.find("PATH");
    spec.executable = find_executable(spec.argv.front(), ".", path == environment.end() ? "" : path->second);
    if (spec.executable.empty())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("there is no program '{}' on the PATH", printable(spec.argv.front())),
                  "nothing was set");
    environment[run_variable] = guard.run();
    for (const auto& [name, value] : visible_devices(found_.boards())) environment[name] = value;
    spec.environment.emplace();
    for (const auto& [name, value] : environment) spec.environment->push_back(name + "=" + value);
    for (const KnobFinding& knob : found_.knobs()) {
      const auto cpus = knob.knob->workload_cpus(found_.value_of(knob));
      if (!cpus.empty()) spec.cpus = cpus;
    }
    spec.dies_with_us = true;
    return spec;
  }

  void apply(GuardClient& guard) {
    for (const KnobFinding& knob : found_.knobs()) {
      for (const AppliedSetting& setting : knob.knob->apply(found_.value_of(knob), guard)) {
        if (!setting.note.empty()) say("note: " + setting.note);
        if (!setting.problem.empty())
          throw Error(ExitCode::machine_refuses, setting.problem,
                      "the command was not run; the settings are as before");
      }
    }
  }

  ForegroundChild::Ended run_command(const SpawnSpec& command, GuardClient& guard) {
    SettingsWatch watch(settings_of(found_.knobs()), sysfs_, system_clock());
    bool watching = watch.begin(), unset = false;
    std::string trouble;
    const Nanoseconds began = system_clock().now();
    const auto ended = terminal_.run(
        command, [&](pid_t child) { guard.note_child(child); },
        [&] {
          try {
            if (!stays_ && (guard.keep() || unset)) {
              unset = true;
              apply(guard);
              unset = false;
              warn("the guardian was ended and put the settings back; they are set again now");
              for (const std::string& note : guard.found_journal().value_or(RestoreOutcome{}).notes)
                warn(note);
              watching = watch.begin();
            }
            watch.look();
          } catch (const Error& fault) {
            // The command goes on, and has its signals. What could not be put back is the last word, behind it.
            if (fault.code() == ExitCode::not_restored) stays_ = fault;
            if (terminal_.pending() == 0 && std::exchange(trouble, fault.what()) != fault.what())
              warn(fmt::format("the command does not run at this setting now: {}", fault.what()));
          }
        });
    if (watching) {
      for (const SettingChange& change : watch.end().value_or(std::vector<SettingChange>{}))
        warn(fmt::format("the command did not run at this setting throughout: {}",
                         change_text(change, began)));
    }
    return ended;
  }

  static void put_back(GuardClient& guard) {
    const RestoreOutcome outcome = guard.restore();
    for (const std::string& note : outcome.notes) write_stderr(fmt::format("note: {}\n", note));
    require_restored(outcome);
  }

  const UseOptions& options_;
  ForegroundChild terminal_;
  const std::vector<std::string> command_;
  Sysfs sysfs_;
  FoundSetting found_;
  std::optional<Error> stays_;  // what a guardian that was lost could not put back
};

int use_command(const UseOptions& options) {
  if (options.behind.empty() && options.words.empty())
    throw Error(ExitCode::bad_experiment, "use wants the command that is to run at the setting",
                fmt::format("dvfs-plan use {} -- COMMAND", shell_quote(options.file)));
  return Use(options).run();
}

const Registered<CommandKind> use(
    {.name = "use",
     .place = 55,
     .what = "runs a command at the setting that a result found, and puts the machine back",
     .examples = "sudo dvfs-plan use night.sqlite -- make -j8\n"
                 "sudo dvfs-plan use night.sqlite --workload train --slowdown 5% -- python3 train.py",
     .needs_rights = true,
     .runs_another = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<UseOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_option("COMMAND", options->words, "behind `--`: a program and its arguments");
       app.add_option("--workload", options->workload,
                      "whose answer, where there are several: a workload, or a whole line of the report");
       app.add_option(
           "--slowdown", options->slowdown,
           "the least energy within this slowdown, such as 5%, in place of the experiment's objective");
       app.add_option("--experiment", options->experiment,
                      "where the experiment's file is, if it was moved: programs that set something are "
                      "sought from there")
           ->type_name("FILE");
       app.add_option("--run-as", options->run_as, "the user that the command runs as");
       app.add_option("--keep", options->keep, "under sudo: variables of root's environment that it gets");
       app.add_flag("--wait", options->wait,
                    "where a sweep has the machine, be next instead of being refused");
       app.add_flag("--quiet", options->quiet, "say nothing but warnings");
       return declared_without_json(app, options, use_command);
     }});

}  // namespace
}  // namespace dvfs_plan
