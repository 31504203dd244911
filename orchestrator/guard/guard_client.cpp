#include "orchestrator/guard/guard_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/spawn.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/left_elsewhere.hpp"
#include "orchestrator/guard/rights.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/guard/state_places.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds send_patience{5000};  // with a guardian that does not read
// With one that does not answer: a board that is in trouble makes each of its settings take half a minute.
constexpr std::chrono::minutes longest_answer{30};

struct Opened {
  UniqueFd fd;
  int error = 0;
};

Opened open_machine_guardian() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, guardian_socket);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return {UniqueFd(), errno};
  return {std::move(socket)};
}

GuardDoor door_for(const GuardWish& wish, std::vector<GuardNote>& notes, UniqueFd& first) {
  if (!wish.is_of_this_machine() || wish.mode == GuardWish::Mode::beside) return GuardDoor::own;
  if (is_stood_by_root()) return GuardDoor::beside;
  if (::geteuid() == 0) return GuardDoor::own;
  Opened machine = open_machine_guardian();
  if (machine.error == EACCES)
    notes.push_back(
        {fmt::format("this machine has a guardian, which you may not ask ({}: Permission denied): "
                     "an administrator may add you to the group dvfs-plan",
                     guardian_socket),
         "sudo adduser $USER dvfs-plan"});
  const bool there = static_cast<bool>(machine.fd);
  first = std::move(machine.fd);  // asked once
  return there ? GuardDoor::machine : GuardDoor::own;
}

struct OpenedGuardian {
  UniqueFd socket;
  pid_t child = -1;  // of our own
};

OpenedGuardian open_own(const GuardWish& wish) {
  ConnectedPair pair = connected_pair();
  if (!pair.ours) throw Error(ExitCode::machine_refuses, system_error_text("socketpair", errno));
  SpawnSpec start{guardian_program(), {"dvfs-guardian", "--session", "--state-folder"}};
  start.argv.push_back(wish.state_folder.empty() ? default_state_folder() : wish.state_folder);
  if (!wish.sysfs_root.empty()) start.argv.insert(start.argv.end(), {"--sysfs-root", wish.sysfs_root});
  start.input = pair.theirs.get();
  start.errors = STDERR_FILENO;
  start.keeps_signals = true;  // until it says itself which it ignores
  const Spawned spawned = spawn(start);
  if (spawned.pid < 0)
    throw Error(ExitCode::machine_refuses, "start the guardian: " + spawned.problem, "nothing was set");
  return {std::move(pair.ours), spawned.pid};
}

OpenedGuardian open_guardian(const GuardWish& wish, GuardDoor door, UniqueFd first) {
  if (door == GuardDoor::own) return open_own(wish);
  OpenedGuardian opened{std::move(first)};
  if (!opened.socket)
    opened.socket = door == GuardDoor::machine ? open_machine_guardian().fd : session_of_stand_by();
  if (!opened.socket)
    throw Error(ExitCode::machine_refuses, "the guardian, which sets things and puts them back, is gone",
                "the same command goes on once it is there again (systemctl status dvfs-guardian.socket)");
  return opened;
}

// One that somebody stopped would neither set anything nor put it back. Of another's guardian, whoever stands by it
// sees to that.
void continue_if_stopped(pid_t guardian) {
  siginfo_t found{};
  if (guardian > 0 && ::waitid(P_PID, static_cast<id_t>(guardian), &found, WSTOPPED | WNOHANG) == 0 &&
      found.si_pid == guardian)
    ::kill(guardian, SIGCONT);
}

void add(RestoreOutcome& all, const RestoreOutcome& more) {
  all.restored += more.restored;
  all.unchanged += more.unchanged;
  all.left += more.left;
  all.failures.insert(all.failures.end(), more.failures.begin(), more.failures.end());
  all.notes.insert(all.notes.end(), more.notes.begin(), more.notes.end());
}

