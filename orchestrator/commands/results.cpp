// dvfs-plan report, export, restore: commands about what has been run.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/draw_figures.hpp"
#include "orchestrator/commands/options.hpp"
#include "orchestrator/guard/knob_guard.hpp"
#include "results/page/html_report.hpp"
#include "results/export/table.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result) {
  std::error_code ignored;
  if (output.empty() || !std::filesystem::equivalent(result, output, ignored)) return;
  throw Error(ExitCode::bad_experiment, fmt::format("{} {} is the result file itself", option, output),
              "name another file");
}

int report_command(const Options& options) {
  Store store = Store::open(options.file, Database::Mode::read_only);
  const auto trials = store.trials();
  const Summary summary = summary_of(store);
  const bool to_files = !options.html.empty() || !options.svg.empty() || !options.png.empty();
  if (!options.html.empty()) {
    refuse_the_result_itself(options.html, "--html", options.file);
    write_html_report(store, summary, trials, options.html);
    write_stderr(fmt::format("the page is {}\n", options.html));
  }
  for (const auto& [prefix, format] : {std::pair{options.svg, FigureFormat::svg}, {options.png, FigureFormat::png}}) {
    if (prefix.empty()) continue;
    for (const std::string& file : draw_figures(summary, prefix, format)) write_stderr(fmt::format("drew {}\n", file));
  }
  if (to_files && !options.json) return static_cast<int>(ExitCode::done);
  write_stdout(fmt::format("{}", options.json ? json_report(store, summary, trials)
                                              : terminal_report(summary, trials, is_terminal_stdout())));
  return static_cast<int>(ExitCode::done);
}

int export_command(const Options& options) {
  Store store = Store::open(options.file, Database::Mode::read_only);
  if (options.json && (options.table != "trials" || options.format != "csv"))
    throw Error(ExitCode::bad_experiment, "--json is the whole report; --table and --format are for tables",
                "leave one of them out; --format jsonl is JSON, a line a row");
  refuse_the_result_itself(options.output, "--output", options.file);
  if (options.format == "parquet" && options.output.empty())
    throw Error(ExitCode::bad_experiment, "Parquet is no text: it does not go to the terminal", "name a file: --output table.parquet");
  // Written beside and renamed: what was there stays until the table is whole.
  const std::string unfinished = options.output + ".new";
  std::ofstream file;
  if (!options.output.empty()) {
    file.open(unfinished, std::ios::binary | std::ios::trunc);
    if (!file) throw Error(ExitCode::machine_refuses, fmt::format("{} cannot be written", options.output));
  }
  // Of a table that fails nothing is left.
  struct Remove {
    std::string path;
    ~Remove() {
      std::error_code ignored;
      if (!path.empty()) std::filesystem::remove(path, ignored);
    }
  } leftover{options.output.empty() ? "" : unfinished};
  std::ostream& out = options.output.empty() ? std::cout : file;
  if (options.json) {
    const auto trials = store.trials();
    out << json_report(store, summary_of(store), trials);
  } else {
    const char* path = std::getenv("PATH");
    const auto writer = options.format == "jsonl"     ? json_lines_writer(out)
                        : options.format == "parquet" ? parquet_writer(unfinished, path != nullptr ? path : "/usr/bin:/bin")
                                                      : csv_writer(out);
    if (options.table == "readings")
      write_readings_table(store, *writer);
    else
      write_trials_table(store, *writer);
  }
  out.flush();
  if (!out)
    throw Error(ExitCode::machine_refuses, "the table could not be written to its end", "is the disk full?");
  if (!options.output.empty()) std::filesystem::rename(unfinished, options.output);
  return static_cast<int>(ExitCode::done);
}

int restore_command(const Options& options) {
  const Sysfs sysfs(options.sysfs_root);
  SystemClock clock;
  // Taking the lock puts back what a journal holds; see KnobGuard.
  KnobGuard guard(options.state_folder.empty() ? default_state_folder() : options.state_folder, sysfs,
                  "restore", clock, options.discard);
  const auto& outcome = guard.found_journal();
  if (options.json) {
    Json json{{"notes", outcome ? outcome->notes : std::vector<std::string>{}},
              {"journal", outcome.has_value()},
              {"restored", outcome ? outcome->restored : 0},
              {"unchanged", outcome ? outcome->unchanged : 0}};
    write_stdout(fmt::format("{}\n", json.dump(2)));
  } else if (!outcome) {
    write_stdout(fmt::format("there is nothing to restore: no sweep left a journal\n"));
  } else {
    write_stdout(
        fmt::format("{} settings put back, {} were as before\n", outcome->restored, outcome->unchanged));
    for (const std::string& note : outcome->notes) write_stdout(fmt::format("note: {}\n", note));
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace dvfs_plan
