// On-board sensors against a meter of the whole machine, where a night has both: by how much theirs are off, and whether they would have
// named the same setting. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/reading.hpp"
#include "results/report/summary.hpp"
#include "results/store/rows.hpp"

namespace dvfs_plan {

// nullopt: energy is not a meter's, there is no other sensor, or several machines ran it.
std::optional<AgainstMeter> against_meter(const Summary& summary, const std::vector<Channel>& channels,
                                          const std::vector<ChannelEnergies>& energies,
                                          const std::vector<TrialRow>& trials);

std::vector<std::string> fit_lines(const AgainstMeter& against);
// Of a part that took more than the meter counted of the whole.
std::vector<std::string> warnings_of_meter(const AgainstMeter& against);
std::vector<std::string> meter_sentences(const AgainstMeter& against);

}  // namespace dvfs_plan
