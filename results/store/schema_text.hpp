// The SQL of results/store as text, put into the program at build time.
#pragma once

namespace dvfs_plan {
extern const char* const schema_text;
extern const char* const views_text;
extern const char* const migration_from_2_text;
extern const char* const migration_from_3_text;
extern const char* const migration_from_4_text;
extern const char* const migration_from_5_text;
extern const char* const migration_from_6_text;
extern const char* const migration_from_7_text;
extern const char* const migration_from_8_text;
extern const char* const migration_from_9_text;
extern const char* const migration_from_10_text;
}  // namespace dvfs_plan
