#include "results/store/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "results/store/digest.hpp"
#include "results/store/migrate.hpp"
#include "results/store/trial_columns.hpp"
#include "results/store/unpack_readings.hpp"
#include "results/store/writer_lock.hpp"
#include "results/trial/owed_trials.hpp"

namespace dvfs_plan {
namespace {

// "dvfp" in SQLite's application_id field: tells our files from anybody else's.
constexpr int application_id = 0x64766670;

void create_empty(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd) return;
  throw Error(ExitCode::machine_refuses, system_error_text("create result file " + path, errno),
              "choose another place with --output");
}

std::string_view kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "folder" : S_ISFIFO(mode) ? "FIFO" : S_ISSOCK(mode) ? "socket" : "device";
}

// SQLite would wait for ever for who writes into a FIFO.
void require_regular_file(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode)) return;
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} is no result file: it is a {}", path, kind_of(file.st_mode)),
              "name another one; a run takes  --output FILE.sqlite");
}

// What SQLite keeps beside a file that is written.
void require_regular_files_beside(const std::string& path) {
  for (const char* end : {"-journal", "-wal", "-shm"}) {
    struct stat file {};
    if (::stat((path + end).c_str(), &file) != 0 || S_ISREG(file.st_mode)) continue;
    throw Error(ExitCode::machine_refuses,
                fmt::format("{}{} is a {}, where SQLite keeps what is being written to {}", path, end,
                            kind_of(file.st_mode), path),
                "look what it is, and move it away; nothing of dvfs-plan makes it");
  }
}