void add(std::optional<RestoreOutcome>& all, const std::optional<RestoreOutcome>& more) {
  if (all && more)
    add(*all, *more);
  else if (more)
    all = more;
}

// Whether an earlier run of this user's was cut off after its own programs had set something.
bool may_have_left_settings() {
  try {
    const std::string path = default_state_folder();
    if (::access(path.c_str(), F_OK) != 0) return false;
    StateFolder folder(path);
    folder.keep_copies();
    return read_journal(folder) || read_session_record(folder);
  } catch (const Error&) {
    return true;  // who looks closer says what is wrong with it
  }
}

// One answer to each request, of whichever of two is asked for its path.
template <class Ours, class Others>
auto in_two(const std::vector<SettingText>& requests,
            const std::function<bool(const std::string&)>& is_for_others, Ours ask_ours, Others ask_others) {
  std::vector<SettingText> ours, others;
  for (const SettingText& one : requests) (is_for_others(one.path) ? others : ours).push_back(one);
  if (others.empty()) return ask_ours(ours);
  auto of_ours = ours.empty() ? decltype(ask_ours(ours)){} : ask_ours(ours);
  auto of_others = ask_others(others);
  decltype(of_ours) answers;
  std::size_t next_of_ours = 0, next_of_others = 0;
  for (const SettingText& one : requests)
    answers.push_back(
        std::move(is_for_others(one.path) ? of_others[next_of_others++] : of_ours[next_of_ours++]));
  return answers;
}

[[noreturn]] void throw_refusal(const Message& refused) {
  const auto code = parse_number(refused.field(0)).value_or(3);
  throw Error(static_cast<ExitCode>(static_cast<int>(code)), refused.field(1), refused.field(2));
}

}  // namespace

GuardClient::GuardClient(GuardWish wish) : wish_(std::move(wish)), door_(door_for(wish_, notes_, first_)) {
  run_ = new_run();
  std::optional<RestoreOutcome> of_before;
  if (wish_.looks_elsewhere()) {
    LeftElsewhere left = left_elsewhere(wish_.state_folder);
    for (GuardNote& note : left.unknown) notes_.push_back(std::move(note));
    if (wish_.mode != GuardWish::Mode::looks) of_before = put_back_left_elsewhere(left.ours);
  }
  begin_session();
  add(found_, of_before);
  if (door_ == GuardDoor::own || wish_.mode == GuardWish::Mode::looks || !may_have_left_settings()) return;
  try {
    add(found_, beside().found_journal());
  } catch (...) {
    hang_up();
    throw;
  }
}

std::optional<RestoreOutcome> GuardClient::put_back_left_elsewhere(
    const std::vector<std::string>& folders) const {
  std::optional<RestoreOutcome> all;
  for (const std::string& folder : folders) {
    GuardWish wish = wish_;
    wish.state_folder = folder;
    wish.this_folder_alone = true;
    try {
      const GuardClient guard(std::move(wish));
      if (!guard.found_journal()) continue;
      add(all, guard.found_journal());
      all->notes.push_back(
          fmt::format("they were on record in {}, not in this session's own state folder", folder));
    } catch (const Error& error) {
      // Another sweep has the machine: who waits or is refused is told so by what follows.
      if (error.code() != ExitCode::machine_refuses) throw;
    }
  }
  return all;
}

bool GuardClient::is_for_another(const std::string& path) const {
  return door_ != GuardDoor::own && (is_command_setting(path) || is_beside_setting(path));
}

GuardClient& GuardClient::beside() {
  if (!beside_) {
    GuardWish wish = wish_;
    wish.mode = GuardWish::Mode::beside;
    auto beside = std::make_unique<GuardClient>(std::move(wish));
    {
      const std::lock_guard lock(mutex_);
      beside_ = std::move(beside);
    }
    notes_.insert(notes_.end(), beside_->notes_.begin(), beside_->notes_.end());
  }
  end_beside_if_lost();
  name_beside();
  return *beside_;
}

