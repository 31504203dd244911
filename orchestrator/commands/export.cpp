// dvfs-plan export: a result as tables for other tools.
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/replace_file.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "results/export/table.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct ExportOptions : CommonOptions {
  std::string table = "trials";
  std::string asked;   // as it was asked for; empty: it was not
  std::string output;  // empty: stdout
  // "csv", "jsonl" or "parquet".
  std::string format() const {
    if (!asked.empty()) return asked;
    return output.ends_with(".jsonl") ? "jsonl" : output.ends_with(".parquet") ? "parquet" : "csv";
  }
};

// How many trials' readings could not be read.
int export_table(Store& store, const ExportOptions& options, std::ostream& out) {
  store.hold_snapshot();
  const char* path = std::getenv("PATH");
  const auto writer = options.format() == "jsonl" ? json_lines_writer(out)
                      : options.format() == "parquet"
                          ? parquet_writer(out, path != nullptr ? path : "/usr/bin:/bin")
                          : csv_writer(out);
  if (const std::string damaged = store.damaged_text(); !damaged.empty())
    write_stderr(fmt::format("warning: {}\n", damaged));
  if (options.table != "readings") {
    write_trials_table(store, *writer);
    return 0;
  }
  const auto left_out = write_readings_table(store, *writer);
  for (const std::string& why : left_out) write_stderr(fmt::format("warning: {}\n", printable(why)));
  return static_cast<int>(left_out.size());
}

int export_command(const ExportOptions& options) {
  Store store = Store::open(options.file, Database::Mode::read_only);
  if (options.json && (options.table != "trials" || !options.asked.empty()))
    throw Error(ExitCode::bad_experiment, "--json is the whole report; --table and --format are for tables",
                "leave one of them out; --format jsonl is JSON, a line a row");
  refuse_the_result_itself(options.output, "--output", options.file);
  refuse_a_result_or_an_experiment(options.output, "--output");
  refuse_what_is_no_table(options.output, "--output");
  if (options.format() == "parquet" && options.output.empty())
    throw Error(ExitCode::bad_experiment, "Parquet is written to a file: its end says where its columns are",
                "name a file: --output table.parquet");
  std::optional<FileReplacement> file;
  if (!options.output.empty()) file.emplace(options.output);
  std::ostream& out = file ? file->out() : std::cout;
  int left_out = 0;
  if (options.json) {
    store.hold_snapshot();
    const auto trials = store.trials();
    out << json_report(store, summary_of(store, trials), trials);
  } else {
    left_out = export_table(store, options, out);
  }
  out.flush();
  if (!out && errno != EPIPE)
    throw Error(ExitCode::machine_refuses, "the table could not be written to its end", "is the disk full?");
  if (file) file->commit();
  return static_cast<int>(left_out == 0 ? ExitCode::done : ExitCode::some_trials_failed);
}

const Registered<CommandKind> export_table_of_result(
    {.name = "export",
     .place = 60,
     .what = "a table as CSV, JSON Lines or Parquet (or the report as JSON)",
     .examples = "dvfs-plan export night.sqlite --format csv -o trials.csv\n"
                 "dvfs-plan export night.sqlite --format parquet --table readings -o readings.parquet",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<ExportOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_option("--table", options->table, "one row a trial, or one row a reading")
           ->check(CLI::IsMember({"trials", "readings"}));
       app.add_option(
              "--format", options->asked,
              "csv, jsonl (JSON Lines), or parquet (needs node); default: as the file's name ends, else csv")
           ->check(CLI::IsMember({"csv", "jsonl", "parquet"}));
       app.add_option("-o,--output", options->output, "the file to write (default: stdout)");
       return declared(app, options, export_command);
     }});

}  // namespace
}  // namespace dvfs_plan
