// dvfs-guardian: the part of dvfs-plan that has rights. See SECURITY.md beside it.
//
//   dvfs-guardian --session             serves the connection on its standard input: started by systemd for each
//                                       connection to its socket, or by a run that has rights itself
//   dvfs-guardian --listen PATH         the same for machines without systemd: listens, and stands by each session
//   dvfs-guardian --beside-run PID UID  by a run under sudo, on descriptor 3: stands by the run, which is UID's from now on
//   dvfs-guardian --restore             puts back what a run left that was cut off: at boot, and behind each session
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/guardian/clients.hpp"
#include "orchestrator/guardian/listen.hpp"
#include "orchestrator/guardian/session.hpp"
#include "orchestrator/guardian/stand_by.hpp"

namespace dvfs_plan {
namespace {

constexpr const char* usage =
    "dvfs-guardian --session | --listen PATH | --beside-run PID UID | --restore\n"
    "  [--state-folder FOLDER] [--sysfs-root FOLDER] [--stalled-after SECONDS]\n";

struct Words {
  std::string mode;
  std::vector<std::string> rest;
  GuardianOptions options;
};

// nullopt: they are not understood.
std::optional<Words> read_words(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool takes_value = word == "--state-folder" || word == "--sysfs-root" || word == "--stalled-after";
    if (takes_value && i + 1 == argc) return std::nullopt;
    if (word == "--state-folder")
      words.options.state_folder = argv[++i];
    else if (word == "--sysfs-root")
      words.options.sysfs_root = argv[++i];
    else if (word == "--stalled-after")
      words.options.stalled_after = Seconds{parse_number(argv[++i]).value_or(300)};
    else if (words.mode.empty() && word.starts_with("--"))
      words.mode = word;
    else
      words.rest.push_back(word);
  }
  return words;
}

int serve_standard_input(const GuardianOptions& options) {
  const int fd = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  Connection connection{UniqueFd(fd)};
  const auto peer = connection.peer();
  if (!peer) {
    write_stderr("dvfs-guardian: standard input is no connection of a run\n");
    return static_cast<int>(ExitCode::bad_experiment);
  }
  return serve(std::move(connection), client_of(*peer), options);
}

int guardian(int argc, char** argv) {
  ::umask(077);
  ::signal(SIGXFSZ, SIG_IGN);
  ::signal(SIGCHLD,
           SIG_DFL);  // of a caller that ignores it: how children end would be told to nobody (waitpid(2))
  if (::geteuid() == 0) {
    // Nothing of what another user's environment holds.
    const char* const notify = std::getenv("NOTIFY_SOCKET");
    const std::string kept = notify == nullptr ? "" : notify;
    if (::getenv("SUDO_UID") != nullptr) ::clearenv();
    if (!kept.empty()) ::setenv("NOTIFY_SOCKET", kept.c_str(), 1);
    const rlimit no_core{0, 0};  // a core would hold what root read
    ::setrlimit(RLIMIT_CORE, &no_core);
    // Those that a caller set are none of ours.
    const rlimit free{RLIM_INFINITY, RLIM_INFINITY};
    for (const auto limit : {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_CPU}) ::setrlimit(limit, &free);
    ::signal(SIGPIPE, SIG_IGN);
  }
  const auto words = read_words(argc, argv);
  if (!words) {
    write_stderr(usage);
    return static_cast<int>(ExitCode::bad_experiment);
  }
  if (words->mode == "--session" && words->rest.empty()) return serve_standard_input(words->options);
  if (words->mode == "--restore" && words->rest.empty()) return restore_now(words->options);
  if (words->mode == "--listen" && words->rest.size() == 1) return listen_at(words->rest[0], words->options);
  if (words->mode == "--beside-run" && words->rest.size() == 2)
    return stand_by_run(std::atoi(words->rest[0].c_str()),
                        static_cast<uid_t>(std::strtoul(words->rest[1].c_str(), nullptr, 10)),
                        words->options);
  write_stderr(usage);
  return static_cast<int>(words->mode == "--help" ? ExitCode::done : ExitCode::bad_experiment);
}

}  // namespace
}  // namespace dvfs_plan

int main(int argc, char** argv) {
  dvfs_plan::hold_standard_descriptors();
  try {
    return dvfs_plan::guardian(argc, argv);
  } catch (const dvfs_plan::Error& error) {
    dvfs_plan::write_stderr(fmt::format("dvfs-guardian: {}\n  hint: {}\n", error.what(), error.hint()));
    return static_cast<int>(error.code());
  } catch (const std::exception& fault) {
    dvfs_plan::write_stderr(fmt::format("dvfs-guardian: {}\n", fault.what()));
    return static_cast<int>(dvfs_plan::ExitCode::machine_refuses);
  }
}
