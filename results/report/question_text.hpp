// What an answer is the answer to, in words: kept beside what a recheck found, which is of that question and of no other.
#pragma once

#include <string>

#include "results/report/summary.hpp"

namespace dvfs_plan {

// "the least energy per images with slowdown <= 5 %, against w cpu.frequency=3 GHz". The same text is the same question.
std::string question_text(const ScenarioSummary& scenario);
// "slowdown <= 5 %, power <= 90 W"; empty: none.
std::string limits_text(const ObjectiveSpec& objective);
// "1e-07 EUR a joule and 0.001 EUR a second"; empty: none.
std::string price_text(const ObjectiveSpec& objective);

}  // namespace dvfs_plan