void GuardClient::machine_is_had() {
  const std::lock_guard lock(mutex_);
  machine_lost_ = false;
}

void GuardClient::name_beside() {
  const pid_t now = beside_ ? beside_->child_ : -1;
  if (now == named_beside_ || now < 0) return;
  named_beside_ = now;
  send({"beside", {std::to_string(now)}});
}

GuardClient::~GuardClient() {
  try {
    restore();
  } catch (const std::exception&) {
    // The journal stays, and the guardian tries as well when the connection ends.
  }
  send({"done", {}});
  hang_up();
}

void GuardClient::keep_from(ProcessGroup& group) const {
  if (child_ > 0) group.own(child_);
  if (beside_ && beside_->child_ > 0) group.own(beside_->child_);
  group.own_marked(fmt::format("{}={}", setter_variable, run_));
}

void GuardClient::begin_session(Begin why) {
  // Somebody may kill one before it has said a word; who is refused is refused.
  constexpr int tries = 3, tries_to_put_back = 5;
  try {
    for (int attempt = 1; !try_session(); ++attempt) {
      if (stop_requests() > 0 && why == Begin::to_set)
        throw Error(ExitCode::interrupted,
                    begun_ > 0 ? "interrupted before the machine was had again"
                               : "interrupted before the machine was had",
                    nothing_is_set());
      if (attempt == (why == Begin::to_set ? tries : tries_to_put_back))
        throw Error(ExitCode::machine_refuses, "the guardian ended before it had said a word",
                    "the system's journal may say why");
    }
  } catch (...) {
    hang_up();
    throw;
  }
  ++begun_;
}

// False: the guardian ended before it answered.
bool GuardClient::try_session() {
  hang_up();
  named_beside_ = -1;
  OpenedGuardian opened = open_guardian(wish_, door_, std::move(first_));
  child_ = opened.child;
  stop_.reset(::eventfd(0, EFD_CLOEXEC));
  {
    const std::lock_guard lock(mutex_);
    connection_ = std::make_unique<Connection>(std::move(opened.socket));
    lost_ = false;
    answers_.clear();
  }
  listener_ = std::thread([this] { listen(); });
  return greet();
}

bool GuardClient::greet() {
  // A session that is begun again goes on with a night: whoever queues meanwhile has his turn first.
  const bool waits = wish_.mode == GuardWish::Mode::waits || begun_ > 0;
  const char* const mode = wish_.mode == GuardWish::Mode::looks    ? "look"
                           : wish_.mode == GuardWish::Mode::beside ? "beside"
                           : waits                                 ? "wait"
                                                                   : "now";
  auto answer =
      ask({"hello", {protocol_version, wish_.experiment, run_, mode, wish_.discards ? "discard" : ""}});
  while (answer && answer->kind == "queued") {
    if (wish_.tell)
      wish_.tell(fmt::format("waiting for the machine, {} in the queue{}", answer->field(0),
                             answer->field(1).empty() ? "" : "; now: " + answer->field(1)));
    if (!wait_in_queue())
      throw Error(ExitCode::interrupted, "interrupted while it waited for the machine", nothing_is_set());
    answer = wait_for_answer(nullptr);
  }
  if (!answer) return false;
  if (answer->kind == "refused") throw_refusal(*answer);
  if (answer->field(0) == "1")
    found_ = outcome_of(std::span(answer->fields).subspan(3));
  else if (begun_ > 0)
    found_.reset();
  if (!answer->field(1).empty()) notes_.push_back({answer->field(1), answer->field(2)});
  // What stands may be what they left, and would be taken for what was there before.
  if (begun_ == 0 && wish_.mode != GuardWish::Mode::looks) {
    for (const std::string& one : left_by_users(wish_.state_folder, wish_.sysfs_root))
      notes_.push_back({one, {}});
  }
  return true;
}

