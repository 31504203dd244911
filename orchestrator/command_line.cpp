#include "orchestrator/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/options.hpp"
#include "orchestrator/guard/guardian.hpp"
#include "orchestrator/replay/play.hpp"
#include "orchestrator/sensors/test_load.hpp"

namespace dvfs_plan {
namespace {

const char* const footer = R"(
A first experiment, experiment.yaml:

  workloads:
    - name: sort
      command: [sort, --parallel=1, big.txt]
  axes:
    cpu.frequency: all           # or [1.2 GHz, 1.8 GHz], {from: 1 GHz, to: 3 GHz}, {count: 5}, min, max
  repeat: 3

  dvfs-plan check experiment.yaml      what would be run and set; changes nothing
  sudo dvfs-plan experiment.yaml       runs it, or goes on with it, then reports
  dvfs-plan report experiment.sqlite   the report again

Ctrl-C, a kill or a power cut lose no finished trial, and the settings are put back.

Exit codes: 0 done; 1 done, some trials do not count; 2 the experiment file is wrong; 3 the machine
refuses; 4 the machine could not be put back (with the commands that would); 5 done, but the result file was
lost meanwhile: all of it is in the file that the last line names; 130 interrupted.)";

void print_error(const Error& error) {
  // A diagnostic of an experiment file says where it stands itself.
  const bool located = std::strstr(error.what(), ": error: ") != nullptr;
  write_stderr(fmt::format("{}{}\n", located ? "" : "error: ", error.what()));
  if (!error.hint().empty()) write_stderr(fmt::format("  hint: {}\n", error.hint()));
}

class CommandLineParser {
 public:
  CommandLineParser()
      : app_("dvfs-plan: finds the frequency at which a program costs the least energy", "dvfs-plan") {
    app_.footer(footer);
    app_.set_version_flag("--version", std::string("dvfs-plan ") + tool_version);
    app_.add_option("FILE", options_.file, "the experiment to run, or to go on with");
    app_.add_option("-o,--output", options_.output, "the result file (default: NAME.sqlite here)");
    app_.add_flag("--fresh", options_.fresh, "start a new result; the old file is kept under another name");
    app_.add_flag("--quiet", options_.quiet, "no progress on stderr");
    app_.add_flag("--no-html", options_.no_html, "do not write the page NAME.html beside the result");
    common(app_);

    auto* check = add("check", "validate an experiment against this machine; changes nothing", check_command,
                      "FILE", "the experiment");
    check->add_option("-o,--output", options_.output, "the result file the run would use");
    add("doctor", "what this machine offers, what is missing, and how to fix it", doctor_command);
    auto* status = add("status", "how far a running or cut-off experiment is; does not disturb it",
                       status_command, "RESULT", "the result file");
    status->add_flag("--watch", options_.watch, "again every two seconds, until the run ends");
    auto* report = add("report", "the report of a result file, finished or not", report_command, "RESULT",
                       "the result file");
    report->add_option("--html", options_.html, "write it as one page for a browser, which needs no network");
    report
        ->add_option("--svg", options_.svg,
                     "draw the two main figures, PREFIX-settings.svg and PREFIX-trade-off.svg")
        ->type_name("PREFIX");
    report->add_flag(
        "--recompute", options_.recompute,
        "judge all energies anew from the stored readings, and say what differs from what is stored");
    report->add_option("--png", options_.png, "the same as PNG")->type_name("PREFIX");
    auto* compared = add("compare", "two results of one plan: what changed beyond the noise", compare_command,
                         "BEFORE", "the result file before");
    compared
        ->add_option(
            "AFTER", options_.others,
            "the result file after; of several nights a side: BEFORE1 BEFORE2 .. -- AFTER1 AFTER2 ..")
        ->required();
    compared
        ->add_option("--fail-if-worse", options_.worse,
                     "exit with 1 if energy or time rose by more than this at any point, beyond the noise")
        ->type_name("SHARE");
    compared->add_option("--html", options_.html, "write it as one page for a browser");
    auto* exported = add("export", "a table as CSV, JSON Lines or Parquet (or the report as JSON)",
                         export_command, "RESULT", "the result file");
    exported->add_option("--table", options_.table, "one row a trial, or one row a reading")
        ->check(CLI::IsMember({"trials", "readings"}));
    exported->add_option("--format", options_.format, "csv, jsonl (JSON Lines), or parquet (needs node)")
        ->check(CLI::IsMember({"csv", "jsonl", "parquet"}));
    exported->add_option("-o,--output", options_.output, "the file to write (default: stdout)");
    auto* sql = add("sql", "one query on a result file; `readings` are rows there", sql_command, "RESULT",
                    "the result file");
    sql->add_option("QUERY", options_.query,
                    "select ... from trials, points, settings, readings, ...; see results/SCHEMA.md")
        ->required();
    sql->add_flag("--csv", options_.csv, "print CSV instead of a table");
    auto* restore = add("restore", "put back what a cut-off run left set", restore_command);
    restore->add_flag("--discard", options_.discard,
                      "give up what cannot be put back; the journal is kept under another name");
    add_replay();
    // What the look at the sensors starts by itself; nobody else needs it.
    add(
        "load-board", "computes on an NVIDIA board by turns and prints when",
        [](const Options& options) { return run_board_load(options.file); }, "UUID", "of the board")
        ->group("");
    app_.require_subcommand(0, 1);
  }