// Of a file that may be no more than begun. nullopt: it cannot be read.
std::optional<std::int64_t> trials_in(const std::string& path) {
  try {
    require_regular_files_beside(path);
    Database database(path, Database::Mode::read_write);  // a hot journal is rolled back
    Statement table = database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'trial'");
    if (!table.step()) return 0;
    Statement trials = database.prepare("SELECT count(*) FROM trial");
    return trials.step() ? trials.integer(0) : 0;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string command_text(const WorkloadSpec& spec) {
  if (spec.shell) return spec.shell->text;
  nlohmann::ordered_json words = nlohmann::ordered_json::array();
  if (!spec.together.empty()) {
    for (const RawValue& name : spec.together) words.push_back(name.text);
    return "together: " + words.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  for (const RawValue& word : spec.command) words.push_back(word.text);
  return words.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void Store::remove_unfinished(const std::string& path) {
  constexpr std::size_t header = 72;
  constexpr int where_whose = 68;  // https://sqlite.org/fileformat2.html, 1.3: application id, big-endian
  std::string start(header, '\0');
  std::error_code none;
  const auto status = std::filesystem::symlink_status(path, none);
  const bool there = std::filesystem::exists(status), is_file = std::filesystem::is_regular_file(status);
  std::ifstream file;
  if (is_file) file.open(path, std::ios::binary);  // a FIFO would be waited for
  file.read(start.data(), static_cast<std::streamsize>(header));
  const auto bytes = file.gcount();
  std::int64_t whose = 0;
  for (int i = 0; i < 4; ++i)
    whose = whose << 8 | static_cast<unsigned char>(start[static_cast<std::size_t>(where_whose + i)]);
  const bool ours =
      is_file && (bytes == 0 || (start.starts_with("SQLite format 3") && whose == application_id));
  const auto refuse = [](const std::string& what, const std::string& why) {
    throw Error(ExitCode::machine_refuses, fmt::format("{} is there, and {}", what, why),
                "give that file another name, or choose another place for the result with --output");
  };
  constexpr const char* somebodys = "is no unfinished result of dvfs-plan";
  if (!there) {
    // Without it what SQLite keeps beside such a file is none of ours: those go before it.
    for (const std::string& one : database_files(path)) {
      if (std::filesystem::exists(std::filesystem::symlink_status(one, none))) refuse(one, somebodys);
    }
    return;
  }
  if (!ours) refuse(path, somebodys);
  // A finished result may be called so too.
  if (const auto writer = writer_of(path).value_or(0); writer != 0)
    refuse(path, fmt::format("process {} is writing it", writer));
  if (const auto trials = bytes == 0 ? 0 : trials_in(path); trials != 0)
    refuse(path,
           trials ? fmt::format("holds {} trials (a merge that was killed leaves such a file too)", *trials)
                  : "what it holds cannot be told");
  remove_database(path);
}

Store Store::create(const std::string& path, const Plan& plan, const std::vector<Channel>& channels,
                    const ExperimentFacts& facts, std::optional<FileOwner> owner) {
  const ActingAs owner_acts(owner);
  require_regular_files_beside(path);
  // A run killed while it makes the file leaves only this, which the next run makes anew.
  const std::string unfinished = path + ".new";
  remove_unfinished(unfinished);
  create_empty(unfinished);
  try {
    Store store{Database(unfinished, Database::Mode::read_write)};
    store.database_.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                        application_id, newest_schema_version()));
    Transaction transaction(store.database_);
    store.database_.execute(schema_sql());
    store.database_.execute(views_sql());
    store.write_plan(plan, facts);
    store.write_prior(facts.prior);
    seal_plan(store.database_);
    seal_later(store.database_);
    transaction.commit();
  } catch (...) {
    remove_database(unfinished);
    throw;
  }
  // rename() would replace a file that came meanwhile; link() refuses.
  if (::link(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    std::error_code none;
    if (error == EEXIST && std::filesystem::is_symlink(std::filesystem::symlink_status(path, none)))
      throw Error(ExitCode::machine_refuses,
                  fmt::format("create result file {}: it is a link to {}, and nothing is there", path,
                              std::filesystem::read_symlink(path, none).string()),
                  "is that disk mounted? Name the file itself, or choose another place with --output");
    throw Error(ExitCode::machine_refuses, system_error_text("create result file " + path, error),
                "choose another place with --output");
  }
  ::unlink(unfinished.c_str());
  const auto folder = std::filesystem::path(path).parent_path();
  UniqueFd directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  // Still as the owner: whatever lies beside it by now must not be root's to open.
  Store store = open(path, Database::Mode::read_write);
  store.use_channels(channels);
  return store;
}

Store::Store(Database database) : database_(std::move(database)) {
  if (register_unpack_readings(database_.handle()) != SQLITE_OK)
    throw Error(ExitCode::machine_refuses, "SQLite does not take the function unpack_readings");
}

namespace {

// In a table that was brought up to date they come in another order.
std::map<std::string, std::string> columns_of(Database& database, const std::string& table) {
  std::map<std::string, std::string> columns;
  Statement info = database.prepare("SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?)");
  info.bind(table);
  while (info.step())
    columns[info.text(0)] =
        fmt::format("{} {} {} {}", info.text(1), info.integer(2), info.integer(3), info.integer(4));
  return columns;
}

}  // namespace

Store Store::open(const std::string& path, Database::Mode mode) {
  require_regular_file(path);
  require_regular_files_beside(path);
  Store store{Database(path, mode)};
  store.check_whole(path);
  const int version = store.check_version(path);
  store.check_schema(path, version);
  if (mode == Database::Mode::read_write)
    store.database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  if (version < newest_schema_version()) {
    // Who only looks changes nothing: a private copy is brought up to date instead.
    if (mode == Database::Mode::read_only) store.go_on_in_private_copy();
    try {
      migrate(store.database_, version, newest_schema_version());
    } catch (const StoreBusy&) {
      throw;
    } catch (const Error& fault) {
      if (!fault.hint().empty()) throw;
      throw Error(
          ExitCode::machine_refuses,
          fmt::format(
              "{} says that it is of schema version {}, but cannot be brought up to date from there: {}",
              path, version, fault.what()),
          "somebody changed it: take the file from where it was made");
    }
  }
  store.check_plan(path);
  if (mode == Database::Mode::read_write) {
    store.database_.execute("PRAGMA foreign_keys = ON");
    store.prepare_statements();
  }
  return store;
}

void Store::go_on_in_private_copy() {
  *this = Store(private_copy(database_));
}

void Store::fold_log(const std::string& path) {
  require_regular_file(path);
  require_regular_files_beside(path);
  Store store{Database(path, Database::Mode::read_write)};
  store.check_ours(path);
  store.database_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

static void refuse_experiment_file(const std::string& path) {
  std::filesystem::path file(path);
  if (file.extension() != ".yaml" && file.extension() != ".yml") return;
  throw Error(ExitCode::machine_refuses, fmt::format("{} is an experiment file, and no result", path),
              fmt::format("what a run of it wrote is {} (`dvfs-plan check` says where)",
                          file.replace_extension(".sqlite").string()));
}

// A number that the file says of itself; what is no database cannot.
std::int64_t Store::pragma(const char* sql, const std::string& path) {
  try {
    Statement statement = database_.prepare(sql);
    return statement.step() ? statement.integer(0) : 0;
  } catch (const StoreDamaged&) {
    refuse_experiment_file(path);
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} is not a result file of dvfs-plan, or it is damaged: {}", path,
                            sqlite3_errmsg(database_.handle())),
                "a result file is what a run wrote, NAME.sqlite; look at it with: sqlite3 FILE 'PRAGMA "
                "integrity_check'");
  }
}

void Store::check_ours(const std::string& path) {
  if (pragma("PRAGMA application_id", path) != application_id) {
    refuse_experiment_file(path);
    throw Error(
        ExitCode::machine_refuses, fmt::format("{} is not a result file of dvfs-plan", path),
        "a result file is what a run wrote, NAME.sqlite; a run finds another place for it with --output");
  }
}

// SQLite reads a file that lost its end until it comes to what is missing. The header says how long it should
// be (https://sqlite.org/fileformat2.html, 1.3); while a log lies beside it, the header may be ahead of the
// file.
void Store::check_whole(const std::string& path) {
  std::error_code error;
  for (const char* const log : {"-wal", "-journal"}) {
    if (const auto bytes = std::filesystem::file_size(path + log, error); !error && bytes > 0) return;
  }
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  unsigned char header[32] = {};
  if (error || !file || ::pread(file.get(), header, sizeof header, 0) != static_cast<ssize_t>(sizeof header))
    return;
  if (std::memcmp(header, "SQLite format 3", 16) != 0) return;  // check_ours says so
  const auto big_endian = [&](std::size_t at, std::size_t bytes) {
    std::int64_t number = 0;
    for (std::size_t i = 0; i < bytes; ++i) number = number << 8 | header[at + i];
    return number;
  };
  const std::int64_t page = big_endian(16, 2), whole = big_endian(28, 4) * (page == 1 ? 65536 : page);
  if (size >= whole) return;
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} is cut short: it should be {} bytes long and is {}", path, whole, size),
              "copy it again from where it was made; `sqlite3 FILE .recover` saves what is left of it");
}

