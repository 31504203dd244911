#include "results/store/packed_readings.hpp"

namespace dvfs_plan {

PackedReadings::PackedReadings(Database& database)
    : database_(database),
      times_(database.prepare("INSERT INTO reading_times (trial_id, readings, first_ns, period_ns, packed) "
                              "VALUES (?,?,?,?,?)")),
      values_(database.prepare("INSERT INTO reading_values (trial_id, channel_id, times_id, factor, divisor, packed, "
                               "absences) VALUES (?,?,?,?,?,?,?)")) {}

void PackedReadings::begin(std::int64_t trial) {
  trial_ = trial;
  known_times_.clear();
}

PackedReadings::Written PackedReadings::write(std::int64_t channel, const Trace& trace) {
  Written written{std::nullopt, pack_values(trace)};
  const auto [known, is_new] = known_times_.try_emplace(trace.times_ns, 0);
  if (is_new) {
    const PackedTimes& times = written.times.emplace(pack_times(trace.times_ns));
    times_.bind(trial_)
        .bind(times.readings)
        .bind(times.first_ns)
        .bind(times.period_ns)
        .bind_blob(times.packed)
        .run();
    known->second = database_.last_row();
  }
  const PackedValues& values = written.values;
  values_.bind(trial_)
      .bind(channel)
      .bind(known->second)
      .bind(values.scale ? std::optional(values.scale->factor) : std::nullopt)
      .bind(values.scale ? std::optional(values.scale->divisor) : std::nullopt)
      .bind_blob(values.packed);
  if (values.absences.empty())
    values_.bind_null().run();
  else
    values_.bind_blob(values.absences).run();
  return written;
}

}  // namespace dvfs_plan
