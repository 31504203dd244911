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
#include "base/process_tree.hpp"
#include "base/spawn.hpp"
#include "base/tcp_port.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/run/attached_services.hpp"

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

}  // namespace

Services::Services(LocalMachine& machine) : machine_(machine) {
  look_for_attached();
}

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
    const bool ended = has_ended(running);
    if (ended)
      prepared.events.push_back(
          {"service_restarted", fmt::format("service '{}' {} between two trials{}", spec_of(index).name,
                                            *running.ended, last_words(running))});
    if (!wanted || ended || running.asked_to_end || running.as != configuration(spec_of(index), point))
      superfluous.push_back(index);
  }
  if (!superfluous.empty()) boards_changed_ = true;
  if (!end(superfluous, true)) {
    prepared.interrupted = true;
    return prepared;
  }
  for (const int index : needed) {
    std::string problem;
    require_hope(index);
    const std::string as = configuration(spec_of(index), point);
    const Failures& before = failures_[index][as];
    if (before.in_row >= most_failures) {
      prepared.problem = fmt::format("{}; it is not tried again with these parameters", before.last);
      return prepared;
    }
    if (!running_.contains(index)) problem = make_ready(index, point, prepared);
    if (problem.empty() && !prepared.interrupted) problem = warm_up(index, point, prepared);
    if (prepared.interrupted) return prepared;
    if (problem.empty()) continue;
    prepared.problem = failed(index, as, problem);
    return prepared;
  }
  if (!attached_.empty()) find_attached();
  if (machine_.boards != nullptr) {
    auto ours = processes();
    ours.insert(attached_.begin(), attached_.end());
    // Who is on the boards now came with those that were started; of others one goes by their numbers.
    const bool started_some =
        std::any_of(running_.begin(), running_.end(), [](const auto& one) { return one.second.ours; });
    machine_.boards->are_ours(ours, boards_changed_ && started_some);
  }
  boards_changed_ = false;
  return prepared;
}

std::string Services::make_ready(int index, const PlanPoint& point, Prepared& prepared) {
  boards_changed_ = true;
  const std::string problem = spec_of(index).attached() ? attach(index, point) : start(index, point);
  return problem.empty() ? wait_until_ready(index, point, prepared) : problem;
}

// What is to be said of it; it is ended.
std::string Services::failed(int index, const std::string& as, const std::string& problem) {
  Failures& failures = failures_[index][as];
  ++failures.in_row;
  failures.last = fmt::format("service '{}' {}", spec_of(index).name, problem);
  const auto running = running_.find(index);
  if (running != running_.end()) failures.log = running->second.log;
  end({index}, true);
  return failures.last;
}

