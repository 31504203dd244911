// What several machines ran becomes one result, whatever comes twice, late, damaged or in another order.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/parts.hpp"
#include "tests/support/parse.hpp"
#include "tests/support/sensors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Handed {
  std::string name, bytes;
};

class Parts : public testing::Test {
 protected:
  Parts() { plan_ = plan_of("1, 2, 3", 4); }
  static Plan plan_of(const std::string& values, int blocks) {
    Diagnostics diagnostics("x.yaml");
    const auto parsed = parse_experiment(
        fmt::format(
            "name: night\nworkloads: [{{name: w, command: [\"true\", \"{{n}}\"]}}]\naxes: {{n: "
            "[{}]}}\nrepeat: {}\n"
            "objective: {{minimise: energy, across: [n], same work: true}}\nconditions: {{idle: none}}\n",
            values, blocks),
        "x.yaml", diagnostics);
    return *resolve_plan(*parsed, {{}, "/usr/bin:/bin"}, diagnostics);
  }
  Store create(const std::string& name, const std::vector<Channel>& channels) {
    return Store::create(folder_ / name, plan_, channels,
                         {"system", "test", "2026-01-01T00:00:00Z", {{"host", "h"}}}, {});
  }
  static TrialRecord trial(const PlannedTrial& planned, double watts) {
    TrialRecord t;
    static_cast<PlannedTrial&>(t) = planned;
    t.started_at = "2026-01-01T00:00:00.000Z";
    t.child.end = ChildResult::End::exited;
    t.child.started = 10 * s;
    t.child.ended = 12 * s;
    t.child.output.tail = std::string("zero \0 and \xff", 12);
    t.runs = {{t.child.started, t.child.ended}};
    t.regions = {{"", 1, t.child.started, t.child.ended, true, 2 * watts}};
    t.region_s = 2;
    t.energy_j = t.objective = 2 * watts;
    t.energy_half_width_j = 0.5;
    t.readings = {at(10 * s, watts), without(11 * s, ReadingStatus::absent), at(12 * s, watts)};
    t.energies = {{0, 2 * watts, 2, EnergyFault::none, 0.5, 0.1, 2, {}}};
    t.metrics = {{"rate", 1.5, "1/s"}};
    t.events = {{"kind", "message"}};
    return t;
  }
  // A block as a machine runs it, its trials handed in one by one; the first `trials` of them.
  std::vector<Handed> run(const std::string& node, int block, double level, std::size_t trials,
                          bool complete = true) {
    const std::string origin = fmt::format("{}-{}-{}", node, block, ++files_);
    // Machines number their sensors as they find them.
    Store own = create(origin + ".sqlite", {counter("other"), gauge()});
    own.database().execute("PRAGMA synchronous = OFF");
    own.use_channels({gauge(), counter("other")});
    own.begin_session(files_, "boot of " + node, "test", fmt::format("2026-01-01T00:{:02}:00Z", files_));
    note_block_run(own, {origin, block, node, fmt::format("7_{} start 1", block)});
    SensorAudit audit;
    audit.channels.resize(1);
    own.write_audit(audit, {0.1, 0.1});
    own.write_event({"sensor_dead", "of the session"});
    std::vector<Handed> parts{{origin + ".s0001.part", session_part(own, {{"host", node}, {"kernel", "6"}})}};
    std::size_t done = 0;
    for (const PlannedTrial& planned : plan_.trials) {
      if (planned.block != block || done == trials) continue;
      own.write_trial(trial(planned, level * (10 + planned.point) * (1 + 0.001 * block)));
      parts.push_back({fmt::format("{}.t{:06}.part", origin, ++done), trial_part(own, planned.key)});
    }
    if (complete) parts.push_back({origin + ".z.part", end_part(own, "2026-01-01T00:00:00.000Z")});
    return parts;
  }
  // Takes them in this order, and again what waited for others.
  static void take(Store& into, const std::vector<Handed>& parts) {
    for (int round = 0; round < 3; ++round) {
      PartTaker taker(into);
      Transaction transaction(into.database());
      for (const Handed& part : parts) taker.take(part.name, part.bytes);
      taker.settle();
      transaction.commit();
    }
  }
  // All that is in it, but for the numbers that rows happen to have.
  static std::string dump(Store& store) {
    std::string text;
    for (const char* sql :
         {"SELECT key, node, left_out, counts, energy_j, error_tail, output_tail FROM trials ORDER BY key",
          "SELECT t.key, r.channel, r.time_ns, r.value, r.absence FROM readings r JOIN trial t ON t.id = "
          "r.trial ORDER "
          "BY 1, 2, 3",
          "SELECT t.key, m.name, m.value FROM metrics m JOIN trial t ON t.id = m.trial ORDER BY 1, 2",
          "SELECT t.key, w.kind, w.message FROM warnings w JOIN trial t ON t.id = w.trial ORDER BY 1, 2",
          "SELECT block, node, task, complete, trials, left_out FROM block_runs ORDER BY block, node, task, "
          "trials",
          "SELECT node, name, value FROM node_facts ORDER BY 1, 2",
          "SELECT s.pid, a.state, c.name FROM sensor_audit a JOIN session s ON s.id = a.session_id JOIN "
          "channel c ON c.id = "
          "a.channel_id ORDER BY 1, 3"}) {
      Statement s = store.database().prepare(sql);
      while (s.step()) {
        for (int column = 0; column < s.columns(); ++column)
          text += (s.is_null(column) ? "NULL" : s.text(column)) + "|";
        text += "\n";
      }
    }
    // A key that stepped aside names the row of the run.
    for (auto at = text.find(" (run "); at != std::string::npos; at = text.find(" (run ", at + 1))
      text.erase(at + 6, text.find(' ', at + 6) - at - 6);
    return text;
  }
  static std::vector<std::string> keys_that_count(Store& store) {
    std::vector<std::string> keys;
    Statement s = store.database().prepare("SELECT key FROM trials WHERE counts ORDER BY key");
    while (s.step()) keys.push_back(s.text(0));
    return keys;
  }
  std::vector<std::string> planned_keys() const {
    std::vector<std::string> keys;
    for (const PlannedTrial& planned : plan_.trials) keys.push_back(planned.key);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  TemporaryFolder folder_;
  Plan plan_;
  int files_ = 0;
};

TEST_F(Parts, AllIsThereAsItWasWritten) {
  Store into = create("all.sqlite", {gauge()});
  std::vector<Handed> parts;
  for (int block = 1; block <= 4; ++block) {
    for (Handed& part : run(block % 2 == 0 ? "n2" : "n1", block, 1 + 0.06 * (block % 2), 99))
      parts.push_back(std::move(part));
  }
  take(into, parts);
  EXPECT_EQ(keys_that_count(into), planned_keys());
  for (const TrialRow& row : into.trials()) EXPECT_EQ(row.node, row.block % 2 == 0 ? "n2" : "n1");
  const std::string once = dump(into);
  EXPECT_THAT(once, HasSubstr("zero \xEF\xBF\xBD and \xEF\xBF\xBD"));
  // Again, and by somebody who knows nothing of what was taken: nothing is added.
  take(into, parts);
  EXPECT_EQ(dump(into), once);
  Statement check = into.database().prepare(
      "SELECT (SELECT integrity_check FROM pragma_integrity_check), (SELECT count(*) FROM "
      "pragma_foreign_key_check)");
  ASSERT_TRUE(check.step());
  EXPECT_EQ(check.text(0), "ok");
  EXPECT_EQ(check.integer(1), 0);
  const std::string text = terminal_report(summary_of(into), into.trials(), {});
  EXPECT_THAT(text, HasSubstr("Each node by itself:"));
  EXPECT_THAT(text, HasSubstr("on 2 of 2 nodes"));
  conclude(into);
  EXPECT_TRUE(into.is_concluded());
}

// An answer of one machine alone says so where others ran too.
TEST_F(Parts, AMachineOfWhichNoTrialCountsIsNamed) {
  Store into = create("all.sqlite", {gauge()});
  std::vector<Handed> parts;
  for (int block = 1; block <= 4; ++block) {
    for (Handed& part : run(block % 2 == 0 ? "n2" : "n1", block, 1, 99)) parts.push_back(std::move(part));
  }
  take(into, parts);
  const std::string silent = "w: no trial of the machines n2 counts: what is said is of n1 alone";
  std::vector<TrialRow> trials = into.trials();
  EXPECT_THAT(summary_of(into, trials).warnings, Not(Contains(silent)));
  for (TrialRow& one : trials) {
    if (one.node == "n2") one.verdict = "sensor_absent";
  }
  EXPECT_THAT(summary_of(into, trials).warnings, Contains(silent));
}

// A meter of the user's own that is another program on one machine may count otherwise there.
TEST_F(Parts, MetersThatAreNotTheSameEverywhereAreNamed) {
  Store into = create("all.sqlite", {gauge()});
  std::vector<Handed> parts;
  for (int block = 1; block <= 2; ++block) {
    for (Handed& part : run(block == 1 ? "n1" : "n2", block, 1, 99)) parts.push_back(std::move(part));
  }
  take(into, parts);
  into.database().execute(
      "INSERT INTO node_fact (node, name, value) SELECT DISTINCT node, 'setter file /same.sh', 'a' FROM "
      "node_fact; INSERT INTO node_fact (node, name, value) SELECT DISTINCT node, 'meter file /m.py', node "
      "FROM node_fact");
  const auto warnings = summary_of(into).warnings;
  EXPECT_THAT(warnings,
              Contains("meter file /m.py is not the same on all machines: what they say need not compare"));
  EXPECT_THAT(warnings, Not(Contains(HasSubstr("setter file"))));
}

TEST_F(Parts, TheOrderOfTheirComingDoesNotMatter) {
  // Block 1 as two machines ran it to its end, block 2 as one that died and one that did not, block 3 as two that died.
  std::vector<Handed> parts;
  for (const auto& some :
       {run("n1", 1, 1, 99), run("n2", 1, 1.1, 99), run("n1", 2, 1, 2, false), run("n3", 2, 1, 99),
        run("n2", 3, 1, 1, false), run("n3", 3, 1, 3, false), run("n3", 4, 1, 99)})
    parts.insert(parts.end(), some.begin(), some.end());
  std::string first;
  std::mt19937_64 random(7);
  for (int order = 0; order < 20; ++order) {
    Store into = create(fmt::format("into{}.sqlite", order), {gauge()});
    // Looked at after any of them, and taken up by another collector.
    for (std::size_t at = 0; at < parts.size();) {
      const std::size_t end = std::min(parts.size(), at + 1 + random() % 9);
      take(into, {parts.begin() + static_cast<std::ptrdiff_t>(at),
                  parts.begin() + static_cast<std::ptrdiff_t>(end)});
      at = end;
    }
    take(into, parts);
    const std::string all = dump(into);
    if (first.empty()) first = all;
    ASSERT_EQ(all, first) << order;
    std::shuffle(parts.begin(), parts.end(), random);
    Statement twice = into.database().prepare(
        "SELECT count(*) FROM (SELECT 1 FROM trials WHERE left_out IS NULL GROUP BY point, block, role, "
        "attempt HAVING count(*) > "
        "1)");
    ASSERT_TRUE(twice.step());
    EXPECT_EQ(twice.integer(0), 0);
  }
  EXPECT_THAT(first, HasSubstr("block 1 counts as n1 ran it"));
  EXPECT_THAT(first, HasSubstr("block 2 counts as n3 ran it"));
  EXPECT_THAT(first, HasSubstr("block 3 counts as n3 ran it"));
}

TEST_F(Parts, WhatIsLeftOutIsSaidAndDoesNotCount) {
  Store into = create("all.sqlite", {gauge()});
  std::vector<Handed> parts = run("n1", 1, 1, 2, false);
  take(into, parts);
  EXPECT_EQ(keys_that_count(into).size(), 2U);
  for (Handed& part : run("n2", 1, 3, 99)) parts.push_back(std::move(part));
  take(into, parts);
  const Summary summary = summary_of(into);
  EXPECT_EQ(summary.finished, 4);  // n at 2 and 3, and the reference twice
  EXPECT_THAT(further_sentences(summary),
              testing::Contains("2 trials do not count: block 1 counts as n2 ran it"));
  EXPECT_EQ(into.history().size(), 4U);
}

TEST_F(Parts, DamagedAndForeignOnesAreRefused) {
  Store into = create("all.sqlite", {gauge()});
  auto parts = run("n1", 1, 1, 99);
  PartTaker taker(into);
  const auto why = [&](const std::string& bytes) {
    const TakenPart taken = taker.take("name", bytes);
    EXPECT_EQ(taken.how, TakenPart::How::refused);
    return taken.why;
  };
  EXPECT_EQ(why("something else"), "it is not a part of a result");
  EXPECT_EQ(why(parts[1].bytes.substr(0, 40)), "it is cut short");
  EXPECT_EQ(why(parts[1].bytes.substr(0, 400)), "it is damaged: its checksum is another one");
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string flipped = parts[1].bytes;
    flipped[random() % flipped.size()] ^= static_cast<char>(1 << random() % 8);
    why(flipped);
  }
  EXPECT_EQ(taker.take(parts[1].name, parts[1].bytes).how,
            TakenPart::How::waits);  // its session is not there yet
  EXPECT_EQ(taker.take(parts[0].name, parts[0].bytes).how, TakenPart::How::taken);
  EXPECT_EQ(taker.take(parts[1].name, parts[1].bytes).how, TakenPart::How::taken);
  EXPECT_EQ(taker.take(parts[1].name, parts[1].bytes).how, TakenPart::How::known);
  // One that fits nothing here is refused whole, and keeps no other out.
  Store without = create("without.sqlite", {});
  {
    PartTaker of_without(without);
    Transaction transaction(without.database());
    EXPECT_EQ(of_without.take(parts[0].name, parts[0].bytes).how, TakenPart::How::taken);
    without.database().execute("DELETE FROM sensor_agreement; DELETE FROM sensor_audit; DELETE FROM channel");
    PartTaker later(without);
    EXPECT_EQ(later.take(parts[1].name, parts[1].bytes).why,
              "a part names the channel 'g:system', which is not in the result");
    // That the machine ended its block is not that the block is here: somebody has to run it again.
    EXPECT_EQ(later.take(parts.back().name, parts.back().bytes).why, "not all of its trials have come yet");
    later.settle();
    transaction.commit();
  }
  EXPECT_TRUE(without.trials().empty());
  EXPECT_FALSE(block_runs(without).front().complete);
  plan_.hash = std::string(64, '0');
  Store other = create("other.sqlite", {gauge()});
  PartTaker of_other(other);
  EXPECT_EQ(of_other.take(parts[0].name, parts[0].bytes).why, "it is of another plan");
}

