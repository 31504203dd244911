// results/store/schema.sql as text, put into the program at build time.
#pragma once

namespace dvfs_plan {
extern const char* const schema_text;
}  // namespace dvfs_plan
