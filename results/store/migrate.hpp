// Result files of earlier versions brought up to this one. Tables and columns are added, readings are packed
// (each is unpacked again and compared before the rows go), the views are made anew; all in one transaction.
#pragma once

#include "results/store/sqlite.hpp"

namespace dvfs_plan {

inline constexpr int oldest_schema_version = 2;
// What this program makes: one more than the last that it has a migration from.
int newest_schema_version();

// `from`: the version it has now, from oldest_schema_version on.
void migrate(Database& database, int from, int to);

// All of `database` in a private one that SQLite removes when it is closed.
Database private_copy(Database& database);

}  // namespace dvfs_plan
