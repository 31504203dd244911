#include "base/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tests/support/temporary_folder.hpp"

namespace dvfs_plan {
namespace {

TEST(WholeFile, IsReadOrSaysWhyNot) {
  TemporaryFolder folder;
  folder.file("a", "some\ntext");
  const std::string place = folder.path() + "/";
  std::string text = "former";
  EXPECT_EQ(read_whole(place + "a", 9, text), 0);
  EXPECT_EQ(text, "some\ntext");
  EXPECT_EQ(read_whole(place + "a", 8, text), EFBIG);
  EXPECT_EQ(text, "");
  EXPECT_EQ(read_whole(place + "none", 9, text), ENOENT);
  EXPECT_EQ(read_whole(folder.path(), 9, text), EINVAL);
  // Nobody writes into it: it is not waited for.
  ASSERT_EQ(::mkfifo((place + "fifo").c_str(), 0600), 0);
  EXPECT_EQ(read_whole(place + "fifo", 9, text), EINVAL);
  EXPECT_EQ(read_whole("/proc/self/mem", 9, text), EIO);
  // A link to a file is followed; one by way of what a process works in leads where its user may not be.
  ASSERT_EQ(::symlink("a", (place + "link").c_str()), 0);
  EXPECT_EQ(read_whole(place + "link", 9, text), 0);
  ASSERT_EQ(::symlink(("/proc/self/cwd" + place + "a").c_str(), (place + "cwd").c_str()), 0);
  EXPECT_EQ(read_whole(place + "cwd", 9, text), ELOOP);
}

}  // namespace
}  // namespace dvfs_plan
