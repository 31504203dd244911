#include "results/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "results/schema_text.hpp"

namespace dvfs_plan {
namespace {

// "dvfp" in SQLite's application_id field: tells our files from anybody else's.
constexpr int application_id = 0x64766670;

// Acts as the file's owner while it lives: root must not write through a link, or into a folder, that the
// owner could not. Before any thread is started: the effective user is the whole process's.
class ActingAs {
 public:
  explicit ActingAs(const std::optional<FileOwner>& owner)
      : change_(owner && ::geteuid() == 0 && owner->user != 0), group_(::getegid()) {
    if (change_ && (::setegid(owner->group) != 0 || ::seteuid(owner->user) != 0)) {
      throw Error(ExitCode::machine_refuses, system_error_text("become the invoking user", errno));
    }
  }
  ~ActingAs() {
    // Going on with half of root's rights would leave the machine's settings where they are.
    if (change_ && (::seteuid(0) != 0 || ::setegid(group_) != 0)) std::terminate();
  }

 private:
  bool change_;
  gid_t group_;
};

void create_empty(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd) return;
  throw Error(ExitCode::machine_refuses, system_error_text("create result file " + path, errno),
              "choose another place with --output");
}

std::string command_text(const WorkloadSpec& spec) {
  if (spec.shell) return spec.shell->text;
  nlohmann::ordered_json words = nlohmann::ordered_json::array();
  for (const RawValue& word : spec.command) words.push_back(word.text);
  return words.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const char* outcome_text(const TrialRecord& trial) {
  if (trial.knob_refused) return "knob_refused";
  switch (trial.child.end) {
    case ChildResult::End::exited:
      return trial.child.exit_code == 0 ? "completed" : "exited";
    case ChildResult::End::signalled:
      return "signalled";
    case ChildResult::End::timed_out:
      return "timed_out";
    case ChildResult::End::interrupted:
    case ChildResult::End::not_launched:
      break;
  }
  return "not_launched";
}

}  // namespace

struct Store::TrialStatements {
  explicit TrialStatements(Database& db)
      : trial(db.prepare(
            "INSERT INTO trial (key, point_id, session_id, block, position, started_at, started_ns, "
            "ended_ns, outcome, "
            "exit_code, signal, verdict, verdict_text, energy_j, user_s, system_s, max_rss_bytes, leftovers, "
            "output_tail, "
            "output_bytes, error_tail, error_bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")),
        setting(db.prepare("INSERT INTO trial_setting VALUES (?,?,?,?,?,?,?,?,?)")),
        reading(db.prepare("INSERT OR IGNORE INTO reading VALUES (?,?,?,?,?)")),
        energy(db.prepare("INSERT INTO channel_energy VALUES (?,?,?,?,?,?)")),
        metric(db.prepare("INSERT INTO metric VALUES (?,?,?,?,?)")),
        event(db.prepare("INSERT INTO event (session_id, trial_id, kind, message) VALUES (?,?,?,?)")),
        next(db.prepare("UPDATE session SET current_trial = ? WHERE id = ?")) {}
  Statement trial, setting, reading, energy, metric, event, next;
};

Store Store::create(const std::string& path, const Plan& plan, const std::vector<Channel>& channels,
                    const ExperimentFacts& facts, std::optional<FileOwner> owner) {
  std::optional<ActingAs> owner_acts(std::in_place, owner);
  // A run killed while it makes the file leaves only this, which the next run makes anew.
  const std::string unfinished = path + ".new";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) ::unlink((unfinished + suffix).c_str());
  create_empty(unfinished);
  {
    Store store(Database(unfinished, Database::Mode::read_write));
    store.database_.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", application_id, schema_version));
    Transaction transaction(store.database_);
    store.database_.execute(schema_text);
    store.write_plan(plan, facts);
    transaction.commit();
  }
  // rename() would replace a file that came meanwhile; link() refuses.
  if (::link(unfinished.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    throw Error(ExitCode::machine_refuses, system_error_text("create result file " + path, error),
                "choose another place with --output");
  }
  ::unlink(unfinished.c_str());
  const auto folder = std::filesystem::path(path).parent_path();
  UniqueFd directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  owner_acts.reset();
  Store store = open(path, Database::Mode::read_write);
  store.use_channels(channels);
  return store;
}

Store Store::open(const std::string& path, Database::Mode mode) {
  Store store(Database(path, mode));
  store.check_version(path);
  if (mode == Database::Mode::read_write) {
    store.database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    store.statements_ = std::make_shared<TrialStatements>(store.database_);
  }
  return store;
}

void Store::check_version(const std::string& path) {
  const auto pragma = [&](const char* sql) {
    try {
      Statement statement = database_.prepare(sql);
      return statement.step() ? statement.integer(0) : 0;
    } catch (const Error& error) {
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{} is not a result file of dvfs-plan, or it is damaged: {}", path, error.what()),
          "a result file is what a run wrote, NAME.sqlite; look at it with: sqlite3 FILE 'PRAGMA "
          "integrity_check'");
    }
  };
  if (pragma("PRAGMA application_id") != application_id) {
    throw Error(
        ExitCode::machine_refuses, fmt::format("{} is not a result file of dvfs-plan", path),
        "a result file is what a run wrote, NAME.sqlite; a run finds another place for it with --output");
  }
  const auto version = pragma("PRAGMA user_version");
  if (version > schema_version) {
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} has schema version {}; this program knows up to {}", path, version, schema_version),
        "open it with the dvfs-plan that made it, or a newer one");
  }
}