void GuardClient::hang_up() {
  if (listener_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    listener_.join();
  }
  {
    const std::lock_guard lock(mutex_);
    connection_.reset();
    lost_ = true;  // nobody waits for its answer
  }
  // It has put everything back by then; a program of the user's that takes its time is left to it once we were asked twice.
  constexpr milliseconds grace{500}, look{1};
  const auto began = std::chrono::steady_clock::now();
  for (int status = 0; child_ > 0;) {
    const pid_t ended = ::waitpid(child_, &status, WUNTRACED | WNOHANG);
    const bool is_late = std::chrono::steady_clock::now() - began > grace;
    if (ended == child_ && WIFSTOPPED(status))
      ::kill(child_, SIGCONT);
    else if (ended != 0 || (is_late && stop_requests() > 1))
      break;
    else
      std::this_thread::sleep_for(look);
  }
  child_ = -1;
}

// Answers what the guardian asks at any time, and hands on what it answers.
void GuardClient::listen() {
  for (;;) {
    pollfd wait[2] = {{connection_->fd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    ::poll(wait, 2, -1);
    if (wait[1].revents != 0) return;
    const auto heard = connection_->hear(true);
    const std::lock_guard lock(mutex_);
    for (auto message = connection_->next(); message; message = connection_->next()) {
      if (message->kind == "ping")
        connection_->send({"pong", {}}, send_patience);
      else
        answers_.emplace_back(std::move(*message), connection_->take_descriptor());
    }
    if (heard == Connection::Heard::end || !connection_->problem().empty()) {
      lost_ = true;
      ++lost_count_;
      if (beside_) beside_->end_session();
    }
    came_.notify_all();
    if (lost_) return;
  }
}

// What it did not take, or did not answer in time, is not to be mistaken for the answer to the next question:
// the listener notices the end.
void GuardClient::give_up_session() {
  if (connection_) ::shutdown(connection_->fd(), SHUT_RDWR);
}

// The machine was lost: whoever has it next is not to find what our own programs have set. The guardian puts that back.
void GuardClient::end_session() {
  const std::lock_guard lock(mutex_);
  machine_lost_ = true;
  if (!lost_) give_up_session();
}

// While another session of the one beside was begun ours may have ended, which its listener could not tell it.
void GuardClient::end_beside_if_lost() {
  const std::lock_guard lock(mutex_);
  if (beside_ && lost_) beside_->end_session();
}

void GuardClient::send(const Message& message) {
  const std::lock_guard lock(mutex_);
  if (connection_ && !lost_ && !connection_->send(message, send_patience)) give_up_session();
}

std::optional<Message> GuardClient::ask(const Message& message, UniqueFd* passed, bool until_asked_twice) {
  const std::lock_guard question(one_question_);
  send(message);
  return wait_for_answer(passed, until_asked_twice);
}

// False: we are to leave it.
bool GuardClient::wait_in_queue() {
  constexpr milliseconds pause{100};
  std::unique_lock lock(mutex_);
  while (!came_.wait_for(lock, pause, [&] { return !answers_.empty() || lost_; })) {
    if (stop_requests() > 0) return false;
  }
  return true;
}

std::optional<Message> GuardClient::wait_for_answer(UniqueFd* passed, bool until_asked_twice) {
  using Steady = std::chrono::steady_clock;
  constexpr milliseconds look{100}, grace{1000};
  const auto until = Steady::now() + longest_answer;
  auto asked_to_stop = Steady::time_point::max();
  std::unique_lock lock(mutex_);
  while (!came_.wait_for(lock, look, [&] { return !answers_.empty() || lost_; })) {
    continue_if_stopped(child_);
    const auto now = Steady::now();
    if (stop_requests() > (until_asked_twice ? 1 : 0)) asked_to_stop = std::min(asked_to_stop, now);
    if (now >= until || now - asked_to_stop >= grace) break;
  }
  if (answers_.empty()) {
    give_up_session();
    return std::nullopt;
  }
  Message answer = std::move(answers_.front().first);
  if (passed != nullptr) *passed = std::move(answers_.front().second);
  answers_.pop_front();
  return answer;
}

void GuardClient::require_known_former() const {
  if (!wish_.looks_elsewhere()) return;
  for (const GuardNote& left : left_elsewhere(wish_.state_folder).unknown)
    throw Error(
        ExitCode::not_restored, left.text + ", and would be taken for what was there before: nothing was set",
        left.next_step + "   where it was this one; else the same there, or give that folder another place");
}

void GuardClient::arm(const std::vector<SavedSetting>& settings) {
  std::vector<SavedSetting> ours, of_programs;
  for (const SavedSetting& setting : settings)
    (is_for_another(setting.path) ? of_programs : ours).push_back(setting);
  // First what was there: programs of the user's are tried, and may take it along.
  arm_ours(ours);
  if (!of_programs.empty()) beside().arm(of_programs);
}

void GuardClient::arm_ours(const std::vector<SavedSetting>& settings) {
  settings_ = settings;
  former_.clear();
  written_.clear();
  if (!settings_.empty()) arm_again();
}

void GuardClient::arm_again() {
  // The machine's guardian and root have theirs where all of root's are found.
  if (door_ != GuardDoor::machine && ::geteuid() != 0 && wish_.sysfs_root.empty()) {
    if (wish_.state_folder.empty())
      sign_state_folder();
    else
      note_state_folder(wish_.state_folder);
  }
  Message request{"arm", {}};
  for (const SavedSetting& setting : settings_)
    request.fields.insert(request.fields.end(),
                          {setting.knob, setting.path,
                           // Later on others may have had the machine.
                           former_.empty() && is_command_setting(setting.path) ? setting.value : ""});
  const auto answer = ask(request);
  if (!answer && stop_requests() > 0)
    throw Error(
        ExitCode::interrupted, "interrupted before the first trial",
        "what was tried out of the settings is put back by the guardian; `dvfs-plan restore` says so");
  if (!answer)
    throw Error(ExitCode::machine_refuses, "the guardian ended before anything was set", "try again");
  if (answer->kind == "refused") throw_refusal(*answer);
  std::vector<SettingText> read;
  for (std::size_t i = 0; i + 1 < answer->fields.size(); i += 2)
    read.push_back({answer->fields[i], answer->fields[i + 1]});
  if (former_.empty())
    former_ = std::move(read);
  else if (!found_ && std::any_of(read.begin(), read.end(), [&](const SettingText& now) {
             const auto ours = written_.find(now.path);
             const auto was = std::find_if(former_.begin(), former_.end(),
                                           [&](const SettingText& one) { return one.path == now.path; });
             return ours != written_.end() && was != former_.end() && !same_setting(now.text, was->text) &&
                    std::any_of(ours->second.begin(), ours->second.end(),
                                [&](const std::string& text) { return same_setting(now.text, text); });
           }))
    hand_over_former();
}

constexpr const char* look_yourself =
    "look at them; `dvfs-plan restore` puts them back where the journal is still there, else do so by hand";

// The guardian was killed, and what it had left on disk was deleted: its successor takes what the sweep has set for what was before.
void GuardClient::hand_over_former() {
  Message request{"former", {}};
  for (const SettingText& one : former_) request.fields.insert(request.fields.end(), {one.path, one.text});
  const auto answer = ask(request, nullptr, true);
  const auto outcome =
      answer && answer->kind == "former" ? outcome_of(std::span(answer->fields)) : std::nullopt;
  if (!outcome) {
    settings_.clear();  // its end may yet put them back; to ask again would ask another one
    tell_what_stays("the guardian was killed, and its journal and the copy were lost", look_yourself);
  }
  if (!outcome->complete()) settings_.clear();  // it has tried, and so will the guardian's end
  require_restored(*outcome);
  found_ = outcome;
}

void GuardClient::tell_what_stays(const std::string& why, const std::string& hint) {
  std::string list;
  RestoreOutcome all;
  const Sysfs sysfs(wish_.sysfs_root);
  SettingAccess access(sysfs, {});
  for (const SettingText& one : former_) {
    // What may have been taken along is many files: those that read as they did are none.
    if (is_beside_setting(one.path) && access.at(one.path).read().text == one.text) continue;
    list += fmt::format("\n  {} was '{}'", shown_setting(printable(one.path)), printable(one.text));
    all.failures.push_back({{{}, one.path, one.text}, {}, {}});
  }
  std::string commands;
  for (const std::string& command : restore_commands(all, sysfs)) commands += "\n  " + command;
  throw Error(
      ExitCode::not_restored,
      fmt::format("{}: whether the settings were put back is not known; before the sweep{}", why, list),
      commands.empty() ? hint : hint + "; by hand:" + commands);
}

std::vector<SettingAnswer> GuardClient::may(const std::vector<SettingText>& requests) {
  return in_two(
      requests, [this](const std::string& path) { return is_for_another(path); },
      [this](const auto& ours) { return may_ours(ours); },
      // They say themselves what they may do: nobody else is asked.
      [](const auto& of_programs) { return std::vector<SettingAnswer>(of_programs.size()); });
}

std::vector<SettingAnswer> GuardClient::may_ours(const std::vector<SettingText>& requests) {
  // All values of all policies of a large machine are more than one message holds.
  constexpr std::size_t at_once = 4000;
  constexpr std::size_t of_one = 2;
  std::vector<SettingAnswer> answers;
  for (std::size_t from = 0; from < requests.size(); from += at_once) {
    const std::size_t count = std::min(at_once, requests.size() - from);
    Message request{"may", {}};
    for (std::size_t i = from; i < from + count; ++i)
      request.fields.insert(request.fields.end(), {requests[i].path, requests[i].text});
    const auto answer = ask(request);
    const bool whole = answer && answer->kind == "may" && answer->fields.size() == of_one * count;
    for (std::size_t i = 0; i < count; ++i)
      answers.push_back(
          whole ? SettingAnswer{answer->fields[of_one * i], answer->fields[of_one * i + 1] == "kernel"}
                : SettingAnswer{"the guardian has gone"});
  }
  return answers;
}

std::vector<WriteAnswer> GuardClient::write(const std::vector<SettingText>& requests) {
  return in_two(
      requests, [this](const std::string& path) { return is_for_another(path); },
      [this](const auto& ours) { return write_ours(ours); },
      [this](const auto& of_programs) {
        {
          const std::lock_guard lock(mutex_);
          if (lost_)
            return std::vector<WriteAnswer>(of_programs.size(), WriteAnswer{"the guardian has gone"});
        }
        return beside().write(of_programs);
      });
}

std::vector<WriteAnswer> GuardClient::write_ours(const std::vector<SettingText>& requests) {
  Message request{"set", {}};
  for (const SettingText& one : requests) {
    request.fields.insert(request.fields.end(), {one.path, one.text});
    written_[one.path].insert(one.text);
  }
  const auto answer = ask(request);
  constexpr std::size_t of_one = 5;
  std::vector<WriteAnswer> answers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!answer || answer->kind != "set" || answer->fields.size() != of_one * requests.size()) {
      answers.push_back({"the guardian has gone"});
      continue;
    }
    const auto field = [&](std::size_t which) -> const std::string& {
      return answer->fields[of_one * i + which];
    };
    answers.push_back({field(0), field(1) == "1", field(2) == "1",
                       field(3) == "1" ? std::optional(field(4)) : std::nullopt});
  }
  return answers;
}

