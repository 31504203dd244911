#include "orchestrator/run/services.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/acting_as.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/spawn.hpp"
#include "base/tcp_port.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"

namespace dvfs_plan {
namespace {

constexpr int most_failures = 3;                            // in a row, before the night is given up
constexpr Seconds first_pause{0.002}, longest_pause{0.05};  // between looks whether one is ready
constexpr Seconds helper_limit{600};                        // of a warm-up's command
constexpr Seconds look_limit{10};  // of one run of the command that tells whether it is ready

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool is_gone(const UniqueFd& pidfd, Seconds patience = Seconds{0}) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return ::poll(&wait, 1, static_cast<int>(patience.value() * 1000)) == 1;
}

std::string end_text(int status) {
  return WIFSIGNALED(status) ? "was ended by " + signal_name(WTERMSIG(status))
                             : fmt::format("exited with {}", WEXITSTATUS(status));
}

// The end of a file from `start` on.
std::string tail_of(const std::string& file, std::int64_t start, std::size_t most) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return {};
  const std::int64_t from =
      std::max(start, static_cast<std::int64_t>(status.st_size) - static_cast<std::int64_t>(most));
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, status.st_size - from)), '\0');
  const ssize_t count = ::pread(fd.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text;
}

}  // namespace

Services::Services(LocalMachine& machine) : machine_(machine) {}

Services::~Services() {
  end_all();
}

std::string Services::configuration(const ServiceSpec& spec, const PlanPoint& point) const {
  const auto& axes = machine_.plan.axes;
  if (spec.attached())
    return filled(spec.attached_pid ? spec.attached_pid->text : spec.attached_address->text, axes,
                  point.values);
  const CommandLine command = command_line(spec, axes, point.values);
  std::string text;
  for (const std::string& word : command.argv) text += word + '\n';
  for (const auto& [name, value] : command.environment) text += name + '=' + value + '\n';
  return text;
}

Services::Prepared Services::prepare(const PlanPoint& point) {
  Prepared prepared;
  const auto& needed = machine_.plan.workloads[static_cast<std::size_t>(point.workload)].services;
  std::vector<int> superfluous;
  for (auto& [index, running] : running_) {
    const bool wanted = std::find(needed.begin(), needed.end(), index) != needed.end();
    if (!wanted || running.as != configuration(spec_of(index), point) || has_ended(running))
      superfluous.push_back(index);
  }
  for (const int index : superfluous) end(index);
  prepared.changed = !superfluous.empty();
  for (const int index : needed) {
    if (running_.contains(index)) continue;
    prepared.changed = true;
    std::string problem = spec_of(index).attached() ? attach(index, point) : start(index, point);
    if (problem.empty()) problem = wait_until_ready(index, point, prepared);
    if (prepared.interrupted) return prepared;
    if (problem.empty()) continue;
    prepared.problem = failed(index, problem);
    return prepared;
  }
  for (const int index : needed) {
    const std::string problem = warm_up(index, point, prepared);
    if (prepared.interrupted) return prepared;
    if (!problem.empty()) {
      prepared.problem = fmt::format("service '{}' {}", spec_of(index).name, problem);
      return prepared;
    }
  }
  if (machine_.boards != nullptr) machine_.boards->are_ours(processes(), prepared.changed);
  return prepared;
}

// One that fails in trial after trial will do so all night: then no more are run. Returns what is to be said of it.
std::string Services::failed(int index, const std::string& problem) {
  const std::string text = fmt::format("service '{}' {}", spec_of(index).name, problem);
  const std::string log = running_.contains(index) ? running_.at(index).log : std::string{};
  end(index);
  if (++failed_in_row_[index] >= most_failures)
    throw Error(ExitCode::machine_refuses, fmt::format("{}; {} times in a row", text, most_failures),
                (log.empty() ? std::string() : fmt::format("what it said is in {}; ", log)) +
                    "the trials up to here are kept, and the same command goes on; a longer time is  ready: "
                    "{within: 5 min}");
  return text;
}