void Store::write_plan(const Plan& plan, const ExperimentFacts& facts) {
  const Experiment& e = plan.experiment;
  database_.prepare("INSERT INTO experiment VALUES (1,?,?,?,?,?,?,?,?,?,?,?,?)")
      .bind(e.name)
      .bind(e.description)
      .bind(to_string(e.objective))
      .bind(facts.energy_source.empty() ? std::nullopt : std::optional(facts.energy_source))
      .bind(std::to_string(e.seed))
      .bind(static_cast<std::int64_t>(plan.trials.size()))
      .bind(plan.hash)
      .bind(plan.canonical)
      .bind(e.file)
      .bind(e.text)
      .bind(facts.tool_version)
      .bind(facts.created_at)
      .run();
  for (const auto& [name, value] : facts.machine) {
    database_.prepare("INSERT INTO machine_fact VALUES (?,?)").bind(name).bind(value).run();
  }
  for (std::size_t i = 0; i < plan.workloads.size(); ++i) {
    database_.prepare("INSERT INTO workload VALUES (?,?,?)")
        .bind(static_cast<int>(i) + 1)
        .bind(plan.workloads[i].spec.name)
        .bind(command_text(plan.workloads[i].spec))
        .run();
  }
  for (std::size_t i = 0; i < plan.axes.size(); ++i) {
    database_.prepare("INSERT INTO axis VALUES (?,?,?)")
        .bind(static_cast<int>(i) + 1)
        .bind(plan.axes[i].name)
        .bind(plan.axes[i].knob ? "knob" : "parameter")
        .run();
  }
  Statement insert_point = database_.prepare("INSERT INTO point VALUES (?,?,?,?,?)");
  Statement insert_value = database_.prepare("INSERT INTO point_value VALUES (?,?,?,?)");
  for (std::size_t i = 0; i < plan.points.size(); ++i) {
    const PlanPoint& point = plan.points[i];
    insert_point.bind(static_cast<int>(i) + 1)
        .bind(point.key)
        .bind(point.workload + 1)
        .bind(point.scenario)
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

void Store::use_channels(const std::vector<Channel>& channels) {
  channel_ids_.clear();
  channel_kinds_.clear();
  Statement insert = database_.prepare(
      "INSERT OR IGNORE INTO channel (name, probe, unit, kind, domain, contained_in, wraps_at, source) "
      "VALUES (?,?,?,?,?,?,?,?)");
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
      "SELECT name, probe, unit, kind, domain, contained_in, wraps_at, source FROM channel ORDER BY id");
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
    channels.push_back(channel);
  }
  return channels;
}

void Store::begin_session(int pid, const std::string& boot_id, const std::string& tool_version,
                          const std::string& now) {
  database_.prepare("INSERT INTO session (pid, boot_id, tool_version, started_at) VALUES (?,?,?,?)")
      .bind(pid)
      .bind(boot_id)
      .bind(tool_version)
      .bind(now)
      .run();
  session_ = database_.last_row();
}

void Store::end_session(const std::string& how, const std::string& now) {
  database_.prepare("UPDATE session SET ended_how = ?, ended_at = ?, current_trial = NULL WHERE id = ?")
      .bind(how)
      .bind(now)
      .bind(session_)
      .run();
}

