// Whether a signal came to all of a group, or to one process of it.
#include "base/signal_witness.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace dvfs_plan {
namespace {

// In a group of its own, these signals being blocked: what `sent` sends, and what the witness says of it, three times in a row.
template <typename Send>
std::string said_of(Send sent) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&signals, signal);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    SignalWitness witness;
    for (int i = 0; i < 3; ++i) {
      for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
        sent(signal);
        const char word = witness.got().contains(signal) ? 'a' : 'o';
        if (::write(ends[1], &word, 1) != 1) ::_exit(1);
      }
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(9, ' ');
  std::size_t got = 0;
  for (ssize_t n; (n = ::read(ends[0], text.data() + got, text.size() - got)) > 0;)
    got += static_cast<std::size_t>(n);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text.substr(0, got);
}

TEST(SignalWitness, HasGotWhatCameToAllAndNotWhatCameToOne) {
  EXPECT_EQ(said_of([](int signal) { ::kill(0, signal); }), "aaaaaaaaa");
  EXPECT_EQ(said_of([](int signal) { ::kill(::getpid(), signal); }), "ooooooooo");
}

// Who ends all of our name (pkill, killall) means us: the witness has another.
TEST(SignalWitness, IsOfAnotherName) {
  const SignalWitness witness;
  ::usleep(100'000);
  const std::string us = "/proc/" + std::to_string(::getpid());
  std::ifstream children(us + "/task/" + std::to_string(::getpid()) + "/children");
  std::string child, name;
  ASSERT_TRUE(children >> child);
  std::ifstream("/proc/" + child + "/comm") >> name;
  EXPECT_EQ(name, "sleep");
  EXPECT_NE(std::filesystem::read_symlink("/proc/" + child + "/exe"),
            std::filesystem::read_symlink(us + "/exe"));
}

// Who ends it by name, and who waits for any child of his, take nothing from us.
TEST(SignalWitness, MayBeEndedByOthers) {
  SignalWitness witness;
  std::ifstream children("/proc/" + std::to_string(::getpid()) + "/task/" + std::to_string(::getpid()) +
                         "/children");
  pid_t child = 0;
  ASSERT_TRUE(children >> child);
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(-1, nullptr, 0), child);
  EXPECT_TRUE(witness.got().empty());
  witness.forget();
}

}  // namespace
}  // namespace dvfs_plan
