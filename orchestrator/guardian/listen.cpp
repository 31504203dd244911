#include "orchestrator/guardian/listen.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/guardian/clients.hpp"
#include "orchestrator/guardian/stand_by.hpp"

namespace dvfs_plan {
namespace {

using Steady = std::chrono::steady_clock;

// A session holds the machine; the others wait, or ask who does. More are turned away.
constexpr std::size_t most_sessions = 32, most_of_one_user = 8;
constexpr std::size_t most_a_minute = 120;  // of one user

volatile sig_atomic_t ended = 0;

class Listener {
 public:
  Listener(UniqueFd socket, const GuardianOptions& options) : socket_(std::move(socket)), options_(options) {}

  int serve() {
    while (ended == 0) {
      reap();
      pollfd wait{socket_.get(), POLLIN, 0};
      constexpr int look_ms = 100;
      if (::poll(&wait, 1, look_ms) <= 0) continue;
      constexpr int most =
          16;  // a turn: whoever connects as fast as he can keeps nothing else from being done
      int taken = 0;
      for (UniqueFd accepted = next(); accepted && taken < most; accepted = next(), ++taken)
        take(Connection(std::move(accepted)));
    }
    // Each session puts its settings back.
    for (int round = 0; !sessions_.empty(); ++round) {
      // Again: one that had just been started may not have heard it.
      for (const auto& [pid, user] : sessions_) {
        if (round % 1000 == 0) ::kill(pid, SIGTERM);
      }
      reap();
      ::usleep(1000);
    }
    return 0;
  }

 private:
  UniqueFd next() { return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

  void take(Connection connection) {
    const auto peer = connection.peer();
    if (!peer) return;
    const auto of_user = static_cast<std::size_t>(std::count_if(
        sessions_.begin(), sessions_.end(), [&](const auto& one) { return one.second == peer->user; }));
    std::vector<Steady::time_point>& recent = recent_[peer->user];
    const auto now = Steady::now();
    std::erase_if(recent, [&](Steady::time_point when) { return now - when > std::chrono::minutes(1); });
    if (recent.empty() && recent_.size() > 1000) recent_.clear();
    const bool too_many =
        sessions_.size() >= most_sessions || of_user >= most_of_one_user || recent.size() >= most_a_minute;
    if (too_many) {
      connection.send(
          {"refused", {"3", "the guardian serves too many connections now", "try again in a minute"}},
          std::chrono::milliseconds(0));
      return;
    }
    recent_[peer->user].push_back(now);
    const pid_t pid = start_session(std::move(connection), client_of(*peer), options_);
    if (pid > 0) sessions_[pid] = peer->user;
  }

  void reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
      if (continued_if_stopped(pid, status, sessions_.contains(pid))) continue;
      if (sessions_.erase(pid) > 0) after_session(status, options_);
    }
  }

  UniqueFd socket_;
  const GuardianOptions& options_;
  std::map<pid_t, uid_t> sessions_;
  std::map<uid_t, std::vector<Steady::time_point>> recent_;
};

UniqueFd socket_at(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Error(ExitCode::bad_experiment, path + " is too long for a socket");
  std::strcpy(address.sun_path, path.c_str());
  const std::string folder = path.substr(0, path.rfind('/'));
  if (::mkdir(folder.c_str(), 0755) == 0) ::chmod(folder.c_str(), 0755);  // whatever the umask is
  ::unlink(path.c_str());
  const bool bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!bound || ::listen(socket.get(), 64) != 0)
    throw Error(ExitCode::machine_refuses, system_error_text("listen at " + path, errno));
  const group* const users = ::getgrnam(group_name);
  if (users != nullptr && ::chown(path.c_str(), 0, users->gr_gid) != 0)
    throw Error(ExitCode::machine_refuses, system_error_text("give " + path + " to its group", errno));
  // Without the group, who may do what is the policy's alone to say.
  ::chmod(path.c_str(), users != nullptr ? 0660 : 0666);
  return socket;
}

}  // namespace

int listen_at(const std::string& path, const GuardianOptions& options) {
  struct sigaction on_end {};
  on_end.sa_handler = [](int) { ended = 1; };
  for (const int signal : {SIGTERM, SIGINT}) ::sigaction(signal, &on_end, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::prctl(PR_SET_NAME, "dvfs-listener");  // `pkill dvfs-guardian` means the sessions, whose end it must see
  restore_now(options);
  return Listener(socket_at(path), options).serve();
}

}  // namespace dvfs_plan
