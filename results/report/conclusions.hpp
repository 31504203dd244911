// From the summary to what the file keeps of it.
#pragma once

#include "results/report/summary.hpp"
#include "results/store/conclusions.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

Conclusions conclusions_of(const Summary& summary);

// Summarises all that is in the file and writes it there. A file of 10 000 trials takes a second.
void conclude(Store& store);
// For who only reads: where the file does not know of all its trials (a night under way, killed in a block, or of an earlier version), or some
// are not as written, in a private copy. What is not (Store::damaged_text), to be told.
std::string conclude_for_reading(Store& store);

}  // namespace dvfs_plan
