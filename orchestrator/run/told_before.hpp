// What earlier trials of a result tell a session that goes on with it: a trial must not be judged otherwise for having been run after a restart.
#pragma once

#include <map>
#include <set>
#include <string>

#include "experiments/plan/plan.hpp"
#include "results/store/store.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

// Of one of different workloads that run at once: metrics that decide, "" for marks of what counts. By name, the first trial that told it,
// and those that count and did not, while none has.
struct ToldByMember {
  std::map<std::string, std::string> told;
  std::map<std::string, std::vector<std::string>> silent;
};

struct ToldInEarlierTrials {
  std::set<std::string> marked;  // scenarios of which a trial marked regions in it
  // By workload (an index into Plan::workloads), of metrics that decide: the unit, and the first trial that told it.
  std::map<int, std::map<std::string, JudgeInput::ToldBefore>> units;
  std::map<std::pair<std::string, std::string>, ToldByMember> members;  // by scenario and workload
};

// What may be told by one of different workloads that run at once: metrics that decide of all of them, and what counts its own work.
std::set<std::string> names_of_member(const Plan& plan, const PlanPoint& point, const std::string& member);
// What each of different workloads that ran at once (empty: there are none) told and, as "", whether it marked.
std::map<std::string, std::set<std::string>> told_by_members(const TrialRecord& trial);
ToldInEarlierTrials told_in_earlier_trials(Store& store, const Plan& plan);

}  // namespace dvfs_plan