// One that fails in trial after trial, with all its parameters, will do so all night.
void Services::require_hope(int index) const {
  const auto of_it = failures_.find(index);
  if (of_it == failures_.end()) return;
  const Failures* last = nullptr;
  for (const PlanPoint& point : machine_.plan.points) {
    const auto& used = machine_.plan.workloads[static_cast<std::size_t>(point.workload)].services;
    if (std::find(used.begin(), used.end(), index) == used.end()) continue;
    const auto failures = of_it->second.find(configuration(spec_of(index), point));
    if (failures == of_it->second.end() || failures->second.in_row < most_failures) return;
    last = &failures->second;
  }
  if (last == nullptr) return;
  throw Error(ExitCode::machine_refuses, fmt::format("{}; {} times in a row", last->last, most_failures),
              (last->log.empty() ? std::string() : fmt::format("what it said is in {}; ", last->log)) +
                  "the trials up to here are kept, and the same command goes on; a longer time is  ready: "
                  "{within: 5 min}");
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

// What it says is appended to what earlier starts said; where that has become long it is begun anew, and the
// former kept beside it. Only a file in a folder that nobody else may write is taken: root writes there what a
// user's service says.
std::string Services::open_log(const std::string& name, const std::vector<std::string>& argv,
                               Running& running) const {
  constexpr std::int64_t long_log = 16 << 20;
  constexpr std::string_view log_mark = "--- ";  // that each start begins with
  const ActingAs owner(invoking_owner());
  const std::string& path = machine_.programs.log_folder;
  const std::string file = name + ".log";
  running.log = path + "/" + file;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return system_error_text("make the folder " + path, errno);
  const UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0)
    return system_error_text("open the folder " + path, errno);
  constexpr mode_t others_write = 022;
  if (status.st_uid != ::geteuid() || (status.st_mode & others_write) != 0)
    return fmt::format("its log would be in {}, which others may write; take that folder away", path);
  if (::fstatat(folder.get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_size > long_log)
    ::renameat(folder.get(), file.c_str(), folder.get(), (file + ".old").c_str());
  // O_NONBLOCK: somebody may have put a FIFO there.
  running.log_fd.reset(::openat(folder.get(), file.c_str(),
                                O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
                                0644));
  if (!running.log_fd) return system_error_text("write " + running.log, errno);
  if (::fstat(running.log_fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
    return fmt::format("{} is no file of its own; take it away", running.log);
  ::fcntl(running.log_fd.get(), F_SETFL, O_APPEND);
  std::string first(log_mark.size(), '\0');
  if (status.st_size > 0 &&
      (::pread(running.log_fd.get(), first.data(), first.size(), 0) != static_cast<ssize_t>(first.size()) ||
       first != log_mark))
    return fmt::format(
        "its log would be appended to {}, which no service of a run began; move that file away, "
        "or name another result with -o",
        running.log);
  std::string line = fmt::format("{}{} started:", log_mark, machine_.clock.wall_time());
  for (const std::string& word : argv) line += " " + shell_quote(word);
  line += '\n';
  if (::write(running.log_fd.get(), line.data(), line.size()) < 0)
    return system_error_text("write " + running.log, errno);
  running.log_start = ::fstat(running.log_fd.get(), &status) == 0 ? status.st_size : 0;
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
      auto holder = listener_of({"127.0.0.1", port});
      if (!holder) holder = listener_of({"::1", port});
      const auto name = holder ? Sysfs().text(fmt::format("/proc/{}/comm", *holder)) : std::nullopt;
      return fmt::format("was not started: port {} is taken{}", port,
                         holder ? fmt::format(" by pid {} ({})", *holder, printable(name.value_or("?")))
                                : " by another program");
    }
  }
  const CommandLine command = command_line(spec, machine_.plan.axes, point.values);
  const LaunchSpec launch = launch_spec(spec, command);
  if (std::string problem = open_log(spec.name, command.argv, running); !problem.empty())
    return "was not started: " + problem;
  running.mark = fmt::format("{}={}/{}", service_variable, machine_.guard.run(), spec.name);
  if (auto made = group().make_beside("service." + spec.name))
    running.group = std::make_unique<ControlGroup>(std::move(*made));
  SpawnSpec spawned_as{launch.executable, launch.argv, launch.environment, launch.folder, launch.run_as};
  spawned_as.environment->push_back(running.mark);
  spawned_as.output = spawned_as.errors = running.log_fd.get();
  spawned_as.dies_with_us = true;
  if (running.group) spawned_as.control_group = running.group->entrance();
  running.began_tick = current_tick();
  const Spawned spawned = spawn(spawned_as);
  if (spawned.pid < 0) return "could not be started: " + spawned.problem;
  if (spawned.outside_because != 0) running.group.reset();
  running.pid = spawned.pid;
  running.pidfd = open_pidfd(spawned.pid);
  group().own(running.pid);
  group().own_marked(running.mark);
  if (running.group) group().own_group(running.group.get());
  running_.insert_or_assign(index, std::move(running));
  // The guardian ends the run's whole control group: it must know of it before the first trial.
  machine_.guard.note_traces({machine_.programs.launcher.region_folder(), group().control_group()});
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
    if (!tcp_answers(*running.address, answer_limit)) return no_answer(running.as);
    running.pid = listener_of(*running.address).value_or(-1);
  }
  if (running.pid > 0) running.pidfd = open_pidfd(running.pid);
  if (spec.attached_pid) {
    const auto started = running.pidfd ? started_at_tick(running.pid) : std::nullopt;
    if (!started) return no_process(running.as);
    // Numbers are given again: one that was seen to be another process is not what was attached to.
    if (attached_ticks_.try_emplace(running.pid, *started).first->second != *started)
      return fmt::format("is not there: process {} has ended, and another one has its number now",
                         printable(running.as));
  }
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
      return tail(running, most).find(text) != std::string::npos;
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
    adopt_daemons(running);
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
  adopt_daemons(running);
  return {};
}

