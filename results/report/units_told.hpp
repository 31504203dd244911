// Values that decide (what counts units of work, what a constraint is about) can only be compared in one unit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/report/summary.hpp"
#include "results/store/rows.hpp"

namespace dvfs_plan {

// A sentence for each that trials which count told in more than one unit: of several sessions or machines, as a run
// itself counts no such trial.
std::vector<std::string> told_in_several_units(const Summary& summary, const std::vector<TrialRow>& trials);

// A sentence for each bound of the objective on time, energy or power where trials told a metric of that very name: it is the
// measured one that is bounded.
std::vector<std::string> told_under_measured_names(const Summary& summary);

// In what a metric was told at the scenario's points, plain numbers and counts in "": nullopt: nowhere.
std::optional<std::string> unit_of_metric(const ScenarioSummary& scenario, const std::string& name);
// Whether its trials count units of work: by a metric, or as copies that do the same work (one "unit" then).
bool counts_units(const ScenarioSummary& scenario);
// What energy and time are per: "sample" of `samples`, "k of work" where it was told in k, "unit" without any.
std::string unit_of_work(const ScenarioSummary& scenario);
// Of what is minimised: "J", "s", "EUR"; empty where it has none of its own (edp).
std::string unit_of(const ObjectiveSpec& objective);
// Of what a rate is: "samples", "k of work".
std::string units_of_work(const ScenarioSummary& scenario);

}  // namespace dvfs_plan
