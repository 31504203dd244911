#include "results/store/parts.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/sha256.hpp"
#include "results/store/digest.hpp"
#include "results/store/migrate.hpp"

namespace dvfs_plan {
namespace {

using PartJson = nlohmann::json;
constexpr std::string_view part_head = "dvfs-plan part 1\n";

// Tables of a trial, besides its own row, in the order in which they may be written.
constexpr const char* tables_of_trial[] = {"region",        "trial_setting",  "trial_power_limit",
                                           "reading_times", "reading_values", "channel_energy",
                                           "metric",        "trial_instance", "event"};
// What numbers of one file stand for, by the column's name: the table and what is the same in all files.
struct ForeignName {
  const char* column;
  const char* table;
  const char* name;
};
constexpr ForeignName foreign_names[] = {{"channel_id", "channel", "name"},
                                         {"other_id", "channel", "name"},
                                         {"axis_id", "axis", "name"},
                                         {"point_id", "point", "key"}};

const ForeignName* foreign_name(std::string_view column) {
  for (const ForeignName& one : foreign_names) {
    if (column == one.column) return &one;
  }
  return nullptr;
}

PartJson value_of(const Statement& s, int column) {
  switch (s.type(column)) {
    case Statement::Type::null:
      return nullptr;
    case Statement::Type::integer:
      return s.integer(column);
    case Statement::Type::real:
      return s.real(column);
    case Statement::Type::text:
      return s.text(column);
    case Statement::Type::blob:
      break;
  }
  const std::string bytes = s.text(column);
  return PartJson::binary(std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
}

// Reads rows of one table, its statement prepared once.
class RowReader {
 public:
  RowReader(Database& database, const std::string& table, const std::string& where) {
    std::string sql;
    Statement columns = database.prepare("SELECT name FROM pragma_table_info(?)");
    columns.bind(table);
    while (columns.step()) {
      const std::string column = columns.text(0);
      names_.push_back(column);
      const ForeignName* foreign = foreign_name(column);
      sql += sql.empty() ? "SELECT " : ", ";
      sql += foreign == nullptr ? "t." + column
                                : fmt::format("(SELECT f.{} FROM {} f WHERE f.id = t.{})", foreign->name,
                                              foreign->table, column);
    }
    statement_.emplace(database.prepare(fmt::format("{} FROM {} t WHERE {}", sql, table, where)));
  }

  PartJson rows(std::int64_t id) {
    PartJson rows = PartJson::array();
    statement_->bind(id);
    while (statement_->step()) {
      PartJson row = PartJson::array();
      for (int column = 0; column < statement_->columns(); ++column)
        row.push_back(value_of(*statement_, column));
      rows.push_back(std::move(row));
    }
    statement_->reset();
    return {{"columns", names_}, {"rows", std::move(rows)}};
  }

 private:
  std::vector<std::string> names_;
  std::optional<Statement> statement_;
};

// All that is read of a machine's own file.
class PartReader {
 public:
  explicit PartReader(Database& database)
      : database_(database),
        session_(database, "session", "t.id = ?"),
        audit_(database, "sensor_audit", "t.session_id = ?"),
        agreement_(database, "sensor_agreement", "t.session_id = ?"),
        session_events_(database, "event", "t.session_id = ? AND t.trial_id IS NULL ORDER BY t.id"),
        // All that the file has: a trial may read one that the session's look at the sensors did not.
        channels_(database, "channel", "?1 IS NOT NULL ORDER BY t.id"),
        trial_(database, "trial", "t.id = ?") {
    for (const char* table : tables_of_trial)
      tables_.emplace_back(table, RowReader(database, table,
                                            std::string(table) == "event" ? "t.trial_id = ? ORDER BY t.id"
                                                                          : "t.trial_id = ?"));
  }

  PartJson session(std::int64_t id) {
    return {{"session", session_.rows(id)},
            {"channels", channels_.rows(id)},
            {"audit", audit_.rows(id)},
            {"agreements", agreement_.rows(id)},
            {"events", session_events_.rows(id)}};
  }

  PartJson trial(std::int64_t id, std::int64_t session) {
    PartJson part{{"of_session", identity(session)}, {"trial", trial_.rows(id)}};
    for (auto& [table, reader] : tables_) {
      PartJson rows = reader.rows(id);
      if (!rows["rows"].empty()) part["tables"].push_back({{"table", table}, {"content", std::move(rows)}});
    }
    return part;
  }

  // What a session is known by in any file.
  PartJson identity(std::int64_t session) {
    Statement s = database_.prepare("SELECT pid, boot_id, started_at FROM session WHERE id = ?");
    s.bind(session);
    if (!s.step()) throw Error(ExitCode::machine_refuses, "result file: a trial's session is not there");
    return {s.integer(0), s.text(1), s.text(2)};
  }

 private:
  Database& database_;
  RowReader session_, audit_, agreement_, session_events_, channels_, trial_;
  std::vector<std::pair<std::string, RowReader>> tables_;
};

PartJson run_json(const BlockRun& run) {
  return {{"origin", run.origin}, {"block", run.block}, {"node", run.node}, {"task", run.task}};
}

std::string part_bytes(Store& own, const BlockRun& run, PartJson content) {
  content["schema"] = newest_schema_version();
  content["plan"] = own.plan_hash();
  content["run"] = run_json(run);
  const std::vector<std::uint8_t> cbor = PartJson::to_cbor(content);
  const std::string_view body(reinterpret_cast<const char*>(cbor.data()), cbor.size());
  return fmt::format("{}{}\n{}", part_head, sha256(body), body);
}

BlockRun known_run(Store& own) {
  const auto run = block_run_of(own);
  if (!run) throw Error(ExitCode::machine_refuses, "result file: it is not a part of another result");
  return *run;
}

int column_of(const PartJson& rows, std::string_view name) {
  const PartJson& columns = rows.at("columns");
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].get_ref<const std::string&>() == name) return static_cast<int>(i);
  }
  throw Error(ExitCode::machine_refuses, fmt::format("a part has no column '{}'", name));
}

}  // namespace