LaunchSpec Services::launch_spec(const ServiceSpec& spec, const CommandLine& command) const {
  LaunchSpec launch;
  launch.argv = command.argv;
  launch.executable =
      find_executable(command.argv[0], machine_.plan.experiment.folder, machine_.programs.path);
  if (launch.executable.empty()) launch.executable = command.argv[0];
  launch.run_as = machine_.programs.service_users.at(spec.name);
  auto environment = machine_.programs.service_environments.at(spec.name);
  for (const auto& [name, value] : command.environment) environment[name] = value;
  environment[run_variable] = machine_.guard.run();
  for (const auto& [name, value] : environment) launch.environment.push_back(name + "=" + value);
  const std::filesystem::path folder(machine_.plan.experiment.folder);
  launch.folder = (spec.folder ? folder / spec.folder->text : folder).string();
  return launch;
}

// What it says is appended to what earlier starts said; where that has become long it is begun anew, and the former kept beside it.
std::string Services::open_log(const std::string& name, const std::vector<std::string>& argv, UniqueFd& log,
                               Running& running) const {
  constexpr std::int64_t long_log = 16 << 20;
  const ActingAs owner(invoking_owner());
  const std::string& folder = machine_.programs.log_folder;
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    return system_error_text("make the folder " + folder, errno);
  running.log = folder + "/" + name + ".log";
  struct stat status {};
  if (::lstat(running.log.c_str(), &status) == 0 && status.st_size > long_log)
    ::rename(running.log.c_str(), (running.log + ".old").c_str());
  log.reset(
      ::open(running.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0666));
  if (!log) return system_error_text("write " + running.log, errno);
  std::string line = fmt::format("--- {} started:", machine_.clock.wall_time());
  for (const std::string& word : argv) line += " " + shell_quote(word);
  line += '\n';
  if (::write(log.get(), line.data(), line.size()) < 0)
    return system_error_text("write " + running.log, errno);
  running.log_start = ::fstat(log.get(), &status) == 0 ? status.st_size : 0;
  return {};
}

std::string Services::start(int index, const PlanPoint& point) {
  const ServiceSpec& spec = spec_of(index);
  Running running;
  running.as = configuration(spec, point);
  if (spec.ready.kind == ReadySpec::Kind::port) {
    const int port = static_cast<int>(
        parse_number(filled(spec.ready.text.text, machine_.plan.axes, point.values)).value_or(0));
    if (port_answers(port)) {
      const auto holder = listener_of(port);
      const auto name = holder ? Sysfs().text(fmt::format("/proc/{}/comm", *holder)) : std::nullopt;
      return fmt::format("was not started: port {} is taken{}", port,
                         holder ? fmt::format(" by pid {} ({})", *holder, printable(name.value_or("?")))
                                : " by another program");
    }
  }
  const CommandLine command = command_line(spec, machine_.plan.axes, point.values);
  const LaunchSpec launch = launch_spec(spec, command);
  UniqueFd log;
  if (std::string problem = open_log(spec.name, command.argv, log, running); !problem.empty())
    return "was not started: " + problem;
  running.mark = fmt::format("{}={}/{}", service_variable, machine_.guard.run(), spec.name);
  SpawnSpec spawned_as{launch.executable, launch.argv, launch.environment, launch.folder, launch.run_as};
  spawned_as.environment->push_back(running.mark);
  spawned_as.output = spawned_as.errors = log.get();
  spawned_as.dies_with_us = true;
  const Spawned spawned = spawn(spawned_as);
  if (spawned.pid < 0) return "could not be started: " + spawned.problem;
  running.pid = spawned.pid;
  running.pidfd = open_pidfd(spawned.pid);
  ProcessGroup& group = machine_.programs.launcher.group();
  group.own(running.pid);
  group.own_marked(running.mark);
  running_.insert_or_assign(index, std::move(running));
  return {};
}

// Somebody else's: it must be there, and is left as it is.
std::string Services::attach(int index, const PlanPoint& point) {
  const ServiceSpec& spec = spec_of(index);
  Running running;
  running.as = configuration(spec, point);
  running.ours = false;
  if (spec.attached_pid) {
    running.pid = static_cast<pid_t>(parse_number(running.as).value_or(-1));
  } else {
    running.address = parse_tcp_address(running.as);
    if (!running.address)
      return fmt::format("has no address: '{}' is neither HOST:PORT nor a URL", printable(running.as));
    if (!tcp_answers(*running.address, Seconds{2}))
      return fmt::format("does not answer at {}", printable(running.as));
    running.pid = listener_of(running.address->port).value_or(-1);
  }
  if (running.pid > 0) running.pidfd = open_pidfd(running.pid);
  if (spec.attached_pid && !running.pidfd)
    return fmt::format("is not there: there is no process {}", printable(running.as));
  running_.insert_or_assign(index, std::move(running));
  return {};
}

