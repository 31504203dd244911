// Compiled twice: with SQLITE_CORE into the program, without it into the extension, whose calls go through
// the table that its host hands over (sqlite3ext.h).
#include "results/store/unpack_readings.hpp"

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "results/store/trace_codec.hpp"

namespace dvfs_plan {
namespace {

// Visible columns, then the arguments as hidden ones.
enum Column { time_ns, value, absence, first_argument };
constexpr int arguments = 8;

struct Cursor {
  sqlite3_vtab_cursor base;
  std::vector<std::int64_t> times;
  std::vector<double> values;
  std::vector<ReadingStatus> absences;
  std::size_t row = 0;
};

int connect(sqlite3* database, void*, int, const char* const*, sqlite3_vtab** table, char**) {
  const int code = sqlite3_declare_vtab(
      database,
      "CREATE TABLE x(time_ns INTEGER, value REAL, absence TEXT, readings HIDDEN, "
      "first_ns HIDDEN, period_ns HIDDEN, times HIDDEN, factor HIDDEN, divisor HIDDEN, packed "
      "HIDDEN, absences HIDDEN)");
  if (code != SQLITE_OK) return code;
  *table = new (std::nothrow) sqlite3_vtab{};
  if (*table == nullptr) return SQLITE_NOMEM;
  sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
  delete table;
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  int found[arguments] = {};
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    const int argument = constraint.iColumn - first_argument;
    if (argument < 0 || argument >= arguments || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
    if (!constraint.usable) return SQLITE_CONSTRAINT;  // another order of the join hands the arguments over
    found[argument] = i + 1;
  }
  for (int a = 0; a < arguments; ++a) {
    if (found[a] == 0) return SQLITE_CONSTRAINT;
    info->aConstraintUsage[found[a] - 1].argvIndex = a + 1;
    info->aConstraintUsage[found[a] - 1].omit = 1;
  }
  info->estimatedCost = 10000;
  info->estimatedRows = 10000;
  return SQLITE_OK;
}

int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  auto* mine = new (std::nothrow) Cursor{};
  if (mine == nullptr) return SQLITE_NOMEM;
  *cursor = &mine->base;
  return SQLITE_OK;
}

Cursor& of(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Cursor*>(cursor);
}

int close(sqlite3_vtab_cursor* cursor) {
  delete &of(cursor);
  return SQLITE_OK;
}

std::string_view blob(sqlite3_value* value) {
  const void* bytes = sqlite3_value_blob(value);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value** arg) {
  Cursor& mine = of(cursor);
  mine.row = 0;
  try {
    mine.times = unpack_times(sqlite3_value_int64(arg[0]), sqlite3_value_int64(arg[1]),
                              sqlite3_value_int64(arg[2]), blob(arg[3]));
    mine.values =
        unpack_values(mine.times.size(),
                      sqlite3_value_type(arg[5]) == SQLITE_NULL
                          ? std::nullopt
                          : std::optional(Scale{sqlite3_value_double(arg[4]), sqlite3_value_double(arg[5])}),
                      blob(arg[6]));
    mine.absences = unpack_absences(mine.times.size(), blob(arg[7]));
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    sqlite3_free(cursor->pVtab->zErrMsg);
    cursor->pVtab->zErrMsg = sqlite3_mprintf("unpack_readings: %s", error.what());
    return SQLITE_ERROR;
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  ++of(cursor).row;
  return SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* cursor) {
  return of(cursor).row >= of(cursor).times.size() ? 1 : 0;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int number) {
  const Cursor& mine = of(cursor);
  const ReadingStatus status = mine.absences.empty() ? ReadingStatus::ok : mine.absences[mine.row];
  if (number == time_ns) sqlite3_result_int64(context, mine.times[mine.row]);
  if (number == value && status == ReadingStatus::ok) sqlite3_result_double(context, mine.values[mine.row]);
  if (number == absence && status != ReadingStatus::ok) {
    const std::string_view text = to_string(status);
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(of(cursor).row);
  return SQLITE_OK;
}

const sqlite3_module unpack_readings_module = [] {
  sqlite3_module module{};
  module.xConnect = connect;  // without xCreate: there for every query, and nobody can create one
  module.xBestIndex = best_index;
  module.xDisconnect = disconnect;
  module.xOpen = open;
  module.xClose = close;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = at_end;
  module.xColumn = column;
  module.xRowid = row_id;
  return module;
}();

}  // namespace

int register_unpack_readings(sqlite3* database) {
  return sqlite3_create_module_v2(database, "unpack_readings", &unpack_readings_module, nullptr, nullptr);
}

}  // namespace dvfs_plan

#ifndef SQLITE_CORE
// What `.load dvfs_plan_readings` and load_extension() look for.
extern "C" __attribute__((visibility("default"))) int sqlite3_extension_init(
    sqlite3* database, char**, const sqlite3_api_routines* api) {
  SQLITE_EXTENSION_INIT2(api);
  return dvfs_plan::register_unpack_readings(database);
}
#endif