void note_block_run(Store& own, const BlockRun& run) {
  Transaction transaction(own.database());
  LaterSeal later(own.database());
  own.database()
      .prepare(
          "INSERT OR IGNORE INTO block_run (id, origin, block, node, task, complete) VALUES (1,?,?,?,?,0)")
      .bind(run.origin)
      .bind(run.block)
      .bind(run.node)
      .bind(run.task.empty() ? std::nullopt : std::optional(run.task))
      .run();
  own.database().execute("UPDATE session SET block_run_id = 1 WHERE id = (SELECT max(id) FROM session)");
  later.seal();
  transaction.commit();
}

void forget_trials(Store& store) {
  // What refers to others before what is referred to.
  for (const char* table : {"event",
                            "trial_instance",
                            "metric",
                            "channel_energy",
                            "reading_values",
                            "reading_times",
                            "trial_power_limit",
                            "trial_setting",
                            "region",
                            "trial",
                            "sensor_agreement",
                            "sensor_audit",
                            "recheck",
                            "session",
                            "block_run",
                            "channel",
                            "conclusion",
                            "handed_in",
                            "submission",
                            "node_fact",
                            "node_left_out"})
    store.database().execute(fmt::format("DELETE FROM {}", table));
  store.database().execute("UPDATE point SET growth_id = NULL; DELETE FROM growth");
  store.database().execute("UPDATE seal SET trials = 0, looks = 0");
  seal_plan(store.database());
  seal_later(store.database());
}

std::vector<BlockRun> block_runs(Store& store) {
  std::vector<BlockRun> runs;
  Statement s = store.database().prepare(
      "SELECT b.origin, b.block, b.node, b.task, b.complete, b.left_out, v.trials FROM (SELECT r.id, "
      "count(CASE WHEN t.role NOT IN ('warm_up', 'idle_before', 'idle_after') THEN 1 END) AS trials FROM "
      "block_run r LEFT JOIN session s ON s.block_run_id = r.id LEFT JOIN trial t ON t.session_id = s.id "
      "GROUP "
      "BY r.id) v JOIN block_run b ON b.id = v.id ORDER BY b.block, b.id");
  while (s.step())
    runs.push_back({s.text(0), static_cast<int>(s.integer(1)), s.text(2), s.text(3), s.integer(4) != 0,
                    s.text(5), static_cast<int>(s.integer(6))});
  return runs;
}

std::optional<BlockRun> block_run_of(Store& own) {
  const auto runs = block_runs(own);
  return runs.empty() ? std::nullopt : std::optional(runs.front());
}

std::string session_part(Store& own, const std::map<std::string, std::string>& facts) {
  Statement last = own.database().prepare("SELECT max(id) FROM session");
  last.step();
  PartJson part = PartReader(own.database()).session(last.integer(0));
  part["facts"] = facts;
  return part_bytes(own, known_run(own), std::move(part));
}

