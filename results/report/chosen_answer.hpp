// One setting out of a result, for those who put it to use.
#pragma once

#include <optional>
#include <string>

#include "results/report/summary.hpp"

namespace dvfs_plan {

struct AnswerWish {
  std::string of;  // a workload's name, or a scenario as the report names it; empty: the only one there is
  std::optional<double>
      slowdown;  // the least energy within it (a share), in place of what the objective says
};

// Both are the summary's.
struct ChosenAnswer {
  const ScenarioSummary& scenario;
  const PointSummary& point;
};

// Throws Error where there is none, or more than one, and says what there is.
ChosenAnswer choose_answer(const Summary& summary, const AnswerWish& wish);

// "sort: cpu.frequency = 1.8 GHz. Against the reference (...): 12.3 % less energy (95 % interval ...), 3.1 % slower (...)."
std::string answer_text(const ChosenAnswer& answer);

// Why the answer is to be taken with care, in sentences; empty: nothing speaks against it.
std::vector<std::string> answer_doubts(const Summary& summary, const ChosenAnswer& answer,
                                       const AnswerWish& wish);

}  // namespace dvfs_plan