// Reports stand on what the tables and views are: of a file from elsewhere they must be ours. A view in a table's place may
// never end, a trigger may write whatever it likes. Views and indices of others under other names stay.
void Store::check_schema(const std::string& path, int version) {
  const auto refuse = [&](const std::string& what) {
    throw Error(
        ExitCode::machine_refuses, fmt::format("{}: {}", path, what),
        "somebody changed it: take the file from where it was made; views of your own go under other names");
  };
  {
    Statement trigger = database_.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'");
    if (trigger.step())
      refuse(fmt::format("it has a trigger, '{}'; dvfs-plan makes none", printable(trigger.text(0))));
  }
  const bool is_newest = version == newest_schema_version();
  Database ours = Database::temporary();
  ours.execute(schema_sql());
  ours.execute(views_sql());
  if (!is_newest) ours.execute("CREATE TABLE reading (x)");  // of earlier versions
  Statement wanted = ours.prepare(
      "SELECT type, name, sql FROM sqlite_schema WHERE type = 'table' OR (type = 'view' AND ?) ORDER BY "
      "type, name");
  wanted.bind(is_newest ? 1 : 0);
  Statement found =
      database_.prepare("SELECT type, sql, rootpage FROM sqlite_schema WHERE name = ? COLLATE NOCASE");
  while (wanted.step()) {
    const std::string type = wanted.text(0), name = wanted.text(1);
    found.reset();
    found.bind(name);
    const bool there = found.step();
    if (!there && !is_newest) continue;
    if (type == "view" && (!there || found.text(1) != wanted.text(2)))
      refuse(fmt::format("its view '{}' is not the one that dvfs-plan made", name));
    // A virtual table has no page of its own.
    if (type == "table" && (!there || found.text(0) != "table" || found.integer(2) == 0 ||
                            (is_newest && columns_of(database_, name) != columns_of(ours, name))))
      refuse(fmt::format("its table '{}' is not the one that dvfs-plan made", name));
  }
}

