#include "results/store/digest.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

constexpr const char* tables_of_rows[] = {
    "region", "trial_setting", "trial_power_limit", "channel_energy", "metric", "trial_instance", "event"};
constexpr const char* tables_of_readings[] = {"reading_times", "reading_values"};
constexpr const char* tables_of_looks[] = {"sensor_audit", "sensor_agreement"};
constexpr const char* tables_of_conclusions[] = {"answer",       "point_answer",      "point_quantity",
                                                 "point_change", "constraint_answer", "block_drift",
                                                 "search_model", "search_answer"};
constexpr const char* tables_of_plan[] = {"experiment",   "search", "constraint_rule", "workload",
                                          "axis",         "point",  "point_value",     "prior_shape",
                                          "machine_fact", "growth"};

constexpr const char* tables_of_later[] = {"session",       "block_run",  "node_fact",
                                           "node_left_out", "submission", "recheck"};

bool is_left_out(const std::string& table, const std::string& column) {
  static const std::set<std::string> of_trial{"given_up", "digest", "readings_digest"},
      of_experiment{"planned_trials"}, of_session{"current_trial", "trials_left"};
  return (table == "trial" && of_trial.contains(column)) ||
         (table == "experiment" && of_experiment.contains(column)) ||
         (table == "session" && of_session.contains(column));
}

// splitmix64's finaliser (Steele, Lea, Flood 2014): a sum of CRCs alone would be blind to some swaps.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

// As parts.cpp sets a trial's key aside: "w n=4 #1 (run 3 of its block)".
constexpr std::string_view aside_begin = " (run ", aside_end = " of its block)";

// The rows of a table, or of one trial in it, as numbers.
class Rows {
 public:
  // `by`: the column that says whose a row is; empty: there is none. `one`: rows of one are asked for, else all.
  Rows(Database& database, const std::string& table, const std::string& by, bool one)
      : table_(table),
        rows_(database.prepare(fmt::format("SELECT {}, {} FROM {}{}", by.empty() ? "0" : by,
                                           names_of(database), table, one ? " WHERE " + by + " = ?" : ""))) {}

  // Calls `take` with whose each row is, and its number.
  template <class Take>
  void each(Take take) {
    while (rows_.step()) {
      bytes_.assign(table_);
      for (std::size_t i = 0; i < columns_.size(); ++i) add(columns_[i], static_cast<int>(i) + 1);
      const auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes_.data()), bytes_.size());
      take(rows_.integer(0), mixed(crc));
    }
    rows_.reset();
  }
  std::uint64_t sum_of(std::int64_t one) {
    rows_.reset();
    rows_.bind(one);
    std::uint64_t sum = 0;
    each([&](std::int64_t, std::uint64_t number) { sum += number; });
    return sum;
  }

 private:
  struct Column {
    std::string name;
    std::optional<std::string> otherwise;  // as the schema has it: "0"
  };

  std::string names_of(Database& database) {
    Statement info = database.prepare("SELECT name, dflt_value FROM pragma_table_info(?)");
    info.bind(table_);
    while (info.step()) {
      if (!is_left_out(table_, info.text(0))) columns_.push_back({info.text(0), info.maybe_text(1)});
    }
    // A file that was brought up to date has them in another order.
    std::sort(columns_.begin(), columns_.end(),
              [](const Column& a, const Column& b) { return a.name < b.name; });
    std::string names;
    for (const Column& column : columns_) names += (names.empty() ? "" : ", ") + column.name;
    return names;
  }

  void add(const Column& column, int at) {
    std::string value;
    char kind = 'i';
    switch (rows_.type(at)) {
      case Statement::Type::null:
        return;
      case Statement::Type::integer:
        value = std::to_string(rows_.integer(at));
        if (column.otherwise == value) return;
        break;
      case Statement::Type::real: {
        kind = 'r';
        const double number = rows_.real(at);
        value.assign(reinterpret_cast<const char*>(&number), sizeof number);
        break;
      }
      case Statement::Type::text:
      case Statement::Type::blob:
        kind = rows_.type(at) == Statement::Type::text ? 't' : 'b';
        value = rows_.text(at);
        if (column.name == "key" && value.ends_with(aside_end)) value.resize(value.rfind(aside_begin));
        break;
    }
    bytes_ += column.name;
    bytes_ += kind;
    bytes_ += std::to_string(value.size());
    bytes_ += ':';
    bytes_ += value;
  }

  std::string table_;
  std::vector<Column> columns_;
  Statement rows_;
  std::string bytes_;
};