int GuardClient::sessions_lost() const {
  const int of_the_other = beside_ ? beside_->sessions_lost() : 0;
  const std::lock_guard lock(mutex_);
  return lost_count_ + of_the_other;
}

// Ours first: until the machine is ours again another sweep may set the same by its own programs.
bool GuardClient::keep() {
  const bool ours = keep_ours();
  if (beside_) beside_->machine_is_had();
  const bool other = beside_ && beside_->keep();
  end_beside_if_lost();
  name_beside();
  return ours || other;
}

bool GuardClient::keep_ours() {
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    lost = lost_;
  }
  if (!lost && !to_arm_) return false;
  try {
    if (lost) begin_session();
  } catch (const Error& error) {
    // Nothing is known of who would put them back: it cannot be started, or cannot read the journal.
    const bool unknown = error.code() == ExitCode::machine_refuses || error.code() == ExitCode::not_restored;
    if (settings_.empty() || !unknown) throw;
    // One that cannot read the journal, or could not put all of it back, is asked once more at the end.
    if (error.code() == ExitCode::not_restored) tell_what_stays(error.what(), error.hint());
    settings_.clear();  // there is nobody to ask: what is said here is the last word
    tell_what_stays(error.what(), look_yourself);
  }
  to_arm_ = !settings_.empty();
  try {
    if (to_arm_) arm_again();
  } catch (const Error&) {
    to_arm_ = !settings_.empty();  // else what stays was told, and that is the last word
    throw;
  }
  to_arm_ = false;
  if (const auto traces = std::exchange(traces_, std::nullopt)) note_traces(*traces);
  return true;
}

