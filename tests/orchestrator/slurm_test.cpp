// What Slurm says, and what jobs of ours may be called. Slurm itself is in tests/system.
#include "orchestrator/cluster/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/cluster/cancelled_job.hpp"
#include "orchestrator/cluster/shared_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

bool works(const std::string& state, bool reserved = false) {
  SlurmNode node;
  node.state = state;
  return node.works(reserved);
}

TEST(SlurmNode, WorksWhereItTakesJobsOfOurs) {
  for (const char* state : {"idle", "mixed", "allocated", "completing", "planned", "idle~", "mixed#"})
    EXPECT_TRUE(works(state)) << state;
  for (const char* state : {"down", "drained", "idle*", "planned*", "reserved", "maint", "unknown"})
    EXPECT_FALSE(works(state)) << state;
  // The nodes of a reservation are called by it, and take its jobs.
  for (const char* state : {"reserved", "resv", "maint", "idle", "mixed$"})
    EXPECT_TRUE(works(state, true)) << state;
  EXPECT_FALSE(works("down", true));
  EXPECT_FALSE(works("reserved*", true));
}

TEST(ArrayIndices, AreAllOfThoseThatWait) {
  using testing::ElementsAre;
  EXPECT_THAT(*array_indices("7"), ElementsAre(7));
  EXPECT_THAT(*array_indices("N/A"), ElementsAre(0));
  EXPECT_THAT(*array_indices("3-9:2%1"), ElementsAre(3, 5, 7, 9));
  EXPECT_THAT(*array_indices("1-8:3"), ElementsAre(1, 4, 7));
  EXPECT_THAT(*array_indices("1,3-4,8,10-11,15-19:2%2"), ElementsAre(1, 3, 4, 8, 10, 11, 15, 17, 19));
  EXPECT_THAT(*array_indices("2%4"), ElementsAre(2));
  for (const char* text : {"1,3-4,8,10-11,5...%2", "1-", "-3", "1-5:0", "a", "1,,2", "1,", "3-9999999999"})
    EXPECT_FALSE(array_indices(text)) << text;
}

// A number that a controller gave again is another job's.
TEST(CancelledJob, IsThatOfTasksThatBeganBeforeOrWithIt) {
  TemporaryFolder root;
  const SharedFolder folder(root.path());
  folder.make();
  constexpr std::int64_t second = 1'000'000'000, at = 1'800'000'000 * second;
  EXPECT_FALSE(is_cancelled(folder, "12_3 start 1", at));
  EXPECT_EQ(tell_cancelled(folder, "12", at), "");
  for (const std::int64_t began : {at - 3600 * second, at, at + 5 * second})
    EXPECT_TRUE(is_cancelled(folder, "12_3 start 1", began)) << began;
  EXPECT_FALSE(is_cancelled(folder, "12_3 start 1", at + 3600 * second));
  EXPECT_FALSE(is_cancelled(folder, "1_3 start 1", at));
  EXPECT_FALSE(is_cancelled(folder, "123_3 start 1", at));
}

TEST(JobNames, AreThoseThatTheSubmittedTextsGive) {
  TemporaryFolder root;
  const SharedFolder folder(root.path());
  folder.make();
  const auto named = [&](const std::string& extra) {
    std::ofstream(root.path() + "/in/a.yaml", std::ios::trunc)
        << "name: night\nmachines:\n  slurm:\n    nodes: 2\n    extra: " << extra << "\n    time: 2 h\n";
    return job_names(folder, "night");
  };
  using testing::Contains;
  EXPECT_THAT(named("[--mem=4G]"), testing::ElementsAre("dvfs-plan:night"));
  for (const char* extra :
       {"[--job-name=mine]", "[--mem=4G, --job-name=mine]", "['--job-name=mine', --mem=4G]",
        "[--job-name, mine]", "[-J, mine, --mem=4G]", "[\"-J\", \"mine\"]", "[-Jmine]", "['-Jmine']",
        "\n      - -J\n      - mine", "\n      - --job-name=mine  # why", "\n      - -J\n      - mine # why",
        "\n      - --job-name=mine\n      - --mem=4G", "\n      - '-J'\n      - 'mine'"})
    EXPECT_THAT(named(extra), Contains("mine")) << extra;
  for (const char* extra : {"['--job-name=my night, long']", "[\"--job-name\", \"my night, long\"]",
                            "['-J', 'my night, long']", "\n      - '--job-name=my night, long'"})
    EXPECT_THAT(named(extra), Contains("my night, long")) << extra;
  EXPECT_THAT(named("\n      - --job-name=my night\n      - --mem=4G"), Contains("my night"));
}

}  // namespace
}  // namespace dvfs_plan