// Each channel by what it is, for rows that name one: a unit or a domain that is another changes what energies mean.
class Channels {
 public:
  explicit Channels(Database& database) : rows_(database, "channel", "id", false) {}
  void look() {
    numbers_.clear();
    rows_.each([&](std::int64_t id, std::uint64_t number) { numbers_[id] = number; });
  }
  std::uint64_t number(std::int64_t channel) const {
    const auto found = numbers_.find(channel);
    return found == numbers_.end() ? 1 : found->second;
  }

 private:
  Rows rows_;
  std::map<std::int64_t, std::uint64_t> numbers_;
};

// All that is read while it lives is of one state of the file: a night may be under way.
class OneState {
 public:
  explicit OneState(Database& database)
      : database_(database), begun_(sqlite3_get_autocommit(database.handle()) != 0) {
    if (begun_) database_.execute("BEGIN");
  }
  ~OneState() {
    if (begun_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  OneState(const OneState&) = delete;

 private:
  Database& database_;
  const bool begun_;
};

}  // namespace

struct TrialSeals::Prepared {
  explicit Prepared(Database& database)
      : channels(database),
        channels_of_trial(database.prepare("SELECT channel_id FROM channel_energy WHERE trial_id = ?")),
        update(database.prepare("UPDATE trial SET digest = ?, readings_digest = ? WHERE id = ?")),
        sum_now(database.prepare("SELECT trials FROM seal")),
        digest(database.prepare("SELECT digest FROM trial WHERE id = ?")),
        new_sum(database.prepare("UPDATE seal SET trials = ?")) {
    rows.emplace_back(database, "trial", "id", true);
    for (const char* const table : tables_of_rows) rows.emplace_back(database, table, "trial_id", true);
    for (const char* const table : tables_of_readings)
      readings.emplace_back(database, table, "trial_id", true);
  }

  std::uint64_t of_rows(std::int64_t trial) {
    std::uint64_t sum = 0;
    for (Rows& table : rows) sum += table.sum_of(trial);
    channels.look();
    channels_of_trial.reset();
    channels_of_trial.bind(trial);
    while (channels_of_trial.step()) sum += channels.number(channels_of_trial.integer(0));
    channels_of_trial.reset();
    return sum;
  }
  std::uint64_t of_readings(std::int64_t trial) {
    std::uint64_t sum = 0;
    for (Rows& table : readings) sum += table.sum_of(trial);
    return sum;
  }