void Store::check_plan(const std::string& path) {
  // Of what has no checksum: whether its rows can be this table's (https://sqlite.org/pragma.html#pragma_quick_check).
  for (const char* const table :
       {"machine_fact", "node_fact", "session", "recheck", "block_run", "channel", "sensor_audit",
        "sensor_agreement", "submission", "node_left_out", "handed_in"}) {
    Statement check = database_.prepare(fmt::format("PRAGMA quick_check('{}')", table));
    if (!check.step() || check.text(0) == "ok") continue;
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} is damaged: its table '{}' holds what is none of its rows: {}", path, table,
                            printable(check.text(0))),
                "copy it again from where it was made, or from a backup; `sqlite3 FILE .recover` saves what "
                "is left of it");
  }
  if (plan_is_whole(database_)) return;
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} is damaged: what it says of the experiment, its points and its sensors is not "
                          "what was written (a "
                          "checksum over it differs)",
                          path),
              "copy it again from where it was made, or from a backup");
}

int Store::check_version(const std::string& path) {
  check_ours(path);
  const auto version = pragma("PRAGMA user_version", path);
  if (version < oldest_schema_version) {
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} has schema version {}, of a program before the first release; this one reads "
                            "versions {} to {}",
                            path, version, oldest_schema_version, newest_schema_version()),
                "report it with the dvfs-plan that made it, or run the experiment again with --fresh");
  }
  if (version > newest_schema_version()) {
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} has schema version {}; this program knows up to {}", path, version,
                            newest_schema_version()),
                "open it with the dvfs-plan that made it, or a newer one");
  }
  return static_cast<int>(version);
}

void Store::write_prior(const std::vector<PriorShape>& shapes) {
  Statement insert =
      database_.prepare("INSERT INTO prior_shape (point_id, source, log_time, log_power) VALUES (?,?,?,?)");
  for (const PriorShape& shape : shapes) {
    for (std::size_t i = 0; i < shape.log_time.size(); ++i) {
      insert.bind(static_cast<std::int64_t>(i + 1))
          .bind(shape.source)
          .bind(shape.log_time[i])
          .bind(shape.log_power.empty() ? std::nullopt : std::optional(shape.log_power[i]))
          .run();
    }
  }
}

