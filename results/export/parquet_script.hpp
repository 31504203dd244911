// What results/page/web/parquet is built into, put into the program at build time: run by node.
#pragma once

namespace dvfs_plan {
extern const char* const parquet_script;
}  // namespace dvfs_plan
