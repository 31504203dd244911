// Packed readings into the file: the one place that writes reading_times and reading_values, for trials and migrations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "results/store/sqlite.hpp"
#include "results/store/trace_codec.hpp"

namespace dvfs_plan {

class PackedReadings {
 public:
  explicit PackedReadings(Database& database);

  // Before the first channel of a trial, also of one that is written again after a rollback.
  void begin(std::int64_t trial);

  struct Written {
    std::optional<PackedTimes> times;  // nullopt: the same as an earlier channel's
    PackedValues values;
  };
  // A channel, by its row id. Channels of one probe are read together: their time stamps are kept once.
  Written write(std::int64_t channel, const Trace& trace);

 private:
  Database& database_;
  Statement times_, values_;
  std::int64_t trial_ = 0;
  std::map<std::vector<std::int64_t>, std::int64_t> known_times_;  // row ids
};

}  // namespace dvfs_plan