void Store::write_plan(const Plan& plan, const ExperimentFacts& facts) {
  const Experiment& e = plan.experiment;
  const ObjectiveSpec& o = e.objective;
  database_
      .prepare(
          "INSERT INTO experiment (id, name, description, objective, per_metric, currency, price_per_j, "
          "price_per_s, drift_limit, shuffled, until, energy_source, seed, planned_trials, plan_hash, "
          "plan_json, source_file, source_text, tool_version, created_at) VALUES "
          "(1,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(e.name)
      .bind(e.description)
      .bind(to_string(o.minimise))
      .bind(o.per.empty() ? std::nullopt : std::optional(o.per))
      .bind(o.price ? std::optional(o.price->currency) : std::nullopt)
      .bind(o.price ? std::optional(o.price->per_joule) : std::nullopt)
      .bind(o.price ? std::optional(o.price->per_second) : std::nullopt)
      .bind(e.conditions.drift)
      .bind(e.shuffled ? 1 : 0)
      .bind(e.repeat.until)
      .bind(facts.energy_source.empty() ? std::nullopt : std::optional(facts.energy_source))
      .bind(std::to_string(e.seed))
      .bind(workload_trials(plan))
      .bind(plan.hash)
      .bind(plan.canonical)
      .bind(e.path())
      .bind(e.text)
      .bind(facts.tool_version)
      .bind(facts.created_at)
      .run();
  if (e.search.one_by_one()) {
    database_.prepare("INSERT INTO search (id, method, regret, confidence, at_most) VALUES (1,?,?,?,?)")
        .bind(e.search.method)
        .bind(e.search.regret)
        .bind(e.search.confidence)
        .bind(e.search.at_most)
        .run();
  }
  for (const auto& [name, value] : facts.machine) {
    database_.prepare("INSERT INTO machine_fact (name, value) VALUES (?,?)").bind(name).bind(value).run();
  }
  for (std::size_t i = 0; i < plan.workloads.size(); ++i) {
    const WorkloadSpec& spec = plan.workloads[i].spec;
    const ObjectiveSpec& own = objective_of(e, spec);
    database_
        .prepare(
            "INSERT INTO workload (id, name, command, objective, per_metric, target) VALUES (?,?,?,?,?,?)")
        .bind(static_cast<int>(i) + 1)
        .bind(spec.name)
        .bind(command_text(spec))
        .bind(spec.objective ? std::optional(std::string(to_string(own.minimise))) : std::nullopt)
        .bind(spec.objective ? std::optional(own.per) : std::nullopt)
        .bind(own.target ? std::optional(constraint_text(*own.target)) : std::nullopt)
        .run();
  }
  write_rules(e);
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    database_.prepare("INSERT INTO axis (id, name, kind) VALUES (?,?,?)")
        .bind(static_cast<int>(i) + 1)
        .bind(plan.axes[i].name)
        .bind(plan.axes[i].knob ? "knob" : "parameter")
        .run();
  }
  Statement insert_point = database_.prepare(
      "INSERT INTO point (id, key, workload_id, scenario, operating_point, is_reference) VALUES "
      "(?,?,?,?,?,?)");
  Statement insert_value =
      database_.prepare("INSERT INTO point_value (point_id, axis_id, text, number) VALUES (?,?,?,?)");
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const PlanPoint& point = plan.points[i];
    insert_point.bind(static_cast<int>(i) + 1)
        .bind(point.key)
        .bind(point.workload + 1)
        .bind(point.scenario)
        .bind(point.operating_point)
        .bind(point.reference ? 1 : 0)
        .run();
    for (std::size_t a = 0; a < point.values.size(); ++a) {
      if (!point.values[a]) continue;
      insert_value.bind(static_cast<int>(i) + 1)
          .bind(static_cast<int>(a) + 1)
          .bind(point.values[a]->text)
          .bind(point.values[a]->number)
          .run();
    }
  }
}

void Store::write_rules(const Experiment& experiment) {
  int number = 0;
  const auto add_rules = [&](const ObjectiveSpec& objective, std::optional<int> workload) {
    for (const ConstraintSpec& c : objective.constraints) {
      database_
          .prepare(
              "INSERT INTO constraint_rule (id, name, relation, bound, text, workload_id) VALUES "
              "(?,?,?,?,?,?)")
          .bind(++number)
          .bind(c.name)
          .bind(to_string(c.relation))
          .bind(c.limit)
          .bind(constraint_text(c))
          .bind(workload)
          .run();
    }
  };
  add_rules(experiment.objective, std::nullopt);
  for (const WorkloadSpec& spec : experiment.workloads) {
    if (!spec.objective) continue;
    Statement id = database_.prepare("SELECT id FROM workload WHERE name = ?");
    id.bind(spec.name);
    if (id.step()) add_rules(*spec.objective, static_cast<int>(id.integer(0)));
  }
}

