#include "results/store/migrate.hpp"

#include <fmt/format.h>

#include <vector>

#include "results/store/packed_readings.hpp"
#include "results/store/schema_text.hpp"

namespace dvfs_plan {
namespace {

// Ours; views that analysts added stay.
void drop_views(Database& database) {
  constexpr std::string_view create = "CREATE VIEW ";
  const std::string_view text(views_text);
  for (auto at = text.find(create); at != std::string_view::npos; at = text.find(create, at + 1)) {
    const auto name =
        text.substr(at + create.size(), text.find(' ', at + create.size()) - at - create.size());
    database.execute(fmt::format("DROP VIEW IF EXISTS \"{}\"", name));
  }
}

ReadingStatus status_of(const std::string& word) {
  for (const ReadingStatus status : {ReadingStatus::absent, ReadingStatus::denied, ReadingStatus::gone}) {
    if (word == to_string(status)) return status;
  }
  return ReadingStatus::ok;
}

void check_kept(const Trace& trace, const PackedReadings::Written& written) {
  const auto same_times = [&](const PackedTimes& times) {
    return unpack_times(times.readings, times.first_ns, times.period_ns, times.packed) == trace.times_ns;
  };
  const auto same_values = [&] {
    const auto unpacked = unpack_values(trace.values.size(), written.values.scale, written.values.packed);
    for (std::size_t i = 0; i < unpacked.size(); ++i) {
      if (trace.has_value(i) && unpacked[i] != trace.values[i]) return false;
    }
    return true;
  };
  if ((written.times && !same_times(*written.times)) || !same_values() ||
      unpack_absences(trace.values.size(), written.values.absences) != trace.absences)
    throw Error(ExitCode::machine_refuses, "result file: its readings could not be packed without loss",
                "this is a fault of dvfs-plan; the file is unchanged");
}

// Rows, which come by trial, channel and time, into traces.
class Packer {
 public:
  explicit Packer(Database& database) : packed_(database) {}

  void add(std::int64_t trial, std::int64_t channel, std::int64_t time, std::optional<double> value,
           ReadingStatus status) {
    if (trial != trial_ || channel != channel_) finish();
    if (trial != trial_) packed_.begin(trial);
    trial_ = trial;
    channel_ = channel;
    trace_.add(time, value, status);
  }

  void finish() {
    if (trace_.times_ns.empty()) return;
    check_kept(trace_, packed_.write(channel_, trace_));
    trace_ = {};
  }

 private:
  PackedReadings packed_;
  std::int64_t trial_ = -1, channel_ = -1;
  Trace trace_;
};

void pack_readings(Database& database) {
  {
    Packer packer(database);
    Statement rows = database.prepare(
        "SELECT trial_id, channel_id, time_ns, value, absence FROM reading ORDER BY trial_id, channel_id, "
        "time_ns");
    while (rows.step())
      packer.add(rows.integer(0), rows.integer(1), rows.integer(2), rows.maybe_real(3),
                 rows.is_null(3) && rows.is_null(4) ? ReadingStatus::absent : status_of(rows.text(4)));
    packer.finish();
  }
  database.execute("DROP TABLE reading");
}

}  // namespace

void migrate(Database& database, int from, int to) {
  Transaction transaction(database);
  drop_views(database);
  if (from <= 2) database.execute(migration_from_2_text);
  if (from <= 3) database.execute(migration_from_3_text);
  if (from <= 4) {
    database.execute(migration_from_4_text);
    pack_readings(database);
  }
  database.execute(views_text);
  database.execute(fmt::format("PRAGMA user_version = {}", to));
  transaction.commit();
}

Database private_copy(Database& database) {
  Database copy = Database::temporary();
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle(), "main", database.handle(), "main");
  if (backup != nullptr) {
    sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
  }
  const int code = sqlite3_errcode(copy.handle());
  if (code != SQLITE_OK)
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file: its earlier version could not be copied to be read: {}",
                            sqlite3_errstr(code)),
                "is there room in /var/tmp (or SQLITE_TMPDIR)?");
  return copy;
}

}  // namespace dvfs_plan