bool Services::is_ready(const ServiceSpec& spec, const PlanPoint& point, const Running& running) {
  constexpr std::size_t most = 1 << 20;
  const std::string text = filled(spec.ready.text.text, machine_.plan.axes, point.values);
  switch (spec.ready.kind) {
    case ReadySpec::Kind::at_once:
      return true;
    case ReadySpec::Kind::port:
      return port_answers(static_cast<int>(parse_number(text).value_or(0)));
    case ReadySpec::Kind::line:
      return tail_of(running.log, running.log_start, most).find(text) != std::string::npos;
    case ReadySpec::Kind::command: {
      bool interrupted = false;
      return run_helper(spec, spec.ready.command, point, look_limit, interrupted).empty();
    }
  }
  return false;
}

std::string Services::wait_until_ready(int index, const PlanPoint& point, Prepared& prepared) {
  const ServiceSpec& spec = spec_of(index);
  Running& running = running_.at(index);
  const Nanoseconds began = machine_.clock.now();
  const Nanoseconds until = began + nanoseconds(spec.ready.within);
  Seconds pause = first_pause;
  for (;;) {
    if (has_ended(running))
      return fmt::format("{} before it was ready{}", *running.ended, last_words(running));
    if (is_ready(spec, point, running)) break;
    if (machine_.clock.now() >= until)
      return fmt::format("was not ready within {}{}", format_duration(spec.ready.within),
                         last_words(running));
    if (!machine_.interruption.sleep_until(machine_.clock.now() + nanoseconds(pause), machine_.clock)) {
      prepared.interrupted = true;
      return {};
    }
    pause = std::min(pause * 1.5, longest_pause);
  }
  return {};
}

std::string Services::warm_up(int index, const PlanPoint& point, Prepared& prepared) {
  const ServiceSpec& spec = spec_of(index);
  Running& running = running_.at(index);
  if (running.is_warm && running.warm_at == point.operating_point) return {};
  if (spec.warm_up.value() > 0 &&
      !machine_.interruption.sleep_until(machine_.clock.now() + nanoseconds(spec.warm_up), machine_.clock)) {
    prepared.interrupted = true;
    return {};
  }
  if (!spec.warm_up_command.empty()) {
    const std::string problem =
        run_helper(spec, spec.warm_up_command, point, helper_limit, prepared.interrupted);
    if (prepared.interrupted) return {};
    if (!problem.empty()) return "could not be warmed up: " + problem;
  }
  running.is_warm = true;
  running.warm_at = point.operating_point;
  return {};
}

// Runs a program of the service's to its end, as the service's user. Why it did not end with 0; empty: it did.
std::string Services::run_helper(const ServiceSpec& spec, const std::vector<RawValue>& words,
                                 const PlanPoint& point, Seconds limit, bool& interrupted) {
  ProgramSpec program = spec;
  program.command = words;
  program.shell.reset();
  LaunchSpec launch = launch_spec(spec, command_line(program, machine_.plan.axes, point.values));
  launch.grouped = true;
  auto launched = machine_.programs.launcher.launch(launch, machine_.clock);
  if (!launched.child) return launched.problem;
  const ChildResult result =
      launched.child->wait({limit, spec.grace}, &machine_.interruption, machine_.clock);
  interrupted = result.end == ChildResult::End::interrupted;
  if (result.end == ChildResult::End::exited && result.exit_code == 0) return {};
  const std::string how =
      result.end == ChildResult::End::exited      ? fmt::format("exited with {}", result.exit_code)
      : result.end == ChildResult::End::timed_out ? "took longer than " + format_duration(limit)
                                                  : "was ended by " + signal_name(result.signal);
  const std::string said = printable(std::string(trim(result.errors.tail)).substr(0, 200));
  return fmt::format("'{}' {}{}", printable(words[0].text), how, said.empty() ? "" : ": " + said);
}