void GuardClient::note_traces(const WorkloadTraces& traces) {
  if (traces == traces_) return;
  const bool is_first = !traces_;
  traces_ = traces;
  send({"traces", {traces.region_folder, traces.control_group}});
  // Answered when what came before is on disk: killed together with us a moment later, the guardian would leave nothing to find a workload by.
  // By the run's mark alone that is found: what is told later is no reason to wait.
  if (is_first) ask({"may", {}});
}

void GuardClient::note_child(pid_t child) {
  send({"child", {std::to_string(child)}});
}

void GuardClient::note_until(const std::string& expected) {
  send({"until", {expected}});
}

// Ours come last: they are what a program may have changed by the way.
RestoreOutcome GuardClient::restore() {
  if (!beside_) return restore_ours();
  RestoreOutcome outcome;
  std::optional<Error> fault;
  end_beside_if_lost();
  try {
    outcome = beside_->restore();
  } catch (const Error& error) {
    fault = error;
  }
  try {
    add(outcome, restore_ours());
  } catch (const Error& error) {
    if (!fault) throw;
    throw Error(error.code(), fmt::format("{}\n{}", fault->what(), error.what()), error.hint());
  }
  if (fault) throw *fault;
  return outcome;
}

RestoreOutcome GuardClient::restore_ours() {
  if (settings_.empty()) return {};
  auto answer = ask({"restore", {}}, nullptr, true);
  const auto settings = std::exchange(settings_, {});
  to_arm_ = false;
  if (!answer) return restored_by_another(settings);
  const auto outcome = outcome_of(answer->fields);
  if (answer->kind != "restored" || !outcome)
    throw Error(ExitCode::not_restored, "the guardian did not say whether everything was put back",
                "look with: dvfs-plan restore" + state_folder_option(wish_.state_folder));
  return *outcome;
}

