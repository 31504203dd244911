// The result file that a run writes, and whether it may go on with one that is there.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "experiments/plan/plan.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

// The result file of a plan: `output`, else `result:`, else NAME.sqlite in the current folder.
std::string result_path(const std::string& output, const Experiment& experiment);

// What lies beside a result, by its ending: "night.html" of night.sqlite, "night.db.html" of night.db, whose neighbour may be night.sqlite.
std::string beside_result(const std::string& path, std::string_view ending);

// Where a former result goes, without its ending: "NAME.2026-11-23T17-09-08.123Z".
std::string aside_stem(const std::string& path, const Clock& clock);
// Moves it there, its log being folded, and its page, or who opens that takes it for the new result's. Where the result is.
std::string move_aside(const std::string& path, const std::string& stem);

// What of the plan is other than in the result, where the trials that are there and those to come compare; where they do not, or the machine
// is another one, throws Error (exit code 2) with what changed. A reference that the file does not name stays what it was.
PlanChange change_since(Store& store, Plan& plan, const std::map<std::string, std::string>& facts,
                        const std::string& path);
// The same where what is decisive of the machines is not that they are one: `differences` between them, in words.
PlanChange change_between(Store& store, Plan& plan, const std::vector<std::string>& differences,
                          const std::string& path);
// "added: 1 GHz", one line a kind of change.
std::vector<std::string> change_lines(const PlanChange& change);
// The plan as the result goes on with it: its references, what is in which block. Its trials are then known by it.
void follow_result(Store& store, Plan& plan);

// What differs between the plan and machine of a stored result and those of now; empty if it may be resumed.
std::vector<std::string> resume_obstacles(Store& store, const Plan& plan,
                                          const std::map<std::string, std::string>& facts);
// Throws Error (exit code 2) with those differences.
void require_same_plan(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts,
                       const std::string& path);

}  // namespace dvfs_plan
