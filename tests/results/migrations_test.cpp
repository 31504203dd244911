// Real result files of earlier versions (tests/recorded/results): nothing in them is lost on the way to this
// one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <tuple>

#include "base/error.hpp"
#include "results/report/report.hpp"
#include "results/store/digest.hpp"
#include "results/store/migrate.hpp"
#include "results/store/store.hpp"
#include "results/store/unpack_readings.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using Row = std::tuple<std::int64_t, std::string, std::int64_t, std::optional<double>, std::string>;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The recorded result of that version.
std::string unpacked(int version) {
  const std::string recorded =
      fmt::format("{}/tests/recorded/results/v{}.sqlite.gz", DVFS_PLAN_SOURCE, version);
  gzFile packed = gzopen(recorded.c_str(), "rb");
  EXPECT_NE(packed, nullptr) << recorded;
  std::string bytes;
  char buffer[65536];
  for (int n = 0; packed != nullptr && (n = gzread(packed, buffer, sizeof buffer)) > 0;)
    bytes.append(buffer, static_cast<std::size_t>(n));
  gzclose(packed);
  return bytes;
}

class Migration : public testing::TestWithParam<int> {
 protected:
  Migration() { std::ofstream(path_, std::ios::binary) << unpacked(GetParam()); }

  static std::vector<Row> rows(Database& database, const std::string& sql) {
    std::vector<Row> rows;
    Statement s = database.prepare(sql);
    while (s.step()) rows.emplace_back(s.integer(0), s.text(1), s.integer(2), s.maybe_real(3), s.text(4));
    return rows;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_ / "night.sqlite";
};

TEST_P(Migration, KeepsEveryReading) {
  std::vector<Row> before;
  if (GetParam() >= 5) {  // packed already
    Database old(path_, Database::Mode::read_only);
    ASSERT_EQ(register_unpack_readings(old.handle()), SQLITE_OK);
    before = rows(
        old, "SELECT trial, channel, time_ns, value, coalesce(absence, '') FROM readings ORDER BY 1, 2, 3");
  } else {
    Database old(path_, Database::Mode::read_only);
    before = rows(old,
                  "SELECT r.trial_id, c.name, r.time_ns, r.value, coalesce(r.absence, '') FROM reading r "
                  "JOIN channel c "
                  "ON c.id = r.channel_id ORDER BY 1, 2, 3");
  }
  ASSERT_GT(before.size(), 1000u);
  Store store = Store::open(path_, Database::Mode::read_write);
  EXPECT_EQ(
      rows(store.database(),
           "SELECT trial, channel, time_ns, value, coalesce(absence, '') FROM readings ORDER BY 1, 2, 3"),
      before);
  Statement check = store.database().prepare(
      "SELECT (SELECT user_version FROM pragma_user_version), (SELECT integrity_check "
      "FROM pragma_integrity_check), (SELECT count(*) FROM pragma_foreign_key_check)");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.integer(0), newest_schema_version());
  EXPECT_EQ(check.text(1), "ok");
  EXPECT_EQ(check.integer(2), 0);
}

TEST_P(Migration, IsTheSameAsAFileMadeNew) {
  // Columns may come in another order: they were added.
  const auto shape = [](Database& database) {
    std::set<std::string> columns;
    Statement s = database.prepare(
        "SELECT m.type || ' ' || m.name || '.' || p.name || ' ' || p.type || ' ' || p.\"notnull\" FROM "
        "sqlite_schema m, "
        "pragma_table_info(m.name) p UNION SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT LIKE "
        "'sqlite_%'");
    while (s.step()) columns.insert(s.text(0));
    return columns;
  };
  Store migrated = Store::open(path_, Database::Mode::read_write);
  const std::string fresh_path = folder_ / "fresh.sqlite";
  Store fresh = Store::create(fresh_path, {}, {}, {}, {});
  EXPECT_EQ(shape(migrated.database()), shape(fresh.database()));
}

TEST_P(Migration, WhoOnlyReadsChangesNothing) {
  const std::string before = contents(path_);
  {
    Store store = Store::open(path_, Database::Mode::read_only);
    const auto trials = store.trials();
    const std::string text = terminal_report(summary_of(store), trials, {});
    // What that version's own program said of the file, its amounts as they are written today; later ones only add.
    std::istringstream old(
        contents(fmt::format("{}/tests/recorded/results/v{}.report.txt", DVFS_PLAN_SOURCE, GetParam())));
    // What cannot be told from the best, and how much better that is, are asked of today's statistics.
    for (std::string line; std::getline(old, line);) {
      if (const auto answer = line.find(" Against the reference"); answer != std::string::npos)
        line.resize(answer);
      EXPECT_THAT(
          text, testing::HasSubstr(line.starts_with("~ ") || line.starts_with("  ") ? line.substr(2) : line));
    }
  }
  EXPECT_EQ(contents(path_), before);
}

