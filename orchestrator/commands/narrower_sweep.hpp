// What a sweep asks that goes on from a setting that was found: its axes, its rules of exclusion, its question; as blocks of an
// experiment file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_tree.hpp"
#include "results/report/chosen_answer.hpp"

namespace dvfs_plan {

// The values that an axis gets: from the neighbour below to the neighbour above; a knob's finer, a parameter's as they were run;
// and the reference's. What `rules` leave out between them is among them: the rule would name no value of the axis else, and what the
// machine offers next to another could be just that. `axis` is one of the answer's.
struct NarrowAxis {
  std::vector<std::string> values;
  bool nearest = false;  // between those of the sweep: what the machine offers next to each
};
NarrowAxis narrowed(const std::string& axis, const ChosenAnswer& answer,
                    const std::vector<ExcludeRule>& rules);

// "[1, 2]" or "{values: [1 GHz, 1.25 GHz], nearest: true}".
std::string yaml_text(const NarrowAxis& axis);

// The rules of exclusion that say something of these axes still, each a line "- {set.f: 20, set.g: slow}"; nullopt: all do, as they
// are written.
std::optional<std::string> narrowed_rules(const std::vector<ExcludeRule>& rules,
                                          const std::map<std::string, NarrowAxis>& axes,
                                          const ChosenAnswer& answer);

// The reference that the answer is against, "{set.f: 80, set.g: slow}"; nullopt: what is `written` names it, or there is none. Which one
// is taken by default may not be the one that was: a sweep that grew keeps its first.
std::optional<std::string> narrowed_reference(const std::vector<ExcludeRule::Condition>& written,
                                              const std::map<std::string, NarrowAxis>& axes,
                                              const ChosenAnswer& answer);

// An `objective` (nullptr: none was written) that asks for the least energy within `slowdown`, a share; what counts the work and its
// other limits stay.
YamlNode within_slowdown(const YamlNode* objective, double slowdown);

// `workloads`, of which one is asked that where it has a question of its own; nullopt: it has none.
std::optional<YamlNode> within_slowdown(const YamlNode& workloads, const std::string& workload,
                                        double slowdown);

}  // namespace dvfs_plan