// Another guardian puts back what the journal holds before it does anything else; so did whoever has the machine
// by now, unless that is our own former guardian, which does not answer.
RestoreOutcome GuardClient::restored_by_another(const std::vector<SavedSetting>& settings) {
  try {
    begin_session(Begin::to_put_back);
  } catch (const Error& error) {
    if (error.code() == ExitCode::not_restored && !former_.empty())
      tell_what_stays(error.what(), error.hint());
    if (error.code() != ExitCode::machine_refuses && error.code() != ExitCode::interrupted) throw;
    const std::string look = "it goes on by itself if it can; look with: dvfs-plan restore" +
                             state_folder_option(wish_.state_folder);
    const auto holder = machine_holder();
    if (!holder) tell_what_stays("the guardian ended before it had said that it put back", look);
    const bool by_programs = std::any_of(settings.begin(), settings.end(), [](const SavedSetting& one) {
      return is_command_setting(one.path);
    });
    if (holder->pid == ::getpid())
      tell_what_stays(by_programs
                          ? "the guardian has not answered yet: it may be waiting for a program of a `set` "
                            "key, which has a minute and is tried again for about ten"
                          : "the guardian does not answer",
                      look);
    return {};
  }
  const auto machine_lost = [&] {
    const std::lock_guard lock(mutex_);
    return machine_lost_;
  };
  if (found_ || former_.empty() || machine_lost()) return found_.value_or(RestoreOutcome{});
  // It found no journal of ours: somebody deleted it and the copy. What the settings were is in our memory alone.
  settings_ = settings;
  try {
    arm_again();
  } catch (const Error& error) {
    settings_.clear();
    if (error.code() != ExitCode::machine_refuses) throw;
    tell_what_stays(error.what(), look_yourself);
  }
  const auto answer = ask({"restore", {}}, nullptr, true);
  settings_.clear();
  const auto outcome =
      answer && answer->kind == "restored" ? outcome_of(std::span(answer->fields)) : std::nullopt;
  if (!outcome)
    tell_what_stays("the guardian was killed, and its journal and the copy were lost", look_yourself);
  return found_.value_or(*outcome);
}

