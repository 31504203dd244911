#include "orchestrator/guard/rights.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "orchestrator/guard/connection.hpp"

namespace dvfs_plan {
namespace {

std::unique_ptr<Connection>& stand_by() {
  static std::unique_ptr<Connection> connection;
  return connection;
}

[[noreturn]] void become_guardian(const std::string& program, pid_t run, uid_t user, UniqueFd theirs) {
  constexpr int place = 3;
  if (::dup2(theirs.get(), place) == place && ::fcntl(place, F_SETFD, 0) == 0) {
    const std::string pid = std::to_string(run), uid = std::to_string(user);
    ::execl(program.c_str(), "dvfs-guardian", "--beside-run", pid.c_str(), uid.c_str(), nullptr);
  }
  ::kill(run, SIGKILL);
  ::_exit(static_cast<int>(ExitCode::machine_refuses));
}

}  // namespace

std::string guardian_program() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (error)
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("/proc/self/exe cannot be read ({}): where dvfs-guardian is, which sets things and "
                    "puts them back, is not known",
                    error.message()),
        "mount -t proc proc /proc; nothing was set");
  for (const char* place : {"dvfs-guardian", "../sbin/dvfs-guardian"}) {
    const auto file = (folder / place).lexically_normal();
    if (::access(file.c_str(), X_OK) == 0) return file.string();
  }
  throw Error(ExitCode::machine_refuses,
              fmt::format("there is no dvfs-guardian beside {}, which sets things and puts them back",
                          folder.string()),
              "build or install both programs; nothing was set");
}

void leave_rights_to_guardian(bool has_terminal) {
  const auto user = invoking_user();
  if (!user) return;
  const std::string program = guardian_program();
  ConnectedPair pair = connected_pair();
  if (!pair.ours) throw Error(ExitCode::machine_refuses, system_error_text("socketpair", errno));
  // Ctrl-Z: neither the sweep nor who stands by it may be stopped half way.
  for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) ::signal(signal, SIG_IGN);
  const pid_t first = ::getpid();
  const pid_t run = ::fork();
  if (run < 0) throw Error(ExitCode::machine_refuses, system_error_text("fork", errno));
  if (run > 0) become_guardian(program, run, user->user, std::move(pair.theirs));
  pair.theirs.reset();
  // A process group of its own: each signal comes by the first process, and once. Only the terminal's foreground group may read it, and
  // is sent Ctrl-C by the kernel: the first process passes that on to no one who is in it (stand_by.cpp).
  if (!has_terminal) ::setpgid(0, 0);
  become_invoking_user();
  // It stands for us: whoever kills it means us. After the change of user, which clears this.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != first) ::raise(SIGKILL);
  stand_by() = std::make_unique<Connection>(std::move(pair.ours));
}

bool is_stood_by_root() {
  return stand_by() != nullptr;
}

UniqueFd session_of_stand_by() {
  auto& connection = stand_by();
  constexpr std::chrono::milliseconds patience{5000};
  if (!connection || !connection->send({"session", {}}, patience)) return UniqueFd();
  for (;;) {
    if (const auto message = connection->next()) return connection->take_descriptor();
    pollfd wait{connection->fd(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(patience.count())) == 0) return UniqueFd();
    if (connection->hear(true) == Connection::Heard::end) return UniqueFd();
  }
}

}  // namespace dvfs_plan