TEST_P(Migration, ALaterOpeningFindsItDone) {
  Store::open(path_, Database::Mode::read_write);
  const std::string once = contents(path_);
  Store::open(path_, Database::Mode::read_write);
  EXPECT_EQ(contents(path_), once);
}

// What 1.2.5 to 1.2.7 wrote of the only copy of several that do the same work: one unit, of however many runs.
TEST(MigrationFrom19, EachRunOfAnOnlyCopyIsAUnit) {
  TemporaryFolder folder;
  const std::string path = folder / "night.sqlite";
  std::ofstream(path, std::ios::binary) << unpacked(19);
  std::optional<double> before;
  {
    Database old(path, Database::Mode::read_write);
    old.execute("UPDATE trial SET units = 1, runs = 4, objective = 80 WHERE id IN (3, 4)");
    old.execute("UPDATE trial SET units = 1, runs = 1 WHERE id = 5");
    TrialSeals seals(old);
    for (const int trial : {3, 4, 5}) seals.seal_again(trial);
    // One that is not as written is left so.
    old.execute("UPDATE trial SET region_s = region_s + 1 WHERE id = 4");
    Statement s = old.prepare("SELECT objective FROM trial WHERE id = 5");
    ASSERT_TRUE(s.step());
    before = s.maybe_real(0);
  }
  Store store = Store::open(path, Database::Mode::read_write);
  Statement s =
      store.database().prepare("SELECT units, objective FROM trial WHERE id IN (3, 4, 5) ORDER BY id");
  std::vector<std::pair<std::optional<double>, std::optional<double>>> found;
  while (s.step()) found.emplace_back(s.maybe_real(0), s.maybe_real(1));
  EXPECT_THAT(found,
              testing::ElementsAre(testing::Pair(4, 20), testing::Pair(1, 80), testing::Pair(1, before)));
  EXPECT_THAT(damaged_trials(store.database()), testing::ElementsAre(4));
}

INSTANTIATE_TEST_SUITE_P(OfVersion, Migration,
                         testing::Range(oldest_schema_version, newest_schema_version() + 1));

// A migrated file has its columns in another order than a new one.
TEST(ResultFile, EveryInsertNamesItsColumns) {
  int inserts = 0;
  for (const char* file : {"store.cpp", "write_trial.cpp", "migrate.cpp", "rescue.cpp"}) {
    const std::string text = contents(fmt::format("{}/results/store/{}", DVFS_PLAN_SOURCE, file));
    ASSERT_FALSE(text.empty()) << file;
    const std::regex insert("INSERT (OR IGNORE )?INTO ([a-z_]+)([^a-z_]*)");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), insert); at != std::sregex_iterator();
         ++at) {
      ++inserts;
      EXPECT_NE((*at)[3].str().find('('), std::string::npos) << file << ": " << (*at)[2];
    }
  }
  EXPECT_GT(inserts, 20);
}

TEST_P(Migration, LeavesViewsOfOthersAlone) {
  {
    Database old(path_, Database::Mode::read_write);
    old.execute("CREATE VIEW \"my \"\"own\"\" points\" AS SELECT point FROM points");
  }
  Store store = Store::open(path_, Database::Mode::read_write);
  Statement mine = store.database().prepare("SELECT count(*) FROM \"my \"\"own\"\" points\"");
  ASSERT_TRUE(mine.step());
  EXPECT_GT(mine.integer(0), 0);
}

TEST(ResultFile, WhoseViewsAreNotOursIsRefused) {
  TemporaryFolder folder;
  const std::string path = folder / "night.sqlite";
  Store::create(path, {}, {}, {}, {})
      .database()
      .execute(
          "DROP VIEW warnings; CREATE VIEW warnings AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + "
          "1 FROM n) SELECT i FROM n");
  try {
    Store::open(path, Database::Mode::read_only);
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), path + ": its view 'warnings' is not the one that dvfs-plan made");
  }
}

// A file of an earlier version comes from elsewhere too: bringing it up to date runs nothing of its own.
TEST(ResultFile, NoNameOfItsSchemaIsRun) {
  TemporaryFolder folder;
  const std::string path = folder / "night.sqlite", victim = folder / "victim.sqlite";
  Store::create(path, {}, {}, {}, {})
      .database()
      .execute("CREATE VIEW \"x\"\"; ATTACH '" + victim +
               "' AS v; CREATE TABLE v.t(a); --\" AS SELECT 1; PRAGMA user_version = 4");
  EXPECT_THROW(Store::open(path, Database::Mode::read_only), Error);  // it has no table `reading`
  EXPECT_FALSE(std::filesystem::exists(victim));
}

TEST(ResultFile, ThatLostItsEndIsNamedAsSuch) {
  TemporaryFolder folder;
  const std::string path = folder / "night.sqlite";
  { Store::create(path, {}, {}, {}, {}); }
  Store::fold_log(path);
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size / 2);
  try {
    Store::open(path, Database::Mode::read_only);
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("{} is cut short: it should be {} bytes long and is {}", path, size, size / 2));
  }
}

}  // namespace
}  // namespace dvfs_plan