void Store::use_channels(const std::vector<Channel>& channels) {
  channel_ids_.clear();
  channel_kinds_.clear();
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO channel (name, probe, unit, kind, domain, contained_in, wraps_at, source, "
      "under_load_only, averages_over_s, lags_up_to_s, told_when_new, late_by_s) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?)");
  Statement select = database_.prepare("SELECT id FROM channel WHERE name = ?");
  for (const Channel& channel : channels) {
    insert.bind(channel.name)
        .bind(channel.probe)
        .bind(channel.unit)
        .bind(channel.kind == ChannelKind::counter ? "counter" : "gauge")
        .bind(channel.domain)
        .bind(channel.within.empty() ? std::nullopt : std::optional(channel.within))
        .bind(channel.wraps_at)
        .bind(channel.source)
        .bind(channel.under_load_only ? 1 : 0)
        .bind(channel.averages_over_s)
        .bind(channel.lags_up_to_s)
        .bind(channel.told_when_new ? 1 : 0)
        .bind(channel.late_by_s)
        .run();
    select.bind(channel.name);
    if (!select.step())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("result file: channel {} was not stored", channel.name));
    channel_ids_.push_back(select.integer(0));
    channel_kinds_.push_back(channel.kind);
    select.reset();
  }
}

std::string Store::plan_hash() {
  Statement s = database_.prepare("SELECT plan_hash FROM experiment");
  return s.step() ? s.text(0) : std::string{};
}

std::string Store::experiment_file() {
  Statement s = database_.prepare("SELECT source_text FROM experiment");
  return s.step() ? s.text(0) : std::string{};
}

std::string Store::canonical_plan() {
  Statement s = database_.prepare("SELECT plan_json FROM experiment");
  return s.step() ? s.text(0) : std::string{};
}

std::string Store::energy_source() {
  Statement s = database_.prepare("SELECT energy_source FROM experiment");
  return s.step() ? s.text(0) : std::string{};
}

std::map<std::string, std::string> Store::machine_facts() {
  std::map<std::string, std::string> facts;
  Statement s = database_.prepare("SELECT name, value FROM machine_fact");
  while (s.step()) facts[s.text(0)] = s.text(1);
  return facts;
}

std::vector<Channel> Store::channels() {
  std::vector<Channel> channels;
  Statement s = database_.prepare(
      "SELECT name, probe, unit, kind, domain, contained_in, wraps_at, source, under_load_only, "
      "averages_over_s, "
      "lags_up_to_s, told_when_new, late_by_s FROM channel ORDER BY id");
  while (s.step()) {
    Channel channel;
    channel.name = s.text(0);
    channel.probe = s.text(1);
    channel.unit = s.text(2);
    channel.kind = s.text(3) == "counter" ? ChannelKind::counter : ChannelKind::gauge;
    channel.domain = s.text(4);
    channel.within = s.text(5);
    channel.wraps_at = s.maybe_real(6);
    channel.source = s.text(7);
    channel.under_load_only = s.integer(8) != 0;
    channel.averages_over_s = s.maybe_real(9);
    channel.lags_up_to_s = s.real(10);
    channel.told_when_new = s.integer(11) != 0;
    channel.late_by_s = s.maybe_real(12);
    channels.push_back(channel);
  }
  return channels;
}

void Store::begin_session(int pid, const std::string& boot_id, const std::string& tool_version,
                          const std::string& now, bool recheck) {
  Transaction transaction(database_);
  LaterSeal later(database_);
  database_
      .prepare("INSERT INTO session (pid, boot_id, tool_version, started_at, recheck) VALUES (?,?,?,?,?)")
      .bind(pid)
      .bind(boot_id)
      .bind(tool_version)
      .bind(now)
      .bind(recheck ? 1 : 0)
      .run();
  session_ = database_.last_row();
  later.seal();
  transaction.commit();
}

void Store::end_session(const std::string& how, const std::string& now,
                        const std::optional<Conclusions>& conclusions) {
  Transaction transaction(database_);
  LaterSeal later(database_);
  database_.prepare("UPDATE session SET ended_how = ?, ended_at = ?, current_trial = NULL WHERE id = ?")
      .bind(how)
      .bind(now)
      .bind(session_)
      .run();
  later.seal();
  if (conclusions) put_conclusions(*conclusions);
  transaction.commit();
  into_copy([&](Store& copy) { copy.end_session(how, now, conclusions); });
}

