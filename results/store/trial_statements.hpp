// Prepared once: a trial's rows are written between two trials of a measurement. Private to the store.
#pragma once

#include "results/store/packed_readings.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {

struct Store::TrialStatements {
  explicit TrialStatements(Database& db);
  PackedReadings readings;
  Statement trial, setting, energy, metric, region, event, next;
};

}  // namespace dvfs_plan
