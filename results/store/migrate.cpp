#include "results/store/migrate.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "results/store/digest.hpp"
#include "results/store/schema_text.hpp"
#include "results/store/trace_codec.hpp"
#include "results/store/trial_columns.hpp"

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

void check_kept(const Trace& trace, const PackedTimes& times, const PackedValues& values) {
  const auto same_values = [&] {
    const auto unpacked = unpack_values(trace.values.size(), values.scale, values.packed);
    for (std::size_t i = 0; i < unpacked.size(); ++i) {
      if (trace.has_value(i) && unpacked[i] != trace.values[i]) return false;
    }
    return true;
  };
  if (unpack_times(times.readings, times.first_ns, times.period_ns, times.packed) != trace.times_ns ||
      !same_values() || unpack_absences(trace.values.size(), values.absences) != trace.absences)
    throw Error(ExitCode::machine_refuses, "result file: its readings could not be packed without loss",
                "this is a fault of dvfs-plan; the file is unchanged");
}

class Packer {
 public:
  explicit Packer(Database& database)
      : database_(database),
        times_(database.prepare("INSERT INTO reading_times (trial_id, readings, first_ns, period_ns, packed) "
                                "VALUES (?,?,?,?,?)")),
        values_(database.prepare(
            "INSERT INTO reading_values (trial_id, channel_id, times_id, factor, divisor, packed, "
            "absences) VALUES (?,?,?,?,?,?,?)")) {}

  // Rows come by trial, channel and time.
  void add(std::int64_t trial, std::int64_t channel, std::int64_t time, std::optional<double> value,
           ReadingStatus status) {
    if (trial != trial_) known_times_.clear();
    if (trial != trial_ || channel != channel_) finish();
    trial_ = trial;
    channel_ = channel;
    trace_.times_ns.push_back(time);
    trace_.values.push_back(value.value_or(0));
    if (status != ReadingStatus::ok && trace_.absences.empty())
      trace_.absences.assign(trace_.times_ns.size() - 1, ReadingStatus::ok);
    if (status != ReadingStatus::ok || !trace_.absences.empty()) trace_.absences.push_back(status);
  }

  void finish() {
    if (trace_.times_ns.empty()) return;
    const PackedTimes times = pack_times(trace_.times_ns);
    const PackedValues values = pack_values(trace_);
    check_kept(trace_, times, values);
    const auto [known, is_new] = known_times_.try_emplace({trial_, trace_.times_ns}, 0);
    if (is_new) {
      times_.bind(trial_)
          .bind(times.readings)
          .bind(times.first_ns)
          .bind(times.period_ns)
          .bind_blob(times.packed)
          .run();
      known->second = database_.last_row();
    }
    values_.bind(trial_)
        .bind(channel_)
        .bind(known->second)
        .bind(values.scale ? std::optional(values.scale->factor) : std::nullopt)
        .bind(values.scale ? std::optional(values.scale->divisor) : std::nullopt)
        .bind_blob(values.packed);
    if (values.absences.empty())
      values_.bind_null().run();
    else
      values_.bind_blob(values.absences).run();
    trace_ = {};
  }

 private:
  Database& database_;
  Statement times_, values_;
  std::int64_t trial_ = 0, channel_ = 0;
  Trace trace_;
  std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, std::int64_t> known_times_;
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

// Of the only copy of a workload whose copies do the same work, 1.2.5 to 1.2.7 took several runs within one trial (`at least`) for one unit.
// No other trial has units where they are of no metric, and ran no instances.
void count_runs_of_only_copies(Database& database) {
  Statement found = database.prepare(
      "SELECT t.id, coalesce(w.objective, e.objective) FROM trial t JOIN point p ON p.id = t.point_id JOIN "
      "workload w ON w.id = p.workload_id, experiment e WHERE coalesce(w.per_metric, e.per_metric, '') = '' "
      "AND t.units = 1 AND t.runs > 1 AND t.instances = 1");
  std::vector<std::pair<std::int64_t, int>> trials;  // and by which power of the units the objective is
  while (found.step()) {
    const std::string objective = found.text(1);
    trials.emplace_back(found.integer(0), objective == "edp" ? 2 : objective == "ed2p" ? 3 : 1);
  }
  if (trials.empty()) return;
  const auto damaged = damaged_trials(database);
  TrialSeals seals(database);
  for (const auto& [trial, power] : trials) {
    if (damaged.contains(trial)) continue;
    database.execute(fmt::format("UPDATE trial SET units = runs, objective = objective / {} WHERE id = {}",
                                 power == 3   ? "(1.0 * runs * runs * runs)"
                                 : power == 2 ? "(1.0 * runs * runs)"
                                              : "runs",
                                 trial));
    seals.seal_again(trial);
  }
}

constexpr int last_with_readings_as_rows = 4, last_without_checksums = 13, last_without_a_seal_of_later = 15,
              last_with_one_unit_of_several_runs = 19;

// The SQL that makes the next version of `version`.
std::string migration_from(int version) {
  const std::string_view text(migrations_text);
  const auto begin = text.find(fmt::format("-- FROM {}\n", version));
  return std::string(text.substr(begin, text.find("-- FROM ", begin + 1) - begin));
}

}  // namespace

int newest_schema_version() {
  const std::string_view text(migrations_text);
  int version = oldest_schema_version;
  while (text.find(fmt::format("-- FROM {}\n", version)) != std::string_view::npos) ++version;
  return version;
}

void migrate(Database& database, int from, int to) {
  Transaction transaction(database);
  drop_views(database);
  for (int version = from; version < to; ++version) {
    database.execute(migration_from(version));
    if (version == last_with_readings_as_rows) pack_readings(database);
    if (version == last_without_checksums) seal_all(database);
    if (version == last_without_a_seal_of_later) seal_later(database);
    if (version == last_with_one_unit_of_several_runs) count_runs_of_only_copies(database);
  }
  database.execute(views_sql());
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