void Store::seal() {
  const ActingAs owner(owner_of_rescue());
  try {
    database_.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    remember_file();
    remember_log();
  } catch (const StoreBusy&) {
    // Somebody is reading: the log stays beside it, which is as good.
  }
}

void Store::end_last_session(const std::string& how, const std::string& now,
                             const std::optional<Conclusions>& conclusions) {
  Statement last = database_.prepare("SELECT max(id) FROM session WHERE NOT recheck");
  if (!last.step()) return;
  session_ = last.integer(0);
  end_session(how, now, conclusions);
}

static int owed_trials(Database& database) {
  OwedTrials owed;
  Statement s = database.prepare(
      "SELECT t.key, t.attempt, t.given_up FROM trial t JOIN session s ON s.id = t.session_id WHERE NOT "
      "s.recheck ORDER BY t.id");
  while (s.step()) owed.look_at(s.text(0), static_cast<int>(s.integer(1)), s.integer(2) != 0);
  return owed.count();
}

bool is_planned_at_most(Database& database, std::string_view ended) {
  if (ended == "done") return false;
  // Blocks that confirm, or that a budget or an interval that is asked for adds.
  Statement s = database.prepare(
      "SELECT 1 FROM (SELECT json_extract(CASE WHEN json_valid(plan_json) THEN plan_json ELSE '{}' END, "
      "'$.repeat') AS r FROM experiment) WHERE (json_extract(r, '$.confirm') > 0 OR json_extract(r, '$.max') "
      "> json_extract(r, '$.min')) AND NOT EXISTS "
      "(SELECT 1 FROM trial t JOIN session s ON s.id = "
      "t.session_id WHERE NOT s.recheck AND t.confirms AND t.block >= coalesce((SELECT max(first_block) FROM "
      "growth), 0))");
  return s.step();
}

