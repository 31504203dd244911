// What a command makes on its way goes with it where a signal ends it, and nothing else does.
#include "base/removed_on_signal.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/replace_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

class OnSignal : public ::testing::TestWithParam<int> {
 protected:
  std::string file(const std::string& name) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << "x";
    return path;
  }
  // How a child ended that did this, as a command would: other tests of this program have blocked signals.
  template <typename Work>
  static int ended(Work work) {
    const pid_t child = ::fork();
    if (child == 0) {
      sigset_t none;
      ::sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_DFL);
      work();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  TemporaryFolder folder_;
};

TEST_P(OnSignal, FilesAndTheirFolderGoAndTheSignalIsSeen) {
  std::filesystem::create_directory(folder_.path() + "/work");
  const std::string kept = file("kept"), released = file("released"), one = file("work/one");
  const int status = ended([&] {
    const RemovedOnSignal goes({one, folder_.path() + "/work/never made", folder_.path() + "/work"});
    { const RemovedOnSignal not_any_more({released}); }
    ::raise(GetParam());
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), GetParam());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/work"));
  EXPECT_TRUE(std::filesystem::exists(kept));
  EXPECT_TRUE(std::filesystem::exists(released));
}

// A night's own handling, or nohup's.
TEST_P(OnSignal, WhatIsHandledAlreadyStaysSo) {
  const std::string one = file("one");
  const int status = ended([&] {
    ::signal(GetParam(), SIG_IGN);
    const RemovedOnSignal goes({one});
    ::raise(GetParam());
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(std::filesystem::exists(one));
}

TEST_P(OnSignal, AFileThatIsReplacedStaysAsItWas) {
  const std::string page = file("page.html");
  ended([&] {
    FileReplacement replacement(page);
    replacement.out() << "half" << std::flush;
    ::raise(GetParam());
  });
  std::string text;
  std::ifstream(page) >> text;
  EXPECT_EQ(text, "x");
  const std::filesystem::directory_iterator all(folder_.path());
  EXPECT_EQ(std::distance(begin(all), end(all)), 1);
}

TEST(Replacement, NorDoesWhoIsKilledLeaveAnything) {
  TemporaryFolder folder;
  if (const UniqueFd fd(::open(folder.path().c_str(), O_TMPFILE | O_WRONLY, 0600)); !fd)
    GTEST_SKIP() << "this file system has no files without a name";
  const pid_t child = ::fork();
  if (child == 0) {
    FileReplacement replacement(folder / "page.html");
    replacement.out() << "half" << std::flush;
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Replacement, WhatIsWrittenHasTheRightsOfWhatWasThere) {
  TemporaryFolder folder;
  const auto mode = [&](const char* name) {
    FileReplacement replacement(folder / name);
    replacement.out() << "new";
    replacement.commit();
    struct stat there {};
    ::stat((folder / name).c_str(), &there);
    return there.st_mode & 0777;
  };
  const mode_t mask = ::umask(027);
  EXPECT_EQ(mode("page.html"), 0640U);
  ::chmod((folder / "page.html").c_str(), 0606);
  EXPECT_EQ(mode("page.html"), 0606U);
  ::umask(mask);
}

TEST(Replacement, ANewOneIsReadByNobodyWhoMayNotReadWhatItIsMadeFrom) {
  TemporaryFolder folder;
  const mode_t mask = ::umask(022);
  for (const auto& [of_result, wanted] : {std::pair{0600U, 0600U}, {0640U, 0640U}, {0755U, 0644U}}) {
    const std::string result = folder / "night.sqlite", page = folder / "page.html";
    std::ofstream(result) << "night";
    ::chmod(result.c_str(), of_result);
    {
      FileReplacement replacement(page, result);
      replacement.commit();
    }
    struct stat there {};
    ::stat(page.c_str(), &there);
    EXPECT_EQ(there.st_mode & 0777, wanted);
    std::filesystem::remove(page);
  }
  ::umask(mask);
}

TEST(Replacement, ALinkStaysOneWhereverItLeads) {
  TemporaryFolder folder;
  const auto write = [&](const std::string& name) {
    FileReplacement replacement(folder / name);
    replacement.out() << "new";
    replacement.commit();
  };
  std::filesystem::create_symlink("target", folder / "link");
  std::filesystem::create_symlink("link", folder / "link_to_a_link");
  write("link_to_a_link");  // what it names is not there yet
  std::string text;
  std::ifstream(folder / "target") >> text;
  EXPECT_EQ(text, "new");
  std::filesystem::create_symlink("gone/target", folder / "nowhere");
  EXPECT_THROW(write("nowhere"), Error);
  for (const char* link : {"link", "link_to_a_link", "nowhere"})
    EXPECT_TRUE(std::filesystem::is_symlink(folder / link)) << link;
}

INSTANTIATE_TEST_SUITE_P(, OnSignal, ::testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace
}  // namespace dvfs_plan