std::set<std::string> Store::finished_trials() {
  std::set<std::string> keys;
  Statement s = database_.prepare("SELECT key FROM trial");
  while (s.step()) keys.insert(s.text(0));
  return keys;
}

void Store::write_trial(const TrialRecord& trial, const std::string& next_key) {
  TrialStatements& s = *statements_;
  const ChildResult& child = trial.child;
  const bool launched = child.end != ChildResult::End::not_launched;
  const bool exited = child.end == ChildResult::End::exited;
  Transaction transaction(database_);
  s.trial.bind(trial.key)
      .bind(trial.point + 1)
      .bind(session_)
      .bind(trial.block)
      .bind(trial.position)
      .bind(trial.started_at)
      .bind(launched ? std::optional<std::int64_t>(child.started) : std::nullopt)
      .bind(launched ? std::optional<std::int64_t>(child.ended) : std::nullopt)
      .bind(outcome_text(trial))
      .bind(exited ? std::optional(child.exit_code) : std::nullopt)
      .bind(child.signal != 0 ? std::optional(signal_name(child.signal)) : std::nullopt)
      .bind(to_string(trial.verdict))
      .bind(trial.verdict_text)
      .bind(trial.energy_j)
      .bind(launched ? std::optional(child.user_time.value()) : std::nullopt)
      .bind(launched ? std::optional(child.system_time.value()) : std::nullopt)
      .bind(launched ? std::optional(child.max_rss_bytes) : std::nullopt)
      .bind(child.leftovers)
      .bind_blob(child.output.tail)
      .bind(static_cast<std::int64_t>(child.output.bytes))
      .bind_blob(child.errors.tail)
      .bind(static_cast<std::int64_t>(child.errors.bytes))
      .run();
  const std::int64_t id = database_.last_row();
  for (const SettingRecord& setting : trial.settings) {
    s.setting.bind(id)
        .bind(setting.axis + 1)
        .bind(setting.target)
        .bind(setting.requested)
        .bind(setting.applied)
        .bind(setting.delivered)
        .bind(setting.delivered_low)
        .bind(setting.delivered_high)
        .bind(setting.delivered_readings)
        .run();
  }
  for (const Reading& reading : trial.readings) {
    s.reading.bind(id)
        .bind(channel_ids_.at(reading.channel))
        .bind(static_cast<std::int64_t>(reading.time))
        .bind(reading.value)
        .bind(reading.value ? std::nullopt : std::optional(std::string(to_string(reading.status))))
        .run();
  }
  for (const ChannelEnergy& energy : trial.energies) {
    const bool counter = channel_kinds_.at(energy.channel) == ChannelKind::counter;
    s.energy.bind(id)
        .bind(channel_ids_.at(energy.channel))
        .bind(counter ? "counter" : "integral")
        .bind(energy.joules)
        .bind(energy.readings)
        .bind(energy.fault == EnergyFault::none ? std::nullopt
                                                : std::optional(std::string(to_string(energy.fault))))
        .run();
  }
  for (std::size_t i = 0; i < trial.metrics.size(); ++i) {
    const MetricRecord& metric = trial.metrics[i];
    s.metric.bind(id)
        .bind(static_cast<int>(i) + 1)
        .bind(metric.name)
        .bind(metric.value)
        .bind(metric.unit)
        .run();
  }
  for (const EventRecord& event : trial.events)
    s.event.bind(session_).bind(id).bind(event.kind).bind(event.message).run();
  s.next.bind(next_key.empty() ? std::nullopt : std::optional(next_key)).bind(session_).run();
  transaction.commit();
}

void Store::write_event(const EventRecord& event) {
  statements_->event.bind(session_).bind_null().bind(event.kind).bind(event.message).run();
}