// Nodes die in 5 % of the blocks, at any trial; some of them only seem to, and hand in all the same; files come in any order, some
// twice, some damaged on the way and whole later.
TEST_F(Parts, NothingIsLostOrDoubledInALargeNightWithDeaths) {
  const char* thorough = std::getenv("DVFS_PLAN_LONG");
  const bool is_long = thorough != nullptr && *thorough != '\0';
  const int blocks = is_long ? 500 : 25;
  const double dies = is_long ? 0.05 : 0.25;
  std::string values = "1";
  for (int i = 2; i <= 39; ++i) values += fmt::format(", {}", i);
  plan_ = plan_of(values, blocks);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> chance;
  std::vector<Handed> parts;
  int deaths = 0, twice = 0;
  for (int block = 1; block <= blocks; ++block) {
    const auto add = [&](std::vector<Handed> more) {
      for (Handed& part : more) parts.push_back(std::move(part));
    };
    const auto node = [&] { return fmt::format("n{}", 1 + random() % 64); };
    while (chance(random) < dies) {
      ++deaths;
      const bool only_seems = chance(random) < 0.3;
      twice += only_seems ? 1 : 0;
      add(run(node(), block, 1, only_seems ? 99 : 1 + random() % 39, only_seems));
    }
    add(run(node(), block, 1, 99));
    // The machine's own file is not needed any more.
    for (const auto& file : std::filesystem::directory_iterator(folder_.path()))
      std::filesystem::remove(file);
  }
  ASSERT_GT(deaths, 0);
  std::shuffle(parts.begin(), parts.end(), random);
  Store into = create("all.sqlite", {gauge()});
  into.database().execute("PRAGMA synchronous = OFF");
  for (int round = 0; round < 3; ++round) {
    PartTaker taker(into);
    for (std::size_t at = 0; at < parts.size();) {
      Transaction transaction(into.database());
      for (const std::size_t end = std::min(parts.size(), at + 1 + random() % 900); at < end; ++at) {
        std::string bytes = parts[at].bytes;
        if (round == 0 && chance(random) < 0.01) bytes.resize(random() % bytes.size());
        taker.take(parts[at].name, bytes);
        if (chance(random) < 0.02) taker.take(parts[at].name, bytes);
      }
      taker.settle();
      transaction.commit();
    }
  }
  EXPECT_EQ(keys_that_count(into), planned_keys());
  const auto count = [&](const std::string& sql) {
    Statement s = into.database().prepare(sql);
    s.step();
    return s.integer(0);
  };
  const auto handed = std::count_if(parts.begin(), parts.end(), [](const Handed& part) {
    return part.name.find(".t") != std::string::npos;
  });
  EXPECT_EQ(count("SELECT count(*) FROM trial"), handed);
  EXPECT_EQ(count("SELECT count(*) FROM trials WHERE left_out IS NULL"),
            static_cast<int>(plan_.trials.size()));
  EXPECT_EQ(count("SELECT count(DISTINCT trial) FROM readings"), handed);
  EXPECT_EQ(into.damaged_text(), "");
  std::printf(
      "%zu trials of %d blocks planned, %d deaths, %d of which only seemed to be; %td handed in: each there "
      "once\n",
      plan_.trials.size(), blocks, deaths, twice, handed);
}