// Of the one that is beside another guardian's session none has it.
std::optional<MachineHolder> GuardClient::machine_holder() const {
  if (wish_.mode == GuardWish::Mode::beside) return std::nullopt;
  try {
    return who_has_the_machine(wish_).holder;
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string GuardClient::nothing_is_set() const {
  if (begun_ > 0) return "what it had set was put back as the guardian's session ended";
  // Its guardian may have been about to put back what an earlier run left, and has nobody to tell of it now.
  return fmt::format("it set nothing; whether an earlier run left something set, `dvfs-plan restore{}` says",
                     state_folder_option(wish_.state_folder));
}

OpenedFile GuardClient::open_file(const std::string& path) {
  return ask_to_open({"open", {path}});
}

OpenedFile GuardClient::open_event(unsigned type, unsigned long config, int cpu) {
  return ask_to_open({"event", {std::to_string(type), std::to_string(config), std::to_string(cpu)}});
}

OpenedFile GuardClient::ask_to_open(const Message& request) {
  OpenedFile opened;
  const auto answer = ask(request, &opened.fd);
  opened.problem = answer ? answer->field(0) : "the guardian has gone";
  return opened;
}

WhoAnswer who_has_the_machine(const GuardWish& wish) {
  std::vector<GuardNote> notes;
  UniqueFd first;
  WhoAnswer who{door_for(wish, notes, first), {}};
  Connection connection(open_guardian(wish, who.asked, std::move(first)).socket);
  connection.send({"who", {}}, send_patience);
  for (;;) {
    if (const auto message = connection.next()) {
      if (message->kind == "refused") throw_refusal(*message);
      if (message->fields.size() >= 5)
        who.holder = {message->field(0), message->field(2), message->field(3), message->field(4),
                      static_cast<int>(parse_number(message->field(1)).value_or(0))};
      return who;
    }
    pollfd wait{connection.fd(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(send_patience.count())) == 0 ||
        connection.hear(false) == Connection::Heard::end)
      throw Error(ExitCode::machine_refuses, "the guardian does not say who has the machine",
                  "the system's journal may say why (journalctl -t dvfs-guardian)");
  }
}

}  // namespace dvfs_plan
