// dvfs-plan report, export, restore: commands about what has been run.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/replace_file.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/draw_figures.hpp"
#include "orchestrator/commands/options.hpp"
#include "orchestrator/commands/recompute.hpp"
#include "orchestrator/guard/knob_guard.hpp"
#include "results/export/table.hpp"
#include "results/page/html_report.hpp"
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
  store.hold_snapshot();
  if (options.recompute) {
    const Recomputed recomputed = recompute(store);
    write_answer(options.json ? json_recomputed(recomputed) : recomputed_text(recomputed));
    return static_cast<int>(ExitCode::done);
  }
  const auto trials = store.trials();
  const Summary summary = summary_of(store);
  const bool to_files = !options.html.empty() || !options.svg.empty() || !options.png.empty();
  if (!options.html.empty()) {
    refuse_the_result_itself(options.html, "--html", options.file);
    for (const std::string& why : write_html_report(store, summary, trials, options.html))
      write_stderr(fmt::format("warning: {}\n", printable(why)));
    write_stderr(fmt::format("the page is {}\n", options.html));
  }
  for (const auto& [prefix, format] :
       {std::pair{options.svg, FigureFormat::svg}, {options.png, FigureFormat::png}}) {
    if (prefix.empty()) continue;
    for (const std::string& file : draw_figures(summary, prefix, format))
      write_stderr(fmt::format("drew {}\n", file));
  }
  if (to_files && !options.json) return static_cast<int>(ExitCode::done);
  write_answer(fmt::format("{}", options.json ? json_report(store, summary, trials)
                                              : terminal_report(summary, trials, is_terminal_stdout())));
  return static_cast<int>(ExitCode::done);
}

namespace {

// How many trials' readings could not be read.
int export_table(Store& store, const Options& options, std::ostream& out) {
  store.hold_snapshot();
  const char* path = std::getenv("PATH");
  const auto writer = options.format == "jsonl" ? json_lines_writer(out)
                      : options.format == "parquet"
                          ? parquet_writer(out, path != nullptr ? path : "/usr/bin:/bin")
                          : csv_writer(out);
  if (options.table != "readings") {
    write_trials_table(store, *writer);
    return 0;
  }
  const auto left_out = write_readings_table(store, *writer);
  for (const std::string& why : left_out) write_stderr(fmt::format("warning: {}\n", printable(why)));
  return static_cast<int>(left_out.size());
}

}  // namespace

int export_command(const Options& options) {
  Store store = Store::open(options.file, Database::Mode::read_only);
  if (options.json && (options.table != "trials" || options.format != "csv"))
    throw Error(ExitCode::bad_experiment, "--json is the whole report; --table and --format are for tables",
                "leave one of them out; --format jsonl is JSON, a line a row");
  refuse_the_result_itself(options.output, "--output", options.file);
  if (options.format == "parquet" && options.output.empty())
    throw Error(ExitCode::bad_experiment, "Parquet is no text: it does not go to the terminal",
                "name a file: --output table.parquet");
  std::optional<FileReplacement> file;
  if (!options.output.empty()) file.emplace(options.output);
  std::ostream& out = file ? file->out() : std::cout;
  int left_out = 0;
  if (options.json) {
    store.hold_snapshot();
    const auto trials = store.trials();
    out << json_report(store, summary_of(store), trials);
  } else {
    left_out = export_table(store, options, out);
  }
  out.flush();
  if (!out && errno != EPIPE)
    throw Error(ExitCode::machine_refuses, "the table could not be written to its end", "is the disk full?");
  if (file) file->commit();
  return static_cast<int>(left_out == 0 ? ExitCode::done : ExitCode::some_trials_failed);
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
