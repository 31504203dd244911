// The table-valued function behind the view `readings`: unpack_readings(readings, first_ns, period_ns, times,
// factor, divisor, packed, absences) gives rows (time_ns, value, absence). The program has it built in; any
// other SQLite loads the extension dvfs_plan_readings.so, which is this and nothing else
// (https://sqlite.org/vtab.html, sections 3 and 2.1.2).
#pragma once

#include <sqlite3.h>

namespace dvfs_plan {

// Returns SQLite's result code.
int register_unpack_readings(sqlite3* database);

}  // namespace dvfs_plan