std::string trial_part(Store& own, const std::string& key) {
  Statement trial = own.database().prepare("SELECT id, session_id FROM trial WHERE key = ?");
  trial.bind(key);
  if (!trial.step()) throw Error(ExitCode::machine_refuses, fmt::format("result file: no trial '{}'", key));
  return part_bytes(own, known_run(own),
                    PartReader(own.database()).trial(trial.integer(0), trial.integer(1)));
}

std::string end_part(Store& own, const std::string& now) {
  Statement last = own.database().prepare("SELECT max(id), (SELECT count(*) FROM trial) FROM session");
  last.step();
  return part_bytes(own, known_run(own),
                    {{"complete", true},
                     {"trials", last.integer(1)},
                     {"ended_at", now},
                     {"of_session", PartReader(own.database()).identity(last.integer(0))}});
}

struct PartTaker::Impl {
  explicit Impl(Store& store)
      : into(store),
        db(store.database()),
        plan(store.plan_hash()),
        is_search(db.prepare("SELECT 1 FROM search").step()) {}

  TakenPart take(const std::string& name, std::string_view bytes) {
    if (!known_name) known_name.emplace(db.prepare("SELECT 1 FROM handed_in WHERE name = ?"));
    known_name->bind(name);
    const bool known = known_name->step();
    known_name->reset();
    if (known) return {TakenPart::How::known};
    const auto refuse = [](std::string why) { return TakenPart{TakenPart::How::refused, std::move(why)}; };
    if (!bytes.starts_with(part_head)) return refuse("it is not a part of a result");
    const auto end = bytes.find('\n', part_head.size());
    if (end == std::string_view::npos) return refuse("it is cut short");
    const std::string_view digest = bytes.substr(part_head.size(), end - part_head.size());
    const std::string_view body = bytes.substr(end + 1);
    if (sha256(body) != digest) return refuse("it is damaged: its checksum is another one");
    try {
      const PartJson part = PartJson::from_cbor(body);
      if (part.at("schema").get<int>() != newest_schema_version())
        return refuse(
            fmt::format("it is of schema version {}, and this program writes {}: the same dvfs-plan must "
                        "be on all machines",
                        part.at("schema").get<int>(), newest_schema_version()));
      if (part.at("plan").get<std::string>() != plan) return refuse("it is of another plan");
      // All of it or nothing: what does not fit must not keep the others out.
      db.execute("SAVEPOINT part");
      in_part = true;
      const TakenPart taken = take_json(part);
      if (taken.how == TakenPart::How::taken)
        db.prepare("INSERT INTO handed_in (name) VALUES (?)").bind(name).run();
      db.execute("RELEASE part");
      in_part = false;
      return taken;
    } catch (const StoreBusy&) {
      throw;
    } catch (const StoreDamaged&) {
      throw;
    } catch (const Error& fault) {
      forget_part();
      return refuse(fault.what());
    } catch (const PartJson::exception& fault) {
      forget_part();
      return refuse(fmt::format("it cannot be read: {}", fault.what()));
    }
  }

  // Once for all that is taken until it is settled: its sum is made anew each time.
  void will_change_later() {
    if (!later) later.emplace(db);
  }

  // Where it was begun to be taken; what was remembered of rows may be of those.
  void forget_part() {
    if (!std::exchange(in_part, false)) return;
    db.execute("ROLLBACK TO part; RELEASE part");
    runs.clear();
    sessions.clear();
    numbers.clear();
  }

  TakenPart take_json(const PartJson& part) {
    const std::int64_t run = run_id(part.at("run"));
    touched.insert(part.at("run").at("block").get<int>());
    if (part.contains("complete")) {
      const auto session = session_id(run, part.at("of_session"));
      if (!session) return no_session_yet();
      Statement there = db.prepare(
          "SELECT count(*) FROM trial t JOIN session s ON s.id = t.session_id WHERE s.block_run_id = ?");
      there.bind(run);
      there.step();
      // One that was damaged on its way never comes: then the block is not complete, and is run again.
      if (there.integer(0) < part.at("trials").get<std::int64_t>())
        return {TakenPart::How::waits, "not all of its trials have come yet"};
      will_change_later();
      db.prepare("UPDATE session SET ended_how = 'done', ended_at = ? WHERE id = ?")
          .bind(part.at("ended_at").get<std::string>())
          .bind(*session)
          .run();
      db.prepare("UPDATE block_run SET complete = 1 WHERE id = ?").bind(run).run();
      return {};
    }
    if (part.contains("session")) {
      take_session(part, run);
      return {};
    }
    return take_trial(part, run);
  }

