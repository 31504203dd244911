// Tables for other tools: RFC 4180 CSV, one row a trial or one row a reading.
#pragma once

#include <iosfwd>
#include <string>

#include "results/store/store.hpp"

namespace dvfs_plan {

void export_trials_csv(Store& store, std::ostream& out);
void export_readings_csv(Store& store, std::ostream& out);

// A field as RFC 4180 wants it. A text that a spreadsheet would run as a formula gets a leading quote mark.
std::string csv_field(std::string_view text);

}  // namespace dvfs_plan