Store::Progress Store::progress() {
  Progress progress;
  Statement counts = database_.prepare(
      "SELECT name, planned_trials, (SELECT count(*) FROM trial), (SELECT count(*) FROM trial WHERE verdict "
      "= 'ok'), (SELECT max(started_at) FROM trial) FROM experiment");
  if (counts.step()) {
    progress.name = counts.text(0);
    progress.planned = static_cast<int>(counts.integer(1));
    progress.finished = static_cast<int>(counts.integer(2));
    progress.counted = static_cast<int>(counts.integer(3));
    progress.last_finished_at = counts.text(4);
  }
  Statement pace = database_.prepare(
      "SELECT avg((julianday(started_at) - julianday(before)) * 86400) FROM (SELECT started_at, "
      "lag(started_at) OVER (ORDER BY id) AS before, session_id, lag(session_id) OVER (ORDER BY id) AS "
      "session_before FROM trial ORDER BY id DESC LIMIT 50) WHERE session_id = session_before");
  if (pace.step()) progress.mean_trial_seconds = pace.maybe_real(0);
  Statement session = database_.prepare(
      "SELECT pid, started_at, ended_how, current_trial, boot_id FROM session ORDER BY id DESC LIMIT 1");
  if (session.step()) {
    progress.session_pid = static_cast<int>(session.integer(0));
    progress.session_started_at = session.text(1);
    progress.session_ended_how = session.text(2);
    progress.current_trial = session.text(3);
    progress.session_boot_id = session.text(4);
  }
  Statement warnings = database_.prepare("SELECT kind, message FROM event ORDER BY id DESC LIMIT 5");
  while (warnings.step()) progress.last_warnings.push_back({warnings.text(0), warnings.text(1)});
  return progress;
}

std::vector<std::string> Store::session_warnings() {
  std::vector<std::string> warnings;
  Statement s =
      database_.prepare("SELECT message FROM event WHERE trial_id IS NULL GROUP BY message ORDER BY min(id)");
  while (s.step()) warnings.push_back(s.text(0));
  return warnings;
}

ExperimentRow Store::experiment() {
  ExperimentRow row;
  Statement s = database_.prepare(
      "SELECT name, description, objective, energy_source, planned_trials, created_at, tool_version FROM "
      "experiment");
  if (!s.step()) throw Error(ExitCode::machine_refuses, "result file: it holds no experiment");
  row.name = s.text(0);
  row.description = s.text(1);
  row.objective = parse_objective(s.text(2)).value_or(Objective::energy);
  row.energy_source = s.maybe_text(3);
  row.planned_trials = static_cast<int>(s.integer(4));
  row.created_at = s.text(5);
  row.tool_version = s.text(6);
  Statement axes = database_.prepare("SELECT name, kind FROM axis ORDER BY id");
  while (axes.step()) row.axes.emplace_back(axes.text(0), axes.text(1));
  return row;
}

std::vector<TrialRow> Store::trials() {
  std::map<std::string, std::vector<AxisSetting>> settings;
  Statement values = database_.prepare(
      "SELECT p.key, a.name, v.text, v.number FROM point_value v JOIN point p ON p.id = v.point_id JOIN axis "
      "a ON a.id = v.axis_id ORDER BY p.id, a.id");
  while (values.step())
    settings[values.text(0)].push_back({values.text(1), values.text(2), values.maybe_real(3)});
  std::vector<TrialRow> rows;
  Statement delivered = database_.prepare(
      "SELECT axis, target, requested, applied, delivered FROM settings WHERE trial = ? ORDER BY axis, "
      "target");
  Statement s = database_.prepare(
      "SELECT trial, key, workload, scenario, point, is_reference, block, position, started_at, outcome, "
      "verdict, verdict_text, exit_code, signal, time_s, energy_j, mean_power_w, objective_value FROM trials "
      "ORDER BY trial");
  while (s.step()) {
    TrialRow row;
    row.id = s.integer(0);
    row.key = s.text(1);
    row.workload = s.text(2);
    row.scenario = s.text(3);
    row.point = s.text(4);
    row.is_reference = s.integer(5) != 0;
    row.block = static_cast<int>(s.integer(6));
    row.position = static_cast<int>(s.integer(7));
    row.started_at = s.text(8);
    row.outcome = s.text(9);
    row.verdict = s.text(10);
    row.verdict_text = s.text(11);
    if (const auto code = s.maybe_integer(12)) row.exit_code = static_cast<int>(*code);
    row.signal = s.maybe_text(13);
    row.time_s = s.maybe_real(14);
    row.energy_j = s.maybe_real(15);
    row.mean_power_w = s.maybe_real(16);
    row.objective_value = s.maybe_real(17);
    row.settings = settings[row.point];
    delivered.bind(row.id);
    while (delivered.step())
      row.applied.push_back({delivered.text(0), delivered.text(1), delivered.text(2), delivered.maybe_text(3),
                             delivered.maybe_real(4)});
    delivered.reset();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace dvfs_plan
