// What the page can be asked instead: other objectives, other references. Each is concluded here, by what `report --objective` and
// `--reference` do, so that the page only chooses.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "results/report/summary.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// A list of {scenario, objective, reference, sentence, changes, points}: of that scenario's JSON (`base`: as it is in the page) what
// differs, and of its points in their order what differs. Empty where every further question would take long (a search's model, more
// than some dozens of settings); `dvfs-plan report` answers those.
nlohmann::ordered_json other_questions(Store& store, const Summary& summary,
                                       const std::vector<TrialRow>& trials);

}  // namespace dvfs_plan