  std::vector<Rows> rows, readings;
  Channels channels;
  Statement channels_of_trial, update, sum_now, digest, new_sum;
};

TrialSeals::TrialSeals(Database& database) : prepared_(std::make_unique<Prepared>(database)) {}
TrialSeals::~TrialSeals() = default;

void TrialSeals::seal(std::int64_t trial) {
  Prepared& p = *prepared_;
  const std::uint64_t rows = p.of_rows(trial), readings = p.of_readings(trial);
  p.update.bind(static_cast<std::int64_t>(rows)).bind(static_cast<std::int64_t>(readings)).bind(trial).run();
  // Added here: SQL's own sum of large integers becomes a REAL.
  const std::uint64_t before = p.sum_now.step() ? static_cast<std::uint64_t>(p.sum_now.integer(0)) : 0;
  p.sum_now.reset();
  p.new_sum.bind(static_cast<std::int64_t>(before + rows)).run();
}

void TrialSeals::seal_again(std::int64_t trial) {
  Prepared& p = *prepared_;
  p.digest.bind(trial);
  const std::uint64_t was = p.digest.step() ? static_cast<std::uint64_t>(p.digest.integer(0)) : 0;
  p.digest.reset();
  const std::uint64_t before = p.sum_now.step() ? static_cast<std::uint64_t>(p.sum_now.integer(0)) : 0;
  p.sum_now.reset();
  p.new_sum.bind(static_cast<std::int64_t>(before - was)).run();
  seal(trial);
}

namespace {

template <class Tables>
std::int64_t digest_of(Database& database, const Tables& tables) {
  std::uint64_t sum = 0;
  Statement has = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  for (const char* const table : tables) {
    // A file that is being brought up to date has not got those of later versions yet: they would be empty.
    has.reset();
    has.bind(table);
    if (has.step())
      Rows(database, table, "", false).each([&](std::int64_t, std::uint64_t number) { sum += number; });
  }
  return static_cast<std::int64_t>(sum);
}

std::int64_t digest_of_looks(Database& database) {
  return digest_of(database, tables_of_looks);
}

std::int64_t digest_of_later(Database& database) {
  auto sum = static_cast<std::uint64_t>(digest_of(database, tables_of_later));
  // Of what has its other columns elsewhere: how many are planned, and the ids of the trials that were given up.
  for (const char* const sql :
       {"SELECT 0, planned_trials FROM experiment", "SELECT 1, id FROM trial WHERE given_up = 1"}) {
    Statement rows = database.prepare(sql);
    while (rows.step()) {
      const std::string text = fmt::format("{} {}", rows.integer(0), rows.integer(1));
      sum += mixed(::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
    }
  }
  return static_cast<std::int64_t>(sum);
}

}  // namespace

std::span<const char* const> plan_tables() {
  return tables_of_plan;
}

void seal_plan(Database& database) {
  database
      .prepare(
          "INSERT INTO seal (id, plan, looks, trials) VALUES (1, ?1, 0, 0) ON CONFLICT (id) DO UPDATE SET "
          "plan = ?1")
      .bind(digest_of(database, tables_of_plan))
      .run();
}

void seal_look(Database& database, std::int64_t session) {
  std::uint64_t sum = 0;
  for (const char* const table : tables_of_looks)
    sum += Rows(database, table, "session_id", true).sum_of(session);
  Statement before = database.prepare("SELECT looks FROM seal");
  if (before.step()) sum += static_cast<std::uint64_t>(before.integer(0));
  before.reset();
  database.prepare("UPDATE seal SET looks = ?").bind(static_cast<std::int64_t>(sum)).run();
}

LaterSeal::LaterSeal(Database& database) : database_(database), was_whole_(later_is_whole(database)) {}

void LaterSeal::seal() {
  if (was_whole_) seal_later(database_);
}

void seal_later(Database& database) {
  database.prepare("UPDATE seal SET later = ?").bind(digest_of_later(database)).run();
}

bool later_is_whole(Database& database) {
  const OneState state(database);
  Statement written = database.prepare("SELECT later FROM seal");
  return written.step() && written.integer(0) == digest_of_later(database);
}

void seal_all(Database& database) {
  seal_plan(database);
  database.prepare("UPDATE seal SET looks = ?").bind(digest_of_looks(database)).run();
  TrialSeals seals(database);
  std::vector<std::int64_t> trials;
  Statement all = database.prepare("SELECT id FROM trial");
  while (all.step()) trials.push_back(all.integer(0));
  for (const std::int64_t trial : trials) seals.seal(trial);
}

void seal_conclusions(Database& database) {
  database.prepare("UPDATE conclusion SET digest = ?").bind(digest_of(database, tables_of_conclusions)).run();
}

bool conclusions_are_whole(Database& database) {
  const OneState state(database);
  Statement written = database.prepare("SELECT digest FROM conclusion WHERE digest IS NOT NULL");
  return written.step() && written.integer(0) == digest_of(database, tables_of_conclusions);
}

bool plan_is_whole(Database& database) {
  const OneState state(database);
  for (const char* const table : {"trial", "sensor_audit", "sensor_agreement"}) {
    Statement lost = database.prepare(
        fmt::format("SELECT 1 FROM {} WHERE session_id NOT IN (SELECT id FROM session) LIMIT 1", table));
    if (lost.step()) return false;
  }
  // Rows of no trial are in no trial's checksum: another table's page stands where theirs was.
  const auto of_nobody = [&](const char* table) {
    Statement rows = database.prepare(fmt::format(
        "SELECT 1 FROM {} WHERE trial_id IS NOT NULL AND trial_id NOT IN (SELECT id FROM trial) LIMIT 1",
        table));
    return rows.step();
  };
  if (std::any_of(std::begin(tables_of_rows), std::end(tables_of_rows), of_nobody) ||
      std::any_of(std::begin(tables_of_readings), std::end(tables_of_readings), of_nobody))
    return false;
  Statement written = database.prepare("SELECT plan, looks FROM seal");
  return written.step() && written.integer(0) == digest_of(database, tables_of_plan) &&
         written.integer(1) == digest_of_looks(database);
}

std::set<std::int64_t> damaged_trials(Database& database) {
  const OneState state(database);
  std::map<std::int64_t, std::int64_t> written;
  std::uint64_t sum = 0;
  Statement digests = database.prepare("SELECT id, digest FROM trial");
  while (digests.step()) {
    written[digests.integer(0)] = digests.integer(1);
    sum += static_cast<std::uint64_t>(digests.integer(1));
  }
  Statement sealed = database.prepare("SELECT trials FROM seal");
  if (!sealed.step() || static_cast<std::uint64_t>(sealed.integer(0)) != sum)
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("the result is damaged: trials that were written are not among the {} that are there now "
                    "(the sum of their checksums differs)",
                    written.size()),
        "copy it again from where it was made, or from a backup");
  if (written.empty()) return {};
  // All at once, table by table: one trial after another would take three times as long.
  std::unordered_map<std::int64_t, std::uint64_t> sums;
  const auto add = [&](std::int64_t trial, std::uint64_t number) { sums[trial] += number; };
  Rows(database, "trial", "id", false).each(add);
  for (const char* const table : tables_of_rows) Rows(database, table, "trial_id", false).each(add);
  Channels channels(database);
  channels.look();
  Statement energies = database.prepare("SELECT trial_id, channel_id FROM channel_energy");
  while (energies.step()) sums[energies.integer(0)] += channels.number(energies.integer(1));
  std::set<std::int64_t> damaged;
  for (const auto& [trial, digest] : written) {
    if (static_cast<std::int64_t>(sums[trial]) != digest) damaged.insert(trial);
  }
  return damaged;
}

std::vector<std::int64_t> trials_without_their_readings(Database& database) {
  std::vector<std::int64_t> trials;
  Statement lost = database.prepare(
      "SELECT id FROM trial WHERE readings_digest <> 0 AND (id NOT IN (SELECT trial_id FROM reading_values) "
      "OR "
      "id NOT IN (SELECT trial_id FROM reading_times)) ORDER BY id");
  while (lost.step()) trials.push_back(lost.integer(0));
  return trials;
}

bool readings_are_whole(Database& database, std::int64_t trial) {
  Statement written = database.prepare("SELECT readings_digest FROM trial WHERE id = ?");
  written.bind(trial);
  if (!written.step()) return true;
  std::uint64_t sum = 0;
  for (const char* const table : tables_of_readings)
    sum += Rows(database, table, "trial_id", true).sum_of(trial);
  return static_cast<std::int64_t>(sum) == written.integer(0);
}

}  // namespace dvfs_plan