  std::int64_t run_id(const PartJson& run) {
    const std::string& origin = run.at("origin").get_ref<const std::string&>();
    if (const auto known = runs.find(origin); known != runs.end()) return known->second;
    Statement find = db.prepare("SELECT id FROM block_run WHERE origin = ?");
    find.bind(origin);
    if (find.step()) return runs[origin] = find.integer(0);
    const std::string task = run.at("task").get<std::string>();
    will_change_later();
    db.prepare("INSERT INTO block_run (origin, block, node, task, complete) VALUES (?,?,?,?,0)")
        .bind(origin)
        .bind(run.at("block").get<int>())
        .bind(run.at("node").get<std::string>())
        .bind(task.empty() ? std::nullopt : std::optional(task))
        .run();
    return runs[origin] = db.last_row();
  }

  static TakenPart no_session_yet() {
    return {TakenPart::How::waits, "the part that says what its session is has not come yet"};
  }

  static std::string session_key(std::int64_t run, const PartJson& identity) {
    return fmt::format("{} {}", run, identity.dump());
  }

  std::optional<std::int64_t> session_id(std::int64_t run, const PartJson& identity) {
    const std::string key = session_key(run, identity);
    if (const auto known = sessions.find(key); known != sessions.end()) return known->second;
    Statement find = db.prepare(
        "SELECT id FROM session WHERE block_run_id = ? AND pid = ? AND boot_id = ? AND started_at = ?");
    find.bind(run)
        .bind(identity.at(0).get<std::int64_t>())
        .bind(identity.at(1).get<std::string>())
        .bind(identity.at(2).get<std::string>());
    if (!find.step()) return std::nullopt;
    return sessions[key] = find.integer(0);
  }

  void take_session(const PartJson& part, std::int64_t run) {
    const PartJson& rows = part.at("session");
    const PartJson& row = rows.at("rows").at(0);
    const auto at = [&](const char* name) { return row.at(static_cast<std::size_t>(column_of(rows, name))); };
    if (session_id(run, {at("pid"), at("boot_id"), at("started_at")})) return;
    for (const PartJson& channel : part.at("channels").at("rows"))
      insert("channel", part.at("channels").at("columns"), channel, {{"id", nullptr}}, true);
    will_change_later();
    insert("session", rows.at("columns"), row, {{"id", nullptr}, {"block_run_id", run}});
    const std::int64_t session = db.last_row();
    for (const auto& [name, table] :
         {std::pair{"audit", "sensor_audit"}, std::pair{"agreements", "sensor_agreement"}}) {
      for (const PartJson& one : part.at(name).at("rows"))
        insert(table, part.at(name).at("columns"), one, {{"session_id", session}});
    }
    seal_look(db, session);
    for (const PartJson& one : part.at("events").at("rows"))
      insert("event", part.at("events").at("columns"), one, {{"id", nullptr}, {"session_id", session}});
    if (!part.contains("facts")) return;
    Statement fact = db.prepare("INSERT OR REPLACE INTO node_fact (node, name, value) VALUES (?,?,?)");
    for (const auto& [name, value] : part.at("facts").items())
      fact.bind(part.at("run").at("node").get<std::string>()).bind(name).bind(value.get<std::string>()).run();
  }

