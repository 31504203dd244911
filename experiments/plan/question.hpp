// What is asked of trials that are there, other than their experiment asked it: `report --objective edp --reference
// 'cpu.frequency=2.2 GHz' --subject-to 'slowdown<=3%'`. Trials are facts; what is minimised, compared with and demanded is not.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {

struct Question {
  std::optional<ObjectiveSpec> objective;  // what is minimised, and its price; the rest is the experiment's
  std::optional<std::vector<ConstraintSpec>> constraints;  // in place of all that the experiment has
  std::vector<std::pair<std::string, std::string>>
      reference;  // axis, value: what holds at the points that are compared with
  bool any() const { return objective || constraints || !reference.empty(); }
};

// As the command line has it. `objective`: "edp", or "{minimise: cost, price: {...}}"; `subject_to`: "slowdown<=3%" each, or
// "none"; `reference`: "cpu.frequency=2.2 GHz" each. Throws Error.
Question parse_question(const std::string& objective, const std::vector<std::string>& subject_to,
                        const std::vector<std::string>& reference);

// An objective as an experiment writes it; `option` is named where it is none. Throws Error with `hint`.
ObjectiveSpec parse_objective_words(const std::string& text, const std::string& option,
                                    const std::string& hint);

}  // namespace dvfs_plan