// What came to us since it was started, and is nobody else's, is its own: a server that went to the background with a clean environment.
void Services::adopt_daemons(Running& running) const {
  if (running.group || !running.ours) return;
  for (const pid_t child : children_of(::getpid())) {
    if (group().is_own(child) || started_at_tick(child).value_or(0) < running.began_tick) continue;
    if (::waitpid(child, nullptr, WNOHANG) == child || !group().may_be_of_the_run(child)) continue;
    running.daemons.insert(child);
    group().own(child);
  }
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

std::set<pid_t> Services::processes_of(const Running& running) const {
  std::set<pid_t> roots;
  if (running.pid > 0) roots.insert(running.pid);
  if (running.group) {
    for (const pid_t pid : running.group->processes()) roots.insert(pid);
  } else if (running.ours) {
    // Those that left their parents came to us.
    for (const pid_t child : children_of(::getpid())) {
      if (!roots.contains(child) && (running.daemons.contains(child) || is_marked(child, running.mark)))
        roots.insert(child);
    }
  }
  return with_what_it_started(roots);
}

std::set<pid_t> Services::processes() const {
  std::set<pid_t> all;
  for (const auto& [index, running] : running_) all.merge(processes_of(running));
  return all;
}

Seconds Services::cpu_time() const {
  Seconds sum{0};
  // A group knows what children used that nobody waited for.
  for (const std::string& group : attached_groups_)
    sum = sum + use_of_control_group(group).value_or(ControlGroupUse{}).all;
  const auto apart_from_groups = [&](std::set<pid_t> processes) {
    if (!attached_groups_.empty())
      std::erase_if(processes, [&](pid_t pid) { return attached_groups_.contains(control_group_of(pid)); });
    return processes;
  };
  std::set<pid_t> at_rest = attached_;
  for (const auto& [index, running] : running_) {
    const auto all = processes_of(running);
    const auto of_group = running.group ? running.group->use() : std::nullopt;
    sum = sum + (of_group ? of_group->all : use_of(apart_from_groups(all)).cpu);
    for (const pid_t pid : all) at_rest.erase(pid);
  }
  return sum + use_of(apart_from_groups(at_rest)).cpu;
}

void Services::find_attached() {
  attached_ = attached_processes(machine_.plan);
  attached_groups_ = control_groups_of_none_but(attached_);
}

// What one of them starts in a trial is seen before the next.
void Services::look_for_attached() {
  find_attached();
  if (machine_.boards != nullptr && !attached_.empty()) {
    auto ours = processes();
    ours.insert(attached_.begin(), attached_.end());
    machine_.boards->are_ours(ours, false);
  }
}

bool Services::has_ended(Running& running) {
  if (running.ended) return true;
  if (running.address && running.pid < 0) {
    if (!tcp_answers(*running.address, answer_limit)) running.ended = "does not answer any more";
    return running.ended.has_value();
  }
  if (!running.pidfd || !is_gone(running.pidfd)) return false;
  if (!running.ours) {
    running.ended = "has gone";
    return true;
  }
  int status = 0;
  if (::waitpid(running.pid, &status, WNOHANG) != running.pid) return false;
  group().disown(running.pid);
  running.pid = -1;
  // One that goes to the background by itself: its daemon has come to us.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    for (const pid_t child : children_of(::getpid())) {
      if (!(running.group ? running.group->holds(child) : is_marked(child, running.mark))) continue;
      running.pid = child;
      running.pidfd = open_pidfd(child);
      group().own(child);
      return false;
    }
  }
  running.ended = end_text(status);
  return true;
}

// SIGSTOP, a job that reads from a terminal: since the last look. Of a process that is no child of ours nobody tells.
bool Services::was_stopped(const Running& running) {
  return running.ours && running.pid > 0 && dvfs_plan::was_stopped(running.pid);
}