  TakenPart take_trial(const PartJson& part, std::int64_t run) {
    const auto session = session_id(run, part.at("of_session"));
    if (!session) return no_session_yet();
    const PartJson& rows = part.at("trial");
    PartJson row = rows.at("rows").at(0);
    const auto key_at = static_cast<std::size_t>(column_of(rows, "key"));
    const std::string key = row.at(key_at).get<std::string>();
    // A machine's own file has each trial once: a second part of it says nothing new.
    Statement same = db.prepare(
        "SELECT 1 FROM trial t JOIN session s ON s.id = t.session_id WHERE s.block_run_id = ? AND (t.key = ? "
        "OR "
        "t.key = ?)");
    const std::string set_aside = aside_key(key, run);
    same.bind(run).bind(key).bind(set_aside);
    if (same.step()) return {TakenPart::How::taken};
    // Until it is settled which machine's block counts it is beside the others.
    row[key_at] = set_aside;
    if (row.at(static_cast<std::size_t>(column_of(rows, "given_up"))) != 0) will_change_later();
    insert("trial", rows.at("columns"), row, {{"id", nullptr}, {"session_id", *session}});
    const std::int64_t trial = db.last_row();
    std::map<std::int64_t, std::int64_t> times;
    for (const PartJson& table : part.value("tables", PartJson::array())) {
      const std::string& name = table.at("table").get_ref<const std::string&>();
      const PartJson& content = table.at("content");
      for (const PartJson& one : content.at("rows")) {
        std::map<std::string, PartJson> replaced{{"trial_id", trial}};
        if (name == "event") replaced["session_id"] = *session;
        if (name == "event" || name == "reading_times" || name == "reading_values") replaced["id"] = nullptr;
        if (name == "reading_values")
          replaced["times_id"] = times.at(one.at(static_cast<std::size_t>(column_of(content, "times_id"))));
        insert(name, content.at("columns"), one, replaced);
        if (name == "reading_times")
          times[one.at(static_cast<std::size_t>(column_of(content, "id")))] = db.last_row();
      }
    }
    // Under its number in this file. What was handed in has a checksum of its own.
    seals.seal(trial);
    return {};
  }

  // The key of a trial that does not count, since its block counts as another machine ran it.
  static std::string aside_key(const std::string& key, std::int64_t run) {
    return fmt::format("{} (run {} of its block)", key, run);
  }

