// dvfs-plan sql RESULT 'select ...': one query on a result file, with the function behind `readings` built
// in. Opened to be read only.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

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
  std::vector<std::string> words;  // further results, and the query last
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
std::vector<std::string> distinct_names(const Statement& s, bool several) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  if (several) seen["result"] = 1;
  for (int c = 0; c < s.columns(); ++c) {
    const int times = ++seen[s.name(c)];
    names.push_back(times == 1 ? s.name(c) : fmt::format("{} ({})", s.name(c), times));
  }
  return names;
}

// Rows of one result or of several, which then begin with whose each is.
class Rows {
 public:
  Rows(bool several, TextLook look) : several_(several), look_(look) {}

  void json(Statement& s, const std::string& result) {
    const auto names = distinct_names(s, several_);
    while (s.step()) {
      Json row = Json::object();
      if (several_) row["result"] = result;
      for (int c = 0; c < s.columns(); ++c) row[names[static_cast<std::size_t>(c)]] = json_cell(s, c);
      write_answer((any_ ? ",\n " : "[") + row.dump(-1, ' ', false, Json::error_handler_t::replace));
      any_ = true;
    }
  }
  void end_json() const { write_answer(any_ ? "]\n" : "[]\n"); }

  void csv(Statement& s, const std::string& result) {
    const auto print = [&](const std::string& first, auto text_of) {
      std::string line = several_ ? csv_field(first) : "";
      for (int c = 0; c < s.columns(); ++c) line += (c == 0 && !several_ ? "" : ",") + csv_field(text_of(c));
      write_answer(line + "\r\n");
    };
    if (!std::exchange(any_, true)) print("result", [&](int c) { return s.name(c); });
    while (s.step()) print(result, [&](int c) { return cell(s, c); });
  }

  void table(Statement& s, const std::string& result) {
    const auto row_of = [&](const std::string& first, auto text_of) {
      std::vector<std::string> cells;
      if (several_) cells.push_back(printable(first));
      for (int c = 0; c < s.columns(); ++c) cells.push_back(printable(text_of(c)));
      return cells;
    };
    for (bool more = true; more;) {
      TextTable table;
      if (!std::exchange(any_, true)) table.row(row_of("result", [&](int c) { return s.name(c); }), true);
      std::size_t in_table = 0;
      while (in_table < rows_for_widths && (more = s.step())) {
        table.row(row_of(result, [&](int c) { return s.is_null(c) ? std::string("—") : cell(s, c); }));
        ++in_table;
      }
      write_answer(table.text(look_));
    }
  }

 private:
  bool several_;
  TextLook look_;
  bool any_ = false;  // a row, or the head, was printed
};

std::string view_names(Store& store) {
  std::vector<std::string> names;
  Statement s = store.database().prepare("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name");
  while (s.step()) names.push_back(s.text(0));
  return join(names, ", ");
}

void ask(const SqlOptions& options, Store& store, const std::string& file, const std::string& query,
         Rows& rows) {
  if (const std::string damaged = conclude_for_reading(store); !damaged.empty())
    write_stderr(fmt::format("warning: {}\n", damaged));
  // Rows of all trials at once, which no trial's own look protects.
  const bool asks_readings = query.find("reading") != std::string::npos;
  if (const std::string damaged = asks_readings ? store.damaged_readings_text() : ""; !damaged.empty())
    write_stderr(fmt::format("warning: {}\n", damaged));
  store.database().protect();
  try {
    Statement s = store.database().prepare(query);
    if (s.writes())
      throw Error(ExitCode::bad_experiment, "sql reads only, and this statement writes: nothing was changed",
                  "ask with SELECT; to change a copy of the file there is sqlite3");
    if (options.json)
      rows.json(s, file);
    else if (options.csv)
      rows.csv(s, file);
    else
      rows.table(s, file);
  } catch (const AnswerNotWritten&) {
    throw;
  } catch (const StoreBusy&) {
    throw;
  } catch (const StoreDamaged&) {
    throw;
  } catch (const Error& error) {
    if (!error.hint().empty() && error.code() == ExitCode::bad_experiment) throw;
    throw Error(ExitCode::bad_experiment, error.what(),
                "the views are " + view_names(store) + "; their columns: results/SCHEMA.md");
  }
}

int sql_command(const SqlOptions& options) {
  if (options.csv && options.json)
    throw Error(ExitCode::bad_experiment, "--csv and --json are two forms of one answer",
                "ask for one of them");
  std::vector<std::string> files{options.file};
  files.insert(files.end(), options.words.begin(), options.words.end() - 1);
  const std::string& query = options.words.back();
  Rows rows(files.size() > 1, {uses_colour(), 0});
  // One that cannot be read is said before anything is printed.
  std::vector<Store> stores;
  for (const std::string& file : files) stores.push_back(Store::open(file, Database::Mode::read_only));
  for (std::size_t i = 0; i < files.size(); ++i) ask(options, stores[i], files[i], query, rows);
  if (options.json) rows.end_json();
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> sql(
    {.name = "sql",
     .place = 70,
     .what = "one query on a result file, or on several; `readings` are rows there",
     .examples =
         "dvfs-plan sql night.sqlite 'SELECT * FROM best'\n"
         "dvfs-plan sql before.sqlite after.sqlite 'SELECT point, energy_j, saving FROM points' --csv",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<SqlOptions>();
       app.add_option("RESULT", options->file, "the result file; of several the rows begin with their file")
           ->required();
       app.add_option(
              "QUERY", options->words,
              "[RESULT ...] select ... from trials, points, settings, readings, ...; see results/SCHEMA.md")
           ->required();
       app.add_flag("--csv", options->csv, "print CSV instead of a table (or --json)");
       return declared(app, options, sql_command);
     }});

}  // namespace
}  // namespace dvfs_plan