std::string Services::died(bool work_failed) {
  constexpr Seconds moment{0.3};
  if (work_failed && !running_.empty()) {
    std::vector<pollfd> waits;
    for (const auto& [index, running] : running_) {
      if (running.pidfd) waits.push_back({running.pidfd.get(), POLLIN, 0});
    }
    ::poll(waits.data(), waits.size(), static_cast<int>(moment.value() * 1000));
  }
  std::vector<std::pair<int, std::string>> ended;  // and what happened to it
  for (auto& [index, running] : running_) {
    if (has_ended(running))
      ended.emplace_back(index, *running.ended);
    else if (was_stopped(running))
      ended.emplace_back(index, "was stopped by a signal for a while, or still is");
    else
      failures_[index][running.as].in_row = 0;
  }
  std::vector<std::string> texts;
  for (const auto& [index, what] : ended) {
    const Running& running = running_.at(index);
    texts.push_back(failed(index, std::string(running.as), what + last_words(running)));
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

std::string Services::tail(const Running& running, std::size_t most) const {
  struct stat status {};
  if (!running.log_fd || ::fstat(running.log_fd.get(), &status) != 0) return {};
  const std::int64_t from = std::max(
      running.log_start, static_cast<std::int64_t>(status.st_size) - static_cast<std::int64_t>(most));
  std::string text(static_cast<std::size_t>(std::max<std::int64_t>(0, status.st_size - from)), '\0');
  const ssize_t count = ::pread(running.log_fd.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return text;
}

std::string Services::last_words(const Running& running) const {
  constexpr std::size_t most = 300;
  if (running.log.empty()) return {};
  const std::string text = printable(std::string(trim(tail(running, most))));
  return text.empty() ? "; it said nothing" : "; it said: " + text;
}

// Whether all of it has gone by itself: its first process, and who is in its session or group still.
bool Services::has_left(Running& running) {
  std::erase_if(running.daemons, [&](pid_t daemon) {
    const bool gone = ::waitpid(daemon, nullptr, WNOHANG) == daemon;
    if (gone) group().disown(daemon);
    return gone;
  });
  if (running.pid <= 0) return !running.group || running.group->empty();
  if (!is_gone(running.pidfd)) return false;
  // A session's number stays taken while the first of it is not reaped: look at the others.
  const auto all = processes_of(running);
  return all.empty() || (all.size() == 1 && all.contains(running.pid));
}

// Whatever is left of it, at once.
void Services::clear_away(Running& running) {
  if (!running.ours) return;
  const auto all = processes_of(running);
  if (running.pid > 0) {
    ::kill(-running.pid, SIGKILL);
    ::kill(running.pid, SIGKILL);
    reap_killed(running.pid);
    group().disown(running.pid);
  }
  for (const pid_t pid : running.daemons) {
    if (all.contains(pid)) ::kill(pid, SIGKILL);
  }
  if (running.mark.empty()) return;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    const bool in_group = running.group && kill_control_group(*running.group);
    const bool marked = kill_marked(running.mark);
    // Those that came to us: a process that has ended has no environment any more to tell whose it was.
    bool left = false;
    for (const pid_t child : children_of(::getpid())) {
      if (!all.contains(child)) continue;
      left = ::waitpid(child, nullptr, WNOHANG) != child || left;
    }
    if (!in_group && !marked && !left) break;
    ::usleep(1000);
  }
  for (const pid_t pid : running.daemons) group().disown(pid);
  group().disown_marked(running.mark);
  if (running.group) group().disown_group(running.group.get());
}

bool Services::end(const std::vector<int>& indices, bool gives_way) {
  std::vector<int> left;
  for (const int index : indices) {
    const auto found = running_.find(index);
    if (found == running_.end()) continue;
    Running& running = found->second;
    if (running.ours && !running.asked_to_end) {
      if (running.pid > 0) ::kill(-running.pid, SIGTERM);
      for (const pid_t pid : processes_of(running)) ::kill(pid, SIGTERM);
    }
    running.asked_to_end = true;
    left.push_back(index);
  }
  const Nanoseconds began = machine_.clock.now();
  constexpr Nanoseconds pause = 2'000'000;
  while (!left.empty()) {
    std::erase_if(left, [&](int index) {
      Running& running = running_.at(index);
      const bool at_once = machine_.interruption.count() > 1;
      const bool over =
          at_once || seconds(machine_.clock.now() - began).value() >= spec_of(index).grace.value();
      if (running.ours && !over && !has_left(running)) return false;
      clear_away(running);
      running_.erase(index);
      return true;
    });
    if (left.empty()) break;
    // Settings are put back first.
    if (machine_.interruption.pending() != 0 && gives_way) return false;
    machine_.clock.sleep_until(machine_.clock.now() + pause);
  }
  return true;
}

void Services::end_all(bool gives_way) {
  std::vector<int> all;
  for (const auto& [index, running] : running_) all.push_back(index);
  if (!end(all, gives_way)) return;
  if (machine_.boards != nullptr) machine_.boards->are_ours({}, true);
  boards_changed_ = true;
  look_for_attached();
}

}  // namespace dvfs_plan