  int run(int argc, char** argv) {
    // `--` parts the results before from those after; the parser would take it for the end of the options.
    std::vector<const char*> words(argv, argv + argc);
    if (argc > 1 && std::string_view(argv[1]) == "compare")
      std::replace_if(
          words.begin(), words.end(), [](const char* word) { return std::string_view(word) == "--"; },
          between_sides);
    try {
      app_.parse(argc, words.data());
    } catch (const CLI::ParseError& error) {
      const int code = app_.exit(error);
      if (code != 0 && !options_.file.empty() && options_.file.find('.') == std::string::npos) {
        const std::string command = nearest_word(
            options_.file,
            {"check", "doctor", "status", "report", "compare", "export", "sql", "replay", "restore"});
        if (options_.file == "run")
          write_stderr(fmt::format("  hint: dvfs-plan FILE.yaml runs it; there is no 'run'\n"));
        else if (!command.empty())
          write_stderr(fmt::format("  hint: did you mean the command '{}'?\n", command));
      }
      return code == 0 ? 0 : static_cast<int>(ExitCode::bad_experiment);
    }
    // Nothing of root is needed to read results, nor to read a recorded machine instead of this one; and what
    // a recorded machine brings along (a library, nvidia-smi) is the caller's own.
    if (needs_no_rights_ || !options_.sysfs_root.empty()) become_invoking_user();
    if (command_ != nullptr) return command_(options_);
    if (options_.file.empty()) {
      write_stderr(fmt::format("{}", app_.help()));
      return static_cast<int>(ExitCode::bad_experiment);
    }
    return run_command(options_);
  }

 private:
  using Command = int (*)(const Options&);

  void add_replay() {
    auto* replay = add(
        "replay", "plays a search against recorded sweeps: how it would have done", replay_command, "TABLE",
        "a CSV table: device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts");
    ReplayOptions& o = options_.replay;
    replay->add_option("--search", o.search, "how trials are chosen")
        ->check(CLI::IsMember(play_searches()))
        ->capture_default_str();
    replay
        ->add_option("--trials", o.trials,
                     "of each workload, at most (default: 12 with one axis, 16 with two, 24 with three)")
        ->check(CLI::Range(1, 100000));
    replay->add_option("--seeds", o.seeds, "how often each workload is played")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    replay
        ->add_option("--noise-time", o.noise_time,
                     "standard deviation of a trial's time, where the table has one record of a setting")
        ->capture_default_str();
    replay->add_option("--noise-power", o.noise_power, "likewise of its power")->capture_default_str();
    replay->add_option("--confidence", o.confidence, "of the stated bound")->capture_default_str();
    replay
        ->add_option("--regret", o.regret,
                     "adaptive and full: stop once the bound is this low (0: use all trials)")
        ->capture_default_str();
    replay->add_flag(
        "--own-stop", o.own_stop,
        "adaptive and full: stop as an experiment does that says no more than 'search: adaptive' (at a "
        "bound of 1 %, or after three times the grid)");
    replay
        ->add_option("--objective", o.objective,
                     "as in an experiment: edp, or '{minimise: energy, subject to: {slowdown: 5 %}}'")
        ->capture_default_str();
  }

  void common(CLI::App& app) {
    app.add_flag("--json", options_.json, "print JSON on stdout");
    app.add_option("--state-folder", options_.state_folder, "where the journal and the lock are kept")
        ->group("Diagnostics");
    app.add_option("--sysfs-root", options_.sysfs_root, "read a recorded machine below this folder instead")
        ->group("Diagnostics");
  }

  CLI::App* add(const char* name, const char* what, Command command, const char* argument = nullptr,
                const char* argument_text = "") {
    CLI::App* sub = app_.add_subcommand(name, what);
    if (argument != nullptr) sub->add_option(argument, options_.file, argument_text)->required();
    common(*sub);
    sub->callback([this, command] {
      command_ = command;
      needs_no_rights_ = command != check_command && command != doctor_command && command != restore_command;
    });
    return sub;
  }

  CLI::App app_;
  Options options_;
  Command command_ = nullptr;
  bool needs_no_rights_ = false;
};

}  // namespace

int main_program(int argc, char** argv) {
  // Started by Guardian under this name; see orchestrator/guard/guardian.hpp.
  if (argc == 3 && std::strcmp(argv[0], guardian_name) == 0) return guardian_main(argv[1], argv[2]);
  try {
    return CommandLineParser().run(argc, argv);
  } catch (const Error& error) {
    print_error(error);
    return static_cast<int>(error.code());
  } catch (const std::exception& fault) {
    write_stderr(
        fmt::format("error: {}\n  hint: this is a fault of dvfs-plan itself; please report it with the "
                    "command you gave\n",
                    fault.what()));
    return static_cast<int>(ExitCode::machine_refuses);
  }
}

}  // namespace dvfs_plan