TEST_F(Parts, ResultsMadeByHandAreJoined) {
  const auto night = [&](const std::string& name, double level, int pid) {
    Store store = create(name, {gauge()});
    store.begin_session(pid, "boot", "test", "now");
    for (const PlannedTrial& planned : plan_.trials)
      store.write_trial(trial(planned, level * (10 + planned.point)));
    store.end_session("done", "later", {});
    return store;
  };
  Store a = night("a.sqlite", 1, 1), b = night("b.sqlite", 1.06, 2);
  Store all = create("all.sqlite", {gauge()});
  PartTaker taker(all);
  EXPECT_EQ(taker.take_result(a, "a"), static_cast<int>(plan_.trials.size()));
  EXPECT_EQ(taker.take_result(b, "b"), static_cast<int>(plan_.trials.size()));
  EXPECT_EQ(taker.take_result(b, "b"), 0);
  taker.settle();
  EXPECT_EQ(all.damaged_text(), "");
  const auto rows = all.trials();
  EXPECT_EQ(rows.size(), 2 * plan_.trials.size());
  const Summary summary = summary_of(all);
  EXPECT_EQ(summary.left, 0);
  ASSERT_TRUE(summary.scenarios.at(0).nodes);
  EXPECT_EQ(summary.scenarios.at(0).nodes->nodes.at(0).blocks, 4);
  EXPECT_NEAR(summary.scenarios.at(0).nodes->nodes.at(1).against_others->value, 0.06, 1e-9);
  // A result of several is joined with another one likewise.
  Store more = create("more.sqlite", {gauge()});
  PartTaker into_more(more);
  EXPECT_EQ(into_more.take_result(all, ""), static_cast<int>(2 * plan_.trials.size()));
  EXPECT_EQ(into_more.take_result(a, "a"), 0);
}

}  // namespace
}  // namespace dvfs_plan
