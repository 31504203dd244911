// What earlier trials of a result tell a session that goes on with it: a trial must not be judged otherwise for having been run after a restart.
#pragma once

#include <map>
#include <set>
#include <string>

#include "experiments/plan/plan.hpp"
#include "results/store/store.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {

struct ToldInEarlierTrials {
  std::set<std::string> marked;  // scenarios of which a trial marked regions in it
  // By workload (an index into Plan::workloads), of metrics that decide: the unit, and the first trial that told it.
  std::map<int, std::map<std::string, JudgeInput::ToldBefore>> units;
};

ToldInEarlierTrials told_in_earlier_trials(Store& store, const Plan& plan);

}  // namespace dvfs_plan
