#include "orchestrator/guardian/machine_lock.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/connection.hpp"

namespace dvfs_plan {
namespace {

const std::string ticket_prefix = "queue.";

struct AbstractName {
  sockaddr_un address{};
  socklen_t size = 0;
};

AbstractName machine_name() {
  AbstractName name;
  name.address.sun_family = AF_UNIX;
  constexpr std::string_view text("\0dvfs-plan one sweep a machine", 30);
  std::copy(text.begin(), text.end(), name.address.sun_path);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size());
  return name;
}

UniqueFd stream_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Who listens under the name; nullopt: nobody does, or it is free by now.
std::optional<Peer> who_has_the_name() {
  // Once asked is enough until he ends it: of a guardian that was stopped each new connection would take one of so many places.
  static std::unique_ptr<Connection> asked;
  if (asked != nullptr) {
    pollfd ended{asked->fd(), POLLIN, 0};
    if (::poll(&ended, 1, 0) == 0) return asked->peer();
    asked.reset();
  }
  const AbstractName name = machine_name();
  UniqueFd socket = stream_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0)
    return std::nullopt;
  asked = std::make_unique<Connection>(std::move(socket));
  return asked->peer();
}

// "pid:[4026531836]"; empty: not known.
std::string pid_namespace() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/ns/pid", none).string();
}

// "name<TAB>value" lines; what a value must not hold is taken out.
std::string holder_line(const char* name, const std::string& value) {
  return fmt::format("{}\t{}\n", name, printable(value));
}

}  // namespace

std::string Holder::text() const {
  std::string text =
      fmt::format("pid {}{}, {}", pid, elsewhere ? " in another PID namespace" : "", experiment);
  if (!since.empty()) text += ", since " + since;
  if (!user.empty()) text += ", by " + user;
  if (!until.empty()) text += ", until about " + until;
  return text;
}

MachineLock::Taken MachineLock::try_take(const Holder& us, std::string& note) {
  if (ahead() > 0) return Taken::no;
  UniqueFd lock = folder_.try_lock();
  if (!lock || !take_name(note)) return Taken::no;
  lock_ = std::move(lock);
  describe(us);
  if (number_ > 0) folder_.remove(ticket_prefix + std::to_string(number_));
  number_ = 0;
  ticket_.reset();
  return Taken::yes;
}

bool MachineLock::take_name(std::string& note) {
  if (!of_machine_) return true;
  const AbstractName name = machine_name();
  name_ = stream_socket();
  if (::bind(name_.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) == 0) {
    ::listen(name_.get(), 64);  // who connects is told by the kernel who we are
    return true;
  }
  if (errno != EADDRINUSE) return true;  // no such names here: the file has to do
  name_.reset();
  const auto other = who_has_the_name();
  // What a user's own sweep has set for its night root's would take for what was there before. Our guardians say who they are; who does not, or
  // cannot be asked, is none, and is not to keep root out.
  if (::geteuid() != 0 || other) return false;
  note = fmt::format(
      "somebody holds the name by which users {} keep out of each other's way, and does not say who",
      "without the guardian");
  return true;
}

void MachineLock::describe(const Holder& us) {
  if (!lock_) return;
  folder_.describe_holder(lock_, holder_line("user", us.user) + holder_line("pid", std::to_string(us.pid)) +
                                     holder_line("namespace", pid_namespace()) +
                                     holder_line("experiment", us.experiment) +
                                     holder_line("since", us.since) + holder_line("until", us.until));
}

std::optional<Holder> holder_of_machine(const StateFolder* folder, bool of_machine) {
  Holder holder;
  for (const std::string& one : split_lines(folder == nullptr ? "" : folder->lock_holder())) {
    const auto tab = one.find('\t');
    if (tab == std::string::npos) continue;
    const std::string name = one.substr(0, tab), value = one.substr(tab + 1);
    if (name == "user") holder.user = value;
    if (name == "pid") holder.pid = std::atoi(value.c_str());
    if (name == "namespace") holder.elsewhere = !value.empty() && value != pid_namespace();
    if (name == "experiment") holder.experiment = value;
    if (name == "since") holder.since = value;
    if (name == "until") holder.until = value;
  }
  // The file outlives its holder: is it held?
  if (holder.pid != 0 && !folder->try_lock_of("lock")) return holder;
  const auto other = of_machine ? who_has_the_name() : std::nullopt;
  if (!other) return std::nullopt;
  // Its file, which names whom it stands for, is for members of the group.
  if (other->user == 0 && ::geteuid() != 0)
    return Holder{"root, or somebody whom its guardian stands for", "an experiment", {}, {}, other->pid};
  const passwd* const entry = ::getpwuid(other->user);
  return Holder{entry == nullptr ? fmt::format("uid {}", other->user) : entry->pw_name,
                "an experiment",
                {},
                {},
                other->pid};
}

void MachineLock::let_visitors_go() const {
  // Anybody may connect, as often as he likes: so many a turn.
  constexpr int most = 16;
  for (int i = 0; i < most && name_ && UniqueFd(::accept4(name_.get(), nullptr, nullptr, SOCK_CLOEXEC));
       ++i) {
  }
}

void MachineLock::queue_up() {
  if (number_ > 0) return;
  long last = 0;
  for (const std::string& name : folder_.list()) {
    if (name.starts_with(ticket_prefix))
      last = std::max(last, std::atol(name.c_str() + ticket_prefix.size()));
  }
  constexpr int tries = 100;
  for (int i = 1; i <= tries && !ticket_; ++i) {
    number_ = last + i;
    ticket_ = folder_.make_lock(ticket_prefix + std::to_string(number_));
  }
  if (!ticket_) throw Error(ExitCode::machine_refuses, "no place in the queue could be taken");
}

int MachineLock::place() {
  return ahead() + 1;
}

// Live tickets before ours, or all where we have none.
int MachineLock::ahead() {
  int count = 0;
  for (const std::string& name : folder_.list()) {
    if (!name.starts_with(ticket_prefix)) continue;
    const long number = std::atol(name.c_str() + ticket_prefix.size());
    if (number_ > 0 && number >= number_) continue;
    if (folder_.try_lock_of(name))
      folder_.remove(name);  // its owner has gone
    else
      ++count;
  }
  return count;
}

}  // namespace dvfs_plan
