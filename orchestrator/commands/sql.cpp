// dvfs-plan sql RESULT 'select ...': one query on a result file, with the function behind `readings` built
// in. Opened to be read only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "results/export/table.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/text_table.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct SqlOptions : CommonOptions {
  std::string query;
  bool csv = false;
};

using Json = nlohmann::ordered_json;

// Rows are looked at for the widths of columns; those after them are printed as they come.
constexpr std::size_t rows_for_widths = 2000;

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string cell(const Statement& s, int column) {
  switch (s.type(column)) {
    case Statement::Type::null:
      return {};
    case Statement::Type::integer:
      return std::to_string(s.integer(column));
    case Statement::Type::real:
      return fmt::format("{}", s.real(column));
    case Statement::Type::text:
      return s.text(column);
    case Statement::Type::blob:
      break;
  }
  return "x'" + hexadecimal(s.text(column)) + "'";
}

Json json_cell(const Statement& s, int column) {
  switch (s.type(column)) {
    case Statement::Type::null:
      return nullptr;
    case Statement::Type::integer:
      return s.integer(column);
    case Statement::Type::real:
      return std::isfinite(s.real(column)) ? Json(s.real(column)) : Json(nullptr);
    default:
      return s.type(column) == Statement::Type::text ? Json(s.text(column))
                                                     : Json(hexadecimal(s.text(column)));
  }
}

// Keys of an object: of two columns of one name the second would hide the first.
std::vector<std::string> distinct_names(const Statement& s) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (int c = 0; c < s.columns(); ++c) {
    const int times = ++seen[s.name(c)];
    names.push_back(times == 1 ? s.name(c) : fmt::format("{} ({})", s.name(c), times));
  }
  return names;
}

void print_json(Statement& s) {
  const auto names = distinct_names(s);
  bool first = true;
  while (s.step()) {
    Json row = Json::object();
    for (int c = 0; c < s.columns(); ++c) row[names[static_cast<std::size_t>(c)]] = json_cell(s, c);
    write_answer((first ? "[" : ",\n ") + row.dump(-1, ' ', false, Json::error_handler_t::replace));
    first = false;
  }
  write_answer(first ? "[]\n" : "]\n");
}

void print_csv(Statement& s) {
  const auto print = [&](auto text_of) {
    std::string line;
    for (int c = 0; c < s.columns(); ++c) line += (c == 0 ? "" : ",") + csv_field(text_of(c));
    write_answer(line + "\r\n");
  };
  print([&](int c) { return s.name(c); });
  while (s.step()) print([&](int c) { return cell(s, c); });
}

void print_table(Statement& s, bool colour) {
  const auto row_of = [&](auto text_of) {
    std::vector<std::string> cells;
    for (int c = 0; c < s.columns(); ++c) cells.push_back(printable(text_of(c)));
    return cells;
  };
  const auto head = row_of([&](int c) { return s.name(c); });
  std::size_t rows = 0;
  for (bool more = true; more;) {
    TextTable table;
    if (rows == 0) table.row(head, true);
    std::size_t in_table = 0;
    while (in_table < rows_for_widths && (more = s.step())) {
      table.row(row_of([&](int c) { return s.is_null(c) ? std::string("—") : cell(s, c); }));
      ++in_table;
    }
    write_answer(table.text(colour));
    rows += in_table;
  }
}

std::string view_names(Store& store) {
  std::vector<std::string> names;
  Statement s = store.database().prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name");
  while (s.step()) names.push_back(s.text(0));
  return join(names, ", ");
}

int sql_command(const SqlOptions& options) {
  Store store = Store::open(options.file, Database::Mode::read_only);
  // A night that is under way, was killed in a block, or is of an earlier version: concluded here, in a copy.
  if (!store.is_concluded()) {
    store.go_on_in_private_copy();
    conclude(store);
  }
  if (const std::string damaged = store.damaged_text(); !damaged.empty())
    write_stderr(fmt::format("warning: {}\n", damaged));
  // Rows of all trials at once, which no trial's own look protects.
  const bool asks_readings = options.query.find("reading") != std::string::npos;
  if (const std::string damaged = asks_readings ? store.damaged_readings_text() : ""; !damaged.empty())
    write_stderr(fmt::format("warning: {}\n", damaged));
  store.database().protect();
  try {
    Statement s = store.database().prepare(options.query);
    if (options.json)
      print_json(s);
    else if (options.csv)
      print_csv(s);
    else
      print_table(s, uses_colour());
  } catch (const StoreBusy&) {
    throw;
  } catch (const StoreDamaged&) {
    throw;
  } catch (const Error& error) {
    throw Error(ExitCode::bad_experiment, error.what(),
                "the views are " + view_names(store) + "; their columns: results/SCHEMA.md");
  }
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> sql(
    {.name = "sql",
     .place = 70,
     .what = "one query on a result file; `readings` are rows there",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<SqlOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_option("QUERY", options->query,
                      "select ... from trials, points, settings, readings, ...; see results/SCHEMA.md")
           ->required();
       app.add_flag("--csv", options->csv, "print CSV instead of a table");
       return declared(app, options, sql_command);
     }});

}  // namespace
}  // namespace dvfs_plan
