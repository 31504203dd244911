// What results/page/web is built into, put into the program at build time.
#pragma once

namespace dvfs_plan {
extern const char* const page_script;
extern const char* const page_style;
}  // namespace dvfs_plan
