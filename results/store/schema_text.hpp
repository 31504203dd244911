// The SQL of results/store as text, put into the program at build time.
#pragma once

namespace dvfs_plan {
// As they are written; complete by schema_sql() and views_sql() (trial_columns.hpp).
extern const char* const schema_text;
extern const char* const views_text;
// migrations/from_*.sql one after another, each behind a line "-- FROM N": what makes version N + 1
// of version N.
extern const char* const migrations_text;
}  // namespace dvfs_plan