  void insert(const std::string& table, const PartJson& columns, const PartJson& row,
              const std::map<std::string, PartJson>& replaced, bool or_ignore = false) {
    std::string shape = table;
    for (const PartJson& column : columns) shape += "," + column.get_ref<const std::string&>();
    auto known = inserts.find(shape);
    if (known == inserts.end()) {
      std::string names, places;
      for (const PartJson& column : columns) {
        names += (names.empty() ? "" : ", ") + column.get<std::string>();
        places += places.empty() ? "?" : ",?";
      }
      require_columns(table, columns);
      known =
          inserts
              .emplace(shape, db.prepare(fmt::format("INSERT {}INTO {} ({}) VALUES ({})",
                                                     or_ignore ? "OR IGNORE " : "", table, names, places)))
              .first;
    }
    Statement& statement = known->second;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string& column = columns[i].get_ref<const std::string&>();
      const auto other = replaced.find(column);
      if (other != replaced.end())
        bind(statement, other->second);
      else if (const ForeignName* foreign = foreign_name(column); foreign != nullptr && !row.at(i).is_null())
        statement.bind(number_of(*foreign, row.at(i).get<std::string>()));
      else
        bind(statement, row.at(i));
    }
    statement.run();
  }

  // A part comes from elsewhere: its columns are names of columns, and nothing else.
  void require_columns(const std::string& table, const PartJson& columns) {
    std::set<std::string> ours;
    Statement info = db.prepare("SELECT name FROM pragma_table_info(?)");
    info.bind(table);
    while (info.step()) ours.insert(info.text(0));
    for (const PartJson& column : columns) {
      if (!ours.contains(column.get<std::string>()))
        throw Error(ExitCode::machine_refuses, fmt::format("a part has a column '{}' that table '{}' has not",
                                                           column.get<std::string>(), table));
    }
  }

  std::int64_t number_of(const ForeignName& foreign, const std::string& name) {
    const std::pair<std::string, std::string> key{foreign.table, name};
    if (const auto known = numbers.find(key); known != numbers.end()) return known->second;
    Statement find = db.prepare(fmt::format("SELECT id FROM {} WHERE {} = ?", foreign.table, foreign.name));
    find.bind(name);
    if (!find.step())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("a part names the {} '{}', which is not in the result", foreign.table, name));
    return numbers[key] = find.integer(0);
  }

  static void bind(Statement& statement, const PartJson& value) {
    if (value.is_null())
      statement.bind_null();
    else if (value.is_number_float())
      statement.bind(value.get<double>());
    else if (value.is_number())
      statement.bind(value.get<std::int64_t>());
    else if (value.is_binary()) {
      const auto& bytes = value.get_binary();
      statement.bind_blob(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    } else
      statement.bind(value.get_ref<const std::string&>());
  }

  int take_result(Store& other, const std::string& node) {
    Database& from = other.database();
    PartReader reader(from);
    Statement last = db.prepare("SELECT coalesce(max(block), 0) FROM block_run");
    last.step();
    int next_block = static_cast<int>(last.integer(0)) + 1;
    const std::string file = identity_of(from);
    const int first_of_form = other.first_block_of_form();
    take_growths(from, node);
    std::map<std::string, int> block_of;  // by origin
    int taken = 0;
    Statement parts = from.prepare(
        "SELECT DISTINCT t.session_id, t.block, r.origin, r.node, r.task, r.left_out FROM trial t JOIN "
        "session s ON "
        "s.id = t.session_id LEFT JOIN block_run r ON r.id = s.block_run_id WHERE NOT s.recheck ORDER BY "
        "t.block, "
        "t.session_id");
    Statement trials = from.prepare("SELECT id FROM trial WHERE session_id = ? AND block = ? ORDER BY id");
    while (parts.step()) {
      if (!parts.is_null(5)) continue;  // what does not count there does not count here
      const std::int64_t session = parts.integer(0);
      const int block = static_cast<int>(parts.integer(1));
      const std::string origin = parts.is_null(2) ? fmt::format("{} block {}", file, block) : parts.text(2);
      if (!block_of.contains(origin)) {
        Statement known = db.prepare("SELECT 1 FROM block_run WHERE origin = ?");
        known.bind(origin);
        block_of[origin] = known.step() ? 0 : next_block++;
      }
      const int new_block = block_of[origin];
      if (new_block == 0) continue;
      PartJson part = reader.session(session);
      part["run"] = run_json({origin, new_block, parts.is_null(3) ? node : parts.text(3), parts.text(4)});
      part["facts"] = facts_of(other, parts.text(3));
      const std::int64_t run = run_id(part["run"]);
      touched.insert(new_block);
      take_session(part, run);
      will_change_later();
      db.prepare("UPDATE block_run SET complete = 1 WHERE id = ?").bind(run).run();
      trials.bind(session).bind(block);
      while (trials.step()) {
        PartJson trial = reader.trial(trials.integer(0), session);
        PartJson& rows = trial["trial"];
        if (!is_of_a_point_here(rows, from)) continue;
        put_in_block(rows, block, new_block);
        // What confirmed a former form's answer has helped to choose the one of now.
        if (block < first_of_form) cell(rows, "confirms") = 0;
        take_trial(trial, run);
        ++taken;
      }
      trials.reset();
    }
    will_change_later();
    db.prepare(
          "UPDATE experiment SET planned_trials = (SELECT count(*) FROM trial WHERE attempt = 1 AND role NOT "
          "IN "
          "('warm_up', 'idle_before', 'idle_after'))")
        .run();
    seal_plan(db);
    return taken;
  }

  // A file that one machine made, whatever it is called: by the session that ran its first trial, since a file may be copied before that and both go on.
  static std::string identity_of(Database& from) {
    Statement s = from.prepare(
        "SELECT e.created_at || ' ' || coalesce((SELECT boot_id || ' ' || pid FROM session WHERE id IN "
        "(SELECT "
        "session_id FROM trial) ORDER BY id LIMIT 1), '') FROM experiment e");
    s.step();
    return s.text(0);
  }

  static std::map<std::string, std::string> facts_of(Store& other, const std::string& node) {
    if (node.empty()) return other.machine_facts();
    return node_facts(other)[node];
  }

  static PartJson& cell(PartJson& rows, std::string_view column) {
    return rows.at("rows").at(0)[static_cast<std::size_t>(column_of(rows, column))];
  }

  // A setting that one machine's file had once, and that the plan of all has no more, may be in no other file: its trials count nowhere. A
  // window at rest is of an operating point, whichever setting stood for it.
  bool is_of_a_point_here(PartJson& rows, Database& from) {
    PartJson& key = cell(rows, "point_id");
    if (key.is_null()) return true;
    Statement here = db.prepare("SELECT 1 FROM point WHERE key = ?");
    here.bind(key.get<std::string>());
    if (here.step()) return true;
    if (!is_idle(parse_role(cell(rows, "role").get<std::string>()))) return false;
    Statement operating = from.prepare("SELECT operating_point FROM point WHERE key = ?");
    operating.bind(key.get<std::string>());
    if (!operating.step()) return false;
    Statement other = db.prepare("SELECT key FROM point WHERE operating_point = ? ORDER BY id");
    other.bind(operating.text(0));
    if (!other.step()) return false;
    key = other.text(0);
    return true;
  }

  // How each machine's file changed. In which of the blocks what was added is differs from machine to machine: it is told of none
  // (first_block 1), and the plan of all has the blocks that it asks for.
  void take_growths(Database& from, const std::string& node) {
    will_change_later();
    PartJson references = PartJson::array();
    Statement reference = db.prepare("SELECT key FROM point WHERE is_reference ORDER BY id");
    while (reference.step()) references.push_back(reference.text(0));
    Statement growths =
        from.prepare("SELECT grown_at, changes, source_before, first_block FROM growth ORDER BY id");
    while (growths.step()) {
      const bool is_joined = growths.integer(3) == 1;  // and says whose it is
      db.prepare(
            "INSERT INTO growth (grown_at, changes, first_block, first_position, new_blocks, old_blocks, "
            "blocks_before, references_before, source_before) SELECT ?, ?, 1, 1, 0, 0, json_extract(CASE "
            "WHEN "
            "json_valid(plan_json) THEN plan_json ELSE '{}' END, '$.repeat.min'), ?, ? FROM experiment")
          .bind(growths.text(0))
          .bind(is_joined ? growths.text(1) : fmt::format("{}; in the result of {}", growths.text(1), node))
          .bind(references.dump())
          .bind(growths.text(2))
          .run();
    }
  }

  static void put_in_block(PartJson& rows, int from, int to) {
    cell(rows, "block") = to;
    PartJson& key = cell(rows, "key");
    std::string text = key.get<std::string>();
    const std::string old = fmt::format(" #{}", from);
    if (const auto at = text.rfind(old); at != std::string::npos)
      text.replace(at, old.size(), fmt::format(" #{}", to));
    key = text;
  }

  void settle() {
    struct Candidate {
      std::int64_t id = 0;
      std::string origin, node, left_out;
      bool complete = false;
      std::int64_t trials = 0;
      std::string began;
    };
    std::map<int, std::vector<Candidate>> blocks;
    if (!settled) {
      Statement all = db.prepare("SELECT DISTINCT block FROM block_run");
      while (all.step()) touched.insert(static_cast<int>(all.integer(0)));
    }
    Statement s = db.prepare(
        "SELECT r.id, r.origin, r.node, r.left_out, r.complete, r.block, (SELECT count(*) FROM trial t JOIN "
        "session s ON s.id = t.session_id WHERE s.block_run_id = r.id), coalesce((SELECT min(started_at) "
        "FROM "
        "session s WHERE s.block_run_id = r.id), '') FROM block_run r WHERE r.block = ?");
    for (const int block : touched) {
      s.bind(block);
      while (s.step())
        blocks[block].push_back(
            {s.integer(0), s.text(1), s.text(2), s.text(3), s.integer(4) != 0, s.integer(6), s.text(7)});
      s.reset();
    }
    touched.clear();
    settled = true;
    bool changed = false;
    std::vector<std::pair<std::int64_t, bool>> moved;  // run, whether it counts
    for (auto& [block, runs_of_block] : blocks) {
      const Candidate* best = nullptr;
      for (const Candidate& one : runs_of_block) {
        if (best == nullptr || better(one, *best)) best = &one;
      }
      for (const Candidate& one : runs_of_block) {
        const std::string why =
            &one == best ? "" : fmt::format("block {} counts as {} ran it", block, best->node);
        if (why != one.left_out) {
          changed = true;
          will_change_later();
          db.prepare("UPDATE block_run SET left_out = ? WHERE id = ?")
              .bind(why.empty() ? std::nullopt : std::optional(why))
              .bind(one.id)
              .run();
        }
        moved.emplace_back(one.id, &one == best);
      }
    }
    // First those that step aside, so that no two ever have one key.
    for (const bool counts : {false, true}) {
      for (const auto& [run, is_best] : moved) {
        if (is_best == counts) rename(run, counts);
      }
    }
    if (later) later->seal();
    later.reset();
    // What was concluded before is of other trials.
    if (changed) db.execute("DELETE FROM conclusion");
  }

  template <class Candidate>
  bool better(const Candidate& a, const Candidate& b) const {
    // A search is over for whoever comes late: a block is complete then with less than another machine had finished of it.
    if (is_search && a.trials != b.trials) return a.trials > b.trials;
    if (a.complete != b.complete) return a.complete;
    if (!a.complete && a.trials != b.trials) return a.trials > b.trials;
    return std::pair(a.began, a.origin) < std::pair(b.began, b.origin);
  }

  void rename(std::int64_t run, bool counts) {
    const std::string ending = aside_key("", run);
    const char* sql = counts ? "UPDATE trial SET key = substr(key, 1, length(key) - length(?1)) WHERE "
                               "substr(key, -length(?1)) = "
                               "?1 AND session_id IN (SELECT id FROM session WHERE block_run_id = ?2)"
                             : "UPDATE trial SET key = key || ?1 WHERE substr(key, -length(?1)) <> ?1 AND "
                               "session_id IN (SELECT "
                               "id FROM session WHERE block_run_id = ?2)";
    db.prepare(sql).bind(ending).bind(run).run();
  }

  Store& into;
  Database& db;
  TrialSeals seals{db};
  std::string plan;
  bool is_search;  // blocks are not planned
  std::optional<Statement> known_name;
  std::map<std::string, std::int64_t> runs;
  std::map<std::string, std::int64_t> sessions;
  std::map<std::pair<std::string, std::string>, std::int64_t> numbers;
  std::map<std::string, Statement> inserts;
  std::optional<LaterSeal> later;
  std::set<int> touched;  // blocks of which something was taken since it was settled
  bool in_part = false;   // one is being taken
  bool settled = false;   // at all: what another collector left is settled once
};

