// Raw readings into the file and out of it, packed a channel and trial.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "results/store/digest.hpp"
#include "results/store/store.hpp"
#include "results/store/trial_statements.hpp"

namespace dvfs_plan {
namespace {

// By channel, in time order; of two readings of one channel at one time the first stays.
std::map<std::uint32_t, Trace> traces_of(const std::vector<Reading>& readings) {
  std::vector<const Reading*> in_order;
  in_order.reserve(readings.size());
  for (const Reading& reading : readings) in_order.push_back(&reading);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const Reading* a, const Reading* b) { return a->time < b->time; });
  std::map<std::uint32_t, Trace> traces;
  for (const Reading* reading : in_order) {
    Trace& trace = traces[reading->channel];
    if (!trace.times_ns.empty() && trace.times_ns.back() == reading->time) continue;
    trace.times_ns.push_back(reading->time);
    trace.values.push_back(reading->value.value_or(0));
    const ReadingStatus status = reading->value                         ? ReadingStatus::ok
                                 : reading->status == ReadingStatus::ok ? ReadingStatus::absent
                                                                        : reading->status;
    if (status != ReadingStatus::ok && trace.absences.empty())
      trace.absences.assign(trace.times_ns.size() - 1, ReadingStatus::ok);
    if (status != ReadingStatus::ok || !trace.absences.empty()) trace.absences.push_back(status);
  }
  return traces;
}

}  // namespace

void Store::write_readings(std::int64_t trial, const std::vector<Reading>& readings) {
  // Channels of one probe are read together: their time stamps are kept once.
  std::map<std::vector<std::int64_t>, std::int64_t> known_times;
  for (const auto& [channel, trace] : traces_of(readings)) {
    const auto [times, is_new] = known_times.try_emplace(trace.times_ns, 0);
    if (is_new) {
      const PackedTimes packed = pack_times(trace.times_ns);
      statements_->times.bind(trial)
          .bind(packed.readings)
          .bind(packed.first_ns)
          .bind(packed.period_ns)
          .bind_blob(packed.packed)
          .run();
      times->second = database_.last_row();
    }
    const PackedValues packed = pack_values(trace);
    Statement& values = statements_->values;
    values.bind(trial)
        .bind(channel_ids_.at(channel))
        .bind(times->second)
        .bind(packed.scale ? std::optional(packed.scale->factor) : std::nullopt)
        .bind(packed.scale ? std::optional(packed.scale->divisor) : std::nullopt)
        .bind_blob(packed.packed);
    if (packed.absences.empty())
      values.bind_null();
    else
      values.bind_blob(packed.absences);
    values.run();
  }
}

std::vector<ChannelTrace> Store::traces(std::int64_t trial) {
  if (!read_traces_) {
    read_traces_ = std::make_shared<Statement>(database_.prepare(
        "SELECT c.place, t.readings, t.first_ns, t.period_ns, t.packed, v.factor, v.divisor, "
        "v.packed, v.absences, t.id, c.name "
        "FROM reading_values v JOIN reading_times t ON t.id = v.times_id "
        "JOIN (SELECT id, name, row_number() OVER (ORDER BY id) - 1 AS place FROM channel) c ON "
        "c.id = v.channel_id "
        "WHERE v.trial_id = ? ORDER BY v.channel_id"));
  }
  if (!readings_are_whole(database_, trial))
    throw DamagedReadings(
        ExitCode::machine_refuses,
        fmt::format(
            "result file: trial {}: its readings are not those that were written: their checksum differs",
            trial),
        "the other trials are whole; copy the file again from where it was made, if there is another");
  Statement& s = *read_traces_;
  s.reset();
  s.bind(trial);
  std::vector<ChannelTrace> traces;
  std::map<std::int64_t, std::vector<std::int64_t>> known_times;
  while (s.step()) {
    try {
      const auto [times, is_new] = known_times.try_emplace(s.integer(9));
      if (is_new) times->second = unpack_times(s.integer(1), s.integer(2), s.integer(3), s.text(4));
      ChannelTrace one{static_cast<std::uint32_t>(s.integer(0)), {times->second, {}, {}}};
      const std::size_t n = times->second.size();
      one.trace.values = unpack_values(
          n, s.is_null(6) ? std::nullopt : std::optional(Scale{s.real(5), s.real(6)}), s.text(7));
      one.trace.absences = unpack_absences(n, s.text(8));
      traces.push_back(std::move(one));
    } catch (const std::runtime_error& error) {
      const std::string message =
          fmt::format("result file: trial {}, channel {}: {}", trial, s.text(10), error.what());
      s.reset();
      throw DamagedReadings(
          ExitCode::machine_refuses, message,
          "the other trials are whole; copy the file again from where it was made, if there is another");
    }
  }
  s.reset();
  return traces;
}

}  // namespace dvfs_plan