Store::Progress Store::progress() {
  Progress progress;
  Statement counts = database_.prepare(
      "SELECT name, planned_trials, finished, counted, (SELECT max(started_at) FROM trial WHERE session_id "
      "IN (SELECT id FROM session WHERE NOT recheck)), (SELECT count(*) "
      "FROM search), excluded FROM experiment, (SELECT count(CASE WHEN t.attempt = 1 THEN 1 END) AS "
      "finished, "
      "count(CASE WHEN t.verdict = 'ok' THEN 1 END) AS counted, count(CASE WHEN t.verdict NOT IN ('ok', "
      "'censored') THEN 1 END) AS excluded FROM trial t JOIN session s ON s.id = "
      "t.session_id JOIN point p ON p.id = t.point_id LEFT JOIN block_run r ON r.id = s.block_run_id WHERE "
      "r.left_out IS NULL AND NOT s.recheck AND p.in_plan AND "
      "t.role NOT IN "
      "('warm_up', 'idle_before', 'idle_after'))");
  if (counts.step()) {
    progress.name = counts.text(0);
    progress.planned = static_cast<int>(counts.integer(1));
    progress.finished = static_cast<int>(counts.integer(2));
    progress.counted = static_cast<int>(counts.integer(3));
    progress.last_finished_at = counts.text(4);
    progress.may_end_early = counts.integer(5) != 0;
    progress.excluded = static_cast<int>(counts.integer(6));
  }
  Statement pace = database_.prepare(
      // By the monotonic clock: wall clocks are set back.
      "SELECT sum(slot_s) / nullif(count(CASE WHEN role NOT IN ('warm_up', 'idle_before', 'idle_after') THEN "
      "1 "
      "END), 0) FROM (SELECT slot_s, role FROM trial WHERE session_id IN (SELECT id FROM session WHERE NOT "
      "recheck) ORDER BY id DESC "
      "LIMIT 50)");
  if (pace.step()) progress.mean_trial_seconds = pace.maybe_real(0);
  Statement session = database_.prepare(
      std::string("SELECT pid, started_at, ended_how, current_trial, boot_id, ") + trials_left_now +
      " FROM session WHERE NOT recheck "
      "ORDER BY id "
      "DESC LIMIT 1");
  if (session.step()) {
    progress.session_pid = static_cast<int>(session.integer(0));
    progress.session_started_at = session.text(1);
    progress.session_ended_how = session.text(2);
    progress.current_trial = session.text(3);
    progress.session_boot_id = session.text(4);
    // Blocks may have been added to what was planned.
    int left = progress.session_ended_how == "done" ? 0 : static_cast<int>(session.integer(5));
    // That is with the trial that was running, which a night that stopped by itself has finished.
    const bool gave_up = progress.session_ended_how == "gave_up";
    if (gave_up) left = std::max(0, left - 1);
    // Of a search that came to ask for fewer more may be there than it may run.
    progress.planned = std::max(progress.planned, progress.finished + (progress.may_end_early ? 0 : left));
    if (gave_up) left += owed_trials(database_);
    if (!session.is_null(5)) progress.left = left;
  }
  progress.at_most = is_planned_at_most(database_, progress.session_ended_how);
  Statement host = database_.prepare("SELECT value FROM machine_fact WHERE name = 'host'");
  if (host.step()) progress.host = host.text(0);
  Statement warnings = database_.prepare(
      "SELECT kind, message FROM event WHERE kind <> 'budget' AND session_id IN (SELECT id FROM session "
      "WHERE NOT "
      "recheck) ORDER BY id DESC LIMIT 5");
  while (warnings.step()) progress.last_warnings.push_back({warnings.text(0), warnings.text(1)});
  Statement last = database_.prepare(
      "SELECT t.id, t.key, t.verdict, t.region_s / max(1, t.runs), t.energy_j / max(1, t.runs), t.region_s "
      "FROM trial t WHERE t.role NOT IN ('warm_up', "
      "'idle_before', 'idle_after') AND t.session_id IN (SELECT id FROM session WHERE NOT recheck) ORDER BY "
      "t.id DESC LIMIT 1");
  if (last.step()) {
    progress.last_trial =
        Progress::LastTrial{last.text(1), last.text(2), last.maybe_real(3), last.maybe_real(4), {}};
    const auto seconds = last.maybe_real(5);
    // One a domain: a counter before a gauge.
    Statement joules = database_.prepare(
        "SELECT c.domain, e.joules FROM channel_energy e JOIN channel c ON c.id = e.channel_id WHERE "
        "e.trial_id = ? AND e.joules IS NOT NULL ORDER BY c.kind");
    joules.bind(last.integer(0));
    while (seconds && *seconds > 0 && joules.step())
      progress.last_trial->watts.emplace(joules.text(0), joules.real(1) / *seconds);
  }
  if (!conclusions_are_whole(database_)) return progress;
  Statement drift = database_.prepare(
      "SELECT scenario, change FROM drift WHERE block = (SELECT max(block) FROM drift WHERE change IS NOT "
      "NULL) AND change IS NOT NULL");
  while (drift.step()) progress.drift[drift.text(0)] = drift.real(1);
  Statement best = database_.prepare(
      "SELECT p.key, r.key, a.gain, a.gain_low, a.gain_high, a.trials FROM answer a JOIN point p ON p.id = "
      "a.best_point_id LEFT JOIN point r ON r.id = a.reference_point_id WHERE a.planned_points > 1 ORDER BY "
      "p.id");
  while (best.step()) {
    progress.best.push_back(
        {best.text(0), best.text(1), best.maybe_real(2), best.maybe_real(3), best.maybe_real(4)});
    progress.best_of_trials += static_cast<int>(best.integer(5));
  }
  return progress;
}

std::vector<std::string> Store::session_warnings() {
  std::vector<std::string> warnings;
  Statement s = database_.prepare(
      "SELECT message FROM event WHERE trial_id IS NULL AND kind <> 'budget' AND session_id IN (SELECT id "
      "FROM session "
      "WHERE NOT recheck) GROUP BY "
      "message ORDER BY min(id)");
  while (s.step()) warnings.push_back(s.text(0));
  return warnings;
}

}  // namespace dvfs_plan