PartTaker::PartTaker(Store& into) : impl_(std::make_unique<Impl>(into)) {}
PartTaker::~PartTaker() = default;
TakenPart PartTaker::take(const std::string& name, std::string_view bytes) {
  return impl_->take(name, bytes);
}
int PartTaker::take_result(Store& other, const std::string& node) {
  return impl_->take_result(other, node);
}
void PartTaker::settle() {
  impl_->settle();
}

std::map<std::string, std::map<std::string, std::string>> node_facts(Store& store) {
  std::map<std::string, std::map<std::string, std::string>> facts;
  Statement s = store.database().prepare("SELECT node, name, value FROM node_fact");
  while (s.step()) facts[s.text(0)][s.text(1)] = s.text(2);
  return facts;
}

void note_submission(Store& store, const Submission& submission) {
  Transaction transaction(store.database());
  LaterSeal later(store.database());
  store.database()
      .prepare("INSERT INTO submission (job, blocks, submitted_at) VALUES (?,?,?)")
      .bind(submission.job)
      .bind(PartJson(submission.blocks).dump())
      .bind(submission.submitted_at)
      .run();
  later.seal();
  transaction.commit();
}

std::vector<Submission> submissions(Store& store) {
  std::vector<Submission> all;
  Statement s = store.database().prepare("SELECT job, blocks, submitted_at FROM submission ORDER BY id");
  while (s.step()) {
    const PartJson blocks = PartJson::parse(s.text(1), nullptr, false);
    all.push_back(
        {s.text(0), blocks.is_array() ? blocks.get<std::vector<int>>() : std::vector<int>{}, s.text(2)});
  }
  return all;
}

