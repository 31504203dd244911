// Prepared once: a trial's rows are written between two trials of a measurement. Private to the store.
#pragma once

#include "results/store/digest.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

struct Store::TrialStatements {
  explicit TrialStatements(Database& db);
  TrialSeals seals;
  Statement trial, setting, power_limit, times, values, energy, metric, instance, region, event, next;
};

}  // namespace dvfs_plan