std::set<pid_t> Services::processes() const {
  std::set<pid_t> roots;
  bool marked = false;
  for (const auto& [index, running] : running_) {
    if (running.pid > 0) roots.insert(running.pid);
    marked = marked || running.ours;
  }
  if (!marked) return with_descendants(roots);
  // Those that left their parents came to us.
  for (const pid_t child : children_of(::getpid())) {
    if (roots.contains(child)) continue;
    for (const auto& [index, running] : running_) {
      if (running.ours && is_marked(child, running.mark)) roots.insert(child);
    }
  }
  return with_descendants(roots);
}

bool Services::has_ended(Running& running) {
  if (running.ended) return true;
  if (running.address && running.pid < 0) {
    if (!tcp_answers(*running.address, Seconds{2})) running.ended = "does not answer any more";
    return running.ended.has_value();
  }
  if (!running.pidfd || !is_gone(running.pidfd)) return false;
  if (!running.ours) {
    running.ended = "has gone";
    return true;
  }
  int status = 0;
  if (::waitpid(running.pid, &status, WNOHANG) != running.pid) return false;
  ProcessGroup& group = machine_.programs.launcher.group();
  group.disown(running.pid);
  running.pid = -1;
  // One that goes to the background by itself: its daemon has come to us.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    for (const pid_t child : children_of(::getpid())) {
      if (!is_marked(child, running.mark)) continue;
      running.pid = child;
      running.pidfd = open_pidfd(child);
      group.own(child);
      return false;
    }
  }
  running.ended = end_text(status);
  return true;
}

std::string Services::died() {
  std::vector<int> ended;
  for (auto& [index, running] : running_) {
    if (has_ended(running))
      ended.push_back(index);
    else
      failed_in_row_[index] = 0;
  }
  std::vector<std::string> texts;
  for (const int index : ended) {
    const Running& running = running_.at(index);
    texts.push_back(failed(index, *running.ended + last_words(running)));
  }
  return join(texts, "; ");
}

std::vector<EventRecord> Services::grown() {
  constexpr double much = 1.5;
  constexpr std::int64_t slack = 64 << 20;
  std::vector<EventRecord> events;
  for (auto& [index, running] : running_) {
    if (running.pid <= 0 || running.told_growth) continue;
    const std::int64_t now = use_of(with_descendants({running.pid})).rss_bytes;
    if (running.first_rss == 0) running.first_rss = now;
    if (static_cast<double>(now) < much * static_cast<double>(running.first_rss) + slack) continue;
    running.told_growth = true;
    events.push_back(
        {"service_grows",
         fmt::format("service '{}' takes {:.0f} MiB of memory, and took {:.0f} MiB after its first trial",
                     spec_of(index).name, static_cast<double>(now) / 1048576,
                     static_cast<double>(running.first_rss) / 1048576)});
  }
  return events;
}

std::string Services::last_words(const Running& running) const {
  constexpr std::size_t most = 300;
  if (running.log.empty()) return {};
  std::string text = tail_of(running.log, running.log_start, most);
  text = printable(std::string(trim(text)));
  return text.empty() ? "; it said nothing" : "; it said: " + text;
}

void Services::end(int index) {
  const auto found = running_.find(index);
  if (found == running_.end()) return;
  Running& running = found->second;
  ProcessGroup& group = machine_.programs.launcher.group();
  if (running.ours && running.pid > 0) {
    ::kill(-running.pid, SIGTERM);
    ::kill(running.pid, SIGTERM);
    if (!is_gone(running.pidfd, spec_of(index).grace)) ::kill(running.pid, SIGKILL);
    ::kill(-running.pid, SIGKILL);
    while (::waitpid(running.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    group.disown(running.pid);
  }
  if (running.ours && !running.mark.empty()) {
    // Whoever left its session, and its children's children, which come to us.
    constexpr int rounds = 400;
    for (int round = 0; round < rounds && kill_marked(running.mark); ++round) {
      for (const pid_t child : children_of(::getpid())) {
        if (is_marked(child, running.mark)) ::waitpid(child, nullptr, WNOHANG);
      }
      ::usleep(5000);
    }
    group.disown_marked(running.mark);
  }
  running_.erase(found);
}

void Services::end_all() {
  while (!running_.empty()) end(running_.begin()->first);
  if (machine_.boards != nullptr) machine_.boards->are_ours({}, true);
}

}  // namespace dvfs_plan