void note_experiment_text(Store& store, const Experiment& experiment) {
  Transaction transaction(store.database());
  LaterSeal later(store.database());
  store.database()
      .prepare("UPDATE experiment SET source_file = ?, source_text = ?")
      .bind(experiment.path())
      .bind(experiment.text)
      .run();
  seal_plan(store.database());
  later.seal();
  transaction.commit();
}

void note_planned_trials(Store& store, int trials) {
  LaterSeal later(store.database());
  store.database().prepare("UPDATE experiment SET planned_trials = ?").bind(trials).run();
  later.seal();
}

void leave_node_out(Store& store, const std::string& node, const std::string& why) {
  Transaction transaction(store.database());
  LaterSeal later(store.database());
  store.database()
      .prepare("INSERT OR IGNORE INTO node_left_out (node, why) VALUES (?,?)")
      .bind(node)
      .bind(why)
      .run();
  later.seal();
  transaction.commit();
}

void take_nodes_again(Store& store) {
  Transaction transaction(store.database());
  LaterSeal later(store.database());
  store.database().execute("DELETE FROM node_left_out");
  later.seal();
  transaction.commit();
}

std::vector<std::string> programs_that_differ(Store& store) {
  std::vector<std::string> files;
  Statement s = store.database().prepare(
      "SELECT name FROM node_fact WHERE name LIKE 'meter file %' OR name LIKE 'setter file %' GROUP BY name "
      "HAVING count(DISTINCT value) > 1 ORDER BY name");
  while (s.step()) files.push_back(s.text(0));
  return files;
}

std::map<std::string, std::string> nodes_left_out(Store& store) {
  std::map<std::string, std::string> nodes;
  Statement s = store.database().prepare("SELECT node, why FROM node_left_out");
  while (s.step()) nodes[s.text(0)] = s.text(1);
  return nodes;
}

}  // namespace dvfs_plan
