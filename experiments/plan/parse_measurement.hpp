// The parts of an experiment file that say what is minimised, how often and under which conditions.
#pragma once

#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_reader.hpp"

namespace dvfs_plan {

// What one workload is asked for instead of what all are: it begins as theirs.
void parse_objective_of_workload(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective);
void parse_constraints(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective);
void parse_objective_spec(const YamlNode& node, YamlReader& read, ObjectiveSpec& objective);
void parse_repeat(const YamlNode& node, YamlReader& read, RepeatSpec& repeat);
void parse_budget(const YamlNode& node, YamlReader& read, BudgetSpec& budget);
void parse_search(const YamlNode& node, const std::vector<Vocabulary::Search>& known, YamlReader& read,
                  SearchSpec& search);
void parse_measure(const YamlNode& node, YamlReader& read, MeasureSpec& measure);
void parse_conditions(const YamlNode& node, YamlReader& read, ConditionsSpec& conditions);

// A length of time from 0 s to 720 h.
std::optional<Seconds> parse_seconds(const YamlNode& node, YamlReader& read, std::string_view what);

}  // namespace dvfs_plan
