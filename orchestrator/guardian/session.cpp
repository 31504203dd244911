#include "orchestrator/guardian/session.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#include <map>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "orchestrator/guardian/applied_on_disk.hpp"
#include "orchestrator/guardian/end_workload.hpp"
#include "orchestrator/guardian/log.hpp"
#include "orchestrator/guardian/put_back.hpp"
#include "orchestrator/guardian/sensors.hpp"
#include "orchestrator/guardian/system_calls.hpp"
#include "orchestrator/settings/attribute_setting.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {
namespace {

using Steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds client_patience{
    5000};                                  // with a client that does not read, or does not say what it wants
constexpr milliseconds longest_look{1000};  // between looks at the clock
constexpr milliseconds queue_pause{100};    // between looks at the lock
constexpr milliseconds locks_patience{2000};  // the guardian of a run that was just killed needs some tens
constexpr milliseconds patience_with_the_dead{20'000};
constexpr std::size_t most_settings = 16'384;
constexpr std::size_t longest_path = longest_command_setting;

bool is_plain_text(const std::string& text, std::size_t longest) {
  return text.size() <= longest && text.find_first_of(std::string_view("\n\r\t\0", 4)) == std::string::npos;
}

std::string no_name_text(const std::string& knob) {
  return fmt::format(
      "{}what sets it, its folder, or the path of its file has a line break, a tab or a NUL in it, or is "
      "longer than {} characters: no "
      "journal could keep it; take that out of it",
      knob.empty() ? "" : fmt::format("axis '{}': ", printable(knob)), longest_path);
}

bool is_run_mark(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of("0123456789-") == std::string::npos;
}

// SIGTERM ends the session in order; it is let in only where we wait.
volatile sig_atomic_t asked_to_end = 0;

void note_signal(int) {
  asked_to_end = 1;
}

Message refusal(const Error& error) {
  return {"refused", {std::to_string(static_cast<int>(error.code())), error.what(), error.hint()}};
}

class Session {
 public:
  Session(Connection connection, Client client, const GuardianOptions& options, Policy policy)
      : connection_(std::move(connection)),
        client_(std::move(client)),
        options_(options),
        policy_(std::move(policy)),
        sysfs_(options.sysfs_root),
        writer_(sysfs_, guardian_doors(policy_)) {}

  int run() {
    const auto first = wait_for_message(client_patience);
    if (!first) return 0;
    if (first->kind == "who") return answer_who();
    if (first->kind != "hello")
      return refuse(Error(ExitCode::machine_refuses, "the first message is no hello"));
    try {
      if (!begin(*first)) return 0;
    } catch (const Error& error) {
      return refuse(error);
    }
    try {
      while (connected_ && asked_to_end == 0) {
        const auto message = wait_for_message(std::nullopt);
        if (!message || !answer(*message)) break;
      }
      if (asked_to_end != 0 && connected_ && ended_because_.empty())
        ended_because_ = "the guardian was told to end (SIGTERM)";
    } catch (const std::exception& fault) {
      ended_because_ = fmt::format("the guardian failed ({})", fault.what());
    }
    return end();
  }

 private:
  bool say(const Message& message, int passed = -1) {
    connected_ = connected_ && connection_.send(message, client_patience, passed);
    return connected_;
  }

  int refuse(const Error& error) {
    log_event(fmt::format("refused {}: {}", client_.name, error.what()),
              {{"EVENT", "refused"}, {"USER", client_.name}});
    // Interrupted while what an earlier run had left was put back, it would never know what stays set.
    if (!say(refusal(error)) && error.code() == ExitCode::not_restored)
      write_stderr(fmt::format("\ndvfs-guardian: {}\n  hint: {}\n", error.what(), error.hint()));
    return 0;
  }

  // nullopt: the connection, the session's time or the client's answer is over.
  std::optional<Message> wait_for_message(std::optional<milliseconds> limit) {
    const auto began = Steady::now();
    auto asked = Steady::time_point{};  // whether it is still there, and when
    for (;;) {
      if (auto message = connection_.next()) {
        if (message->kind != "pong") return message;
        heard_ = Steady::now();
        continue;
      }
      if (!connection_.problem().empty()) {
        ended_because_ = "what it said could not be understood: " + connection_.problem();
        return std::nullopt;
      }
      if (asked_to_end != 0) return std::nullopt;
      const auto now = Steady::now();
      if (limit && now - began >= *limit) return std::nullopt;
      if (!limit && is_over(now)) return std::nullopt;
      const auto stalled = stalled_after();
      if (!limit && now - heard_ >= stalled) {
        ended_because_ =
            fmt::format("it did not answer for {:.0f} s", std::chrono::duration<double>(stalled).count());
        return std::nullopt;
      }
      // Asked in time to answer three times over.
      if (!limit && now - heard_ >= stalled / 4 && now - asked >= stalled / 4) {
        asked = now;
        if (!say({"ping", {}})) return std::nullopt;
      }
      if (!wait_for_bytes(limit ? std::min(*limit, longest_look) : std::min(stalled / 8, longest_look)))
        return std::nullopt;
    }
  }

  bool wait_for_bytes(milliseconds at_most) {
    if (lock_) lock_->let_visitors_go();
    // A client that never rests must not keep the signal out.
    sigset_t end_signal;
    sigemptyset(&end_signal);
    sigaddset(&end_signal, SIGTERM);
    const timespec at_once{};
    if (::sigtimedwait(&end_signal, nullptr, &at_once) == SIGTERM) asked_to_end = 1;
    pollfd wait{connection_.fd(), POLLIN, 0};
    sigset_t none;
    sigemptyset(&none);
    const timespec time{at_most.count() / 1000, at_most.count() % 1000 * 1'000'000};
    if (::ppoll(&wait, 1, &time, &none) <= 0) return true;
    const auto heard = connection_.hear(false);
    if (heard == Connection::Heard::something) heard_ = Steady::now();
    connected_ = heard != Connection::Heard::end;
    return connected_;
  }

  milliseconds stalled_after() const {
    return std::chrono::duration_cast<milliseconds>(
        std::chrono::duration<double>(options_.stalled_after.value_or(policy_.stalled_after).value()));
  }

  bool is_over(Steady::time_point now) {
    constexpr Seconds longest_look_session{600};
    const auto longest = looks_only_ ? std::optional(longest_look_session) : policy_.longest_session;
    if (!longest || client_.unbound) return false;
    if (std::chrono::duration<double>(now - began_).count() < longest->value()) return false;
    ended_because_ = "its time is over ('session at most' of the policy)";
    return true;
  }

  std::optional<Holder> holder_now() {
    std::optional<StateFolder> folder;
    if (::access(options_.state_folder.c_str(), F_OK) == 0) folder.emplace(options_.state_folder);
    return holder_of_machine(folder ? &*folder : nullptr, options_.sysfs_root.empty());
  }

  // What is set now is then not the owner's own.
  void note_whose_it_is() {
    if (const auto holder = holder_now())
      note_ = {fmt::format("{}: {}", sweep_runs, holder->text()),
               "until it has ended a run is refused, or waits with --wait"};
    else if (::access((options_.state_folder + "/journal").c_str(), F_OK) == 0)
      note_ = {fmt::format("{}: its journal is in {}", sweep_was_cut_off, options_.state_folder),
               "dvfs-plan restore"};
  }

  int answer_who() {
    const auto holder = holder_now();
    if (holder)
      say({"who",
           {holder->user, std::to_string(holder->pid), holder->experiment, holder->since, holder->until}});
    else
      say({"who", {}});
    return 0;
  }

  // False: the client has gone.
  bool begin(const Message& hello) {
    if (hello.field(0) != protocol_version)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("the guardian speaks version {} of its protocol, this dvfs-plan version {}",
                              protocol_version, printable(hello.field(0).substr(0, 20))),
                  "install both of the same version");
    looks_only_ = hello.field(3) == "look";
    if (const std::string why = policy_.refusal(client_); !looks_only_ && !why.empty())
      throw Error(ExitCode::machine_refuses, why,
                  policy_.is_built_in()
                      ? fmt::format("an administrator may add you: sudo adduser {} {}, and you log in again",
                                    client_.name, group_name)
                      : std::string("who administers this machine may name you there (man dvfs-guardian)"));
    if (!client_.unbound) take_slot();
    if (!is_run_mark(hello.field(2))) throw Error(ExitCode::machine_refuses, "the hello names no run");
    workload_.run = hello.field(2);
    ::setenv(run_variable, workload_.run.c_str(), 1);  // of programs that set things for it
    us_ = {client_.name, printable(hello.field(1).substr(0, 300)), clock_.wall_time(), {}, client_.pid};
    if (looks_only_) {
      note_whose_it_is();
      return say(welcome_of(std::nullopt));
    }
    folder_.emplace(options_.state_folder);
    folder_->keep_copies();
    // Of a run that another guardian has given the machine to: for what it sets with its own rights.
    const bool beside = hello.field(3) == "beside" && client_.unbound;
    lock_.emplace(*folder_, options_.sysfs_root.empty() && !beside);
    if (!take_machine(hello.field(3) == "wait")) return false;
    const bool may_discard = client_.unbound || client_.by_sudo;
    const auto found = put_back_left(*folder_, sysfs_, policy_, hello.field(4) == "discard" && may_discard,
                                     client_.unbound ? workload_.run : std::string());
    began_ = heard_ = Steady::now();
    log_event(fmt::format("{} has the machine for {}", client_.name, us_.experiment),
              {{"EVENT", "session_begun"}, {"USER", client_.name}, {"EXPERIMENT", us_.experiment}});
    if (say(welcome_of(found))) return true;
    // Interrupted meanwhile: whoever was interrupted set nothing, and this was done all the same.
    for (const std::string& line : earlier_run_lines(found))
      write_stderr(fmt::format("\ndvfs-guardian: {}\n", line));
    return false;
  }

  Message welcome_of(const std::optional<RestoreOutcome>& found) const {
    Message welcome{"welcome", {found ? "1" : "0", note_.text, note_.next_step}};
    for (std::string& field : fields_of(found.value_or(RestoreOutcome{})))
      welcome.fields.push_back(std::move(field));
    return welcome;
  }

  // A user has so many connections at once: the others' are not to be used up by him.
  void take_slot() {
    constexpr int slots = 8;
    StateFolder folder(options_.state_folder);
    for (int i = 0; i < slots && !slot_; ++i) {
      const std::string name = fmt::format("slot.{}.{}", client_.user, i);
      slot_ = folder.try_lock_of(name);
      if (!slot_) slot_ = folder.make_lock(name);
    }
    if (!slot_)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{} has {} connections to the guardian already", client_.name, slots),
                  "end one of them");
  }

  bool take_machine(bool waits) {
    const auto began = Steady::now();
    std::string told;
    if (waits) lock_->queue_up();
    for (;;) {
      note_ = {};
      if (lock_->try_take(us_, note_.text) == MachineLock::Taken::yes) return true;
      const auto waited = Steady::now() - began;
      const auto holder =
          waited < locks_patience ? std::nullopt : holder_of_machine(&*folder_, options_.sysfs_root.empty());
      // A run that was killed a moment ago: its guardian puts back what it had set, and goes; on a busy machine that takes a while.
      const bool is_ending =
          holder && holder->pid > 0 && !holder->elsewhere && ::kill(holder->pid, 0) != 0 && errno == ESRCH;
      if (waited >= locks_patience && !(is_ending && waited < patience_with_the_dead)) {
        if (!waits && is_ending)
          throw Error(
              ExitCode::machine_refuses,
              fmt::format("the run that has this machine has ended, and its guardian has not: it waits for a "
                          "program of "
                          "a `set` key, was stopped, or hangs ({})",
                          holder->text()),
              fmt::format("such a program has a minute, and is tried again for about ten: wait for that; "
                          "`fuser {}/lock` names the guardian: kill "
                          "-CONT it, and it puts back what was set; if that does not "
                          "help, kill -9 it, and `dvfs-plan restore` does",
                          options_.state_folder));
        if (!waits)
          throw Error(
              ExitCode::machine_refuses,
              fmt::format("another sweep is running on this machine ({})",
                          holder ? holder->text() : "others wait for it"),
              "two sweeps would measure each other; wait for it: the same command with --wait is next, and "
              "dvfs-plan who tells how it goes");
        const std::string place = std::to_string(lock_->place());
        // Told when something has happened, not whenever the holder expects to be done at another time.
        const std::string now = fmt::format("{} {} {} {}", place, holder ? holder->pid : 0,
                                            holder ? holder->since : "", is_ending);
        std::string whose = holder ? holder->text() : "";
        if (is_ending)
          whose += fmt::format(
              "; that run has ended, and its guardian has not: a program of a `set` key has a minute to put "
              "back, and is tried again for about ten; after that, `fuser {}/lock` names it: kill -CONT it, "
              "and if that does not help, kill -9 "
              "it",
              options_.state_folder);
        if (now != told && !say({"queued", {place, whose}})) return false;
        told = now;
      }
      if (!wait_for_bytes(queue_pause) || asked_to_end != 0) return false;
    }
  }

  // The process that the client names as its own; 0: it is no child of the client's as the kernel has it (in a container of his
  // own a number means something else).
  pid_t child_of_client(const std::string& number) const {
    const auto named = static_cast<pid_t>(std::strtol(number.c_str(), nullptr, 10));
    return parent_of(named) == client_.pid ? named : 0;
  }

  // False: it is not to be answered any more.
  bool answer(const Message& message) {
    const std::string& kind = message.kind;
    if (kind == "done") {
      in_order_ = true;
      return false;
    }
    if (kind == "may") return answer_may(message);
    if (kind == "open") return hand_out(open_sensor(sysfs_, message.field(0)));
    if (kind == "event")
      return hand_out(open_power_event(message.field(0), message.field(1), message.field(2)));
    if (looks_only_) {
      ended_because_ = fmt::format("it said '{}' without having the machine", printable(kind.substr(0, 20)));
      return false;
    }
    if (kind == "arm") return answer_arm(message);
    if (kind == "former") return answer_former(message);
    if (kind == "set") return answer_set(message);
    if (kind == "restore") return answer_restore();
    if (kind == "child") {
      workload_.child = child_of_client(message.field(0));
      workload_.child_started = workload_.child == 0 ? 0 : started_at_tick(workload_.child).value_or(0);
      return true;
    }
    if (kind == "beside") {
      const pid_t named = child_of_client(message.field(0));
      if (named == 0) return true;
      own_guardian_ = named;
      own_guardian_started_ = started_at_tick(named).value_or(0);
      return true;
    }
    if (kind == "traces") {
      workload_.region_folder = message.field(0);
      workload_.control_group = message.field(1);
      try {
        note_session();
      } catch (const Error&) {
        // A full disk: the next one finds what is left by the run's mark alone.
      }
      return true;
    }
    if (kind == "until") {
      us_.until = printable(message.field(0).substr(0, 40));
      try {
        lock_->describe(us_);
      } catch (const Error&) {
        // A full disk: others are not told, and no harm is done.
      }
      return true;
    }
    ended_because_ = fmt::format("it said '{}', which is nothing", printable(kind.substr(0, 20)));
    return false;
  }

  // What is saved is read here: what a client says of former values would be written by root.
  bool answer_arm(const Message& message) {
    try {
      arm(message);
    } catch (const Error& error) {
      return say(refusal(error));
    }
    Message reply{"armed", {}};
    for (const SavedSetting& setting : saved_)
      reply.fields.insert(reply.fields.end(), {setting.path, setting.value});
    return say(reply);
  }

  // A run goes on after its guardian was killed, and somebody had deleted what that left on disk: what the settings were is in the run's
  // memory alone. Only of who could set them all by himself: of others what is saved is read here.
  bool answer_former(const Message& message) {
    if (!client_.unbound)
      return say(refusal(Error(ExitCode::not_restored, "what settings were is not taken from a client")));
    std::map<std::string, std::string> former;
    for (std::size_t i = 0; i + 1 < message.fields.size(); i += 2)
      former[message.fields[i]] = message.fields[i + 1];
    // What could not be read before the sweep, and can be as it has set others, is not to be put back.
    std::erase_if(saved_, [&](const SavedSetting& setting) { return !former.contains(setting.path); });
    std::erase_if(paths_, [&](const std::string& path) { return !former.contains(path); });
    if (saved_.empty()) return say(refusal(Error(ExitCode::not_restored, "none of these is saved")));
    for (SavedSetting& setting : saved_) setting.value = former[setting.path];
    try {
      note_journal();
    } catch (const Error& error) {
      return say(refusal(error));
    }
    // Nothing of what is there now was set by this session: all of it is put back.
    note_applied(paths_);
    SettingAccess access(sysfs_, guardian_doors(policy_));
    const RestoreOutcome outcome = restore_settings(saved_, access);
    outcome.complete() ? void(note_applied())
                       : applied_on_disk_.note_failures(*folder_, workload_.run, outcome);
    return say({"former", fields_of(outcome)});
  }

  void arm(const Message& message) {
    if (!saved_.empty()) throw Error(ExitCode::machine_refuses, "the session has its settings already");
    constexpr std::size_t of_one = 3;  // knob, path, and what it read to the run
    if (message.fields.size() % of_one != 0 || message.fields.size() / of_one > most_settings)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("more than {} settings, or a part of one", most_settings));
    std::vector<SavedSetting> settings;
    std::set<std::string> named;
    bool programs = false;
    for (std::size_t i = 0; i < message.fields.size(); i += of_one) {
      const std::string &knob = message.fields[i], &path = message.fields[i + 1],
                        &expected = message.fields[i + 2];
      const bool plain = is_plain_text(knob, 100) && is_plain_text(path, longest_path);
      if (!plain) throw Error(ExitCode::machine_refuses, no_name_text(knob), "nothing was set");
      if (const std::string why = policy_.refusal_to_save(client_, path); !why.empty())
        throw Error(ExitCode::machine_refuses, fmt::format("axis '{}': {}", knob, why), "nothing was set");
      if (!named.insert(path).second)
        throw Error(ExitCode::machine_refuses, printable(path) + " is named twice", "nothing was set");
      Setting& where = writer_.access().at(path);
      if (const std::string why = where.absent_because(); !why.empty())
        throw Error(ExitCode::machine_refuses,
                    fmt::format("axis '{}': {}: {}", knob, shown_setting(path), why), "nothing was set");
      if (!where.writable() && !where.is_optional())
        throw Error(ExitCode::machine_refuses,
                    fmt::format("axis '{}': {} may not be set by this user", knob, shown_setting(path)),
                    "nothing was set");
      if (where.is_cooled() && !where.is_optional())
        throw Error(ExitCode::machine_refuses,
                    fmt::format("axis '{}': {} reads {}, and the kernel cools by clocks now: what its owner "
                                "set cannot be read, so it could not be put back",
                                knob, shown_setting(path), where.read().text.value_or("")),
                    "nothing was set; let the machine cool (the states in "
                    "/sys/class/thermal/cooling_device*/cur_state fall to 0), then run it again");
      auto value = where.to_save();
      if (!value && where.is_optional()) continue;
      if (!value)
        throw Error(ExitCode::machine_refuses,
                    fmt::format("{} cannot be read now, so it could not be put back", shown_setting(path)),
                    "nothing was set");
      if (!is_plain_text(*value, 4096))
        throw Error(
            ExitCode::machine_refuses,
            fmt::format(
                "{} reads more than one line, or characters that are no text: it could not be put back",
                shown_setting(path)),
            "nothing was set");
      // Programs of the user's: a reader that tells something else by now would be believed at the end too.
      if (where.is_command() && !expected.empty() && !reads_as_asked(expected, *value))
        throw Error(
            ExitCode::machine_refuses,
            fmt::format(
                "axis '{}': its 'read' printed '{}' at first and '{}' now, before anything was set: what "
                "is to be put back is not known",
                knob, printable(expected), printable(*value)),
            "nothing was set; see that nobody else sets it and that its 'read' tells what is set, then run "
            "it "
            "again");
      programs = programs || !where.is_file();
      settings.push_back({knob, path, std::move(*value)});
    }
    if (settings.empty()) return;
    saved_ = std::move(settings);
    try {
      // First: who finds a session of settings without one takes it for lost.
      note_journal();
      note_session();
    } catch (...) {
      saved_.clear();
      remove_journal(*folder_);
      throw;
    }
    std::set<std::string> tried;
    for (const SavedSetting& setting : saved_) {
      paths_.insert(setting.path);
      if (writer_.access().at(setting.path).is_command()) tried.insert(setting.path);
    }
    note_applied(tried.empty() ? tried : paths_);
    for (const SavedSetting& setting : saved_) {
      if (tried.contains(setting.path)) try_way_back(setting);
    }
    if (!tried.empty()) put_back_what_moved();
    note_applied();
    // What comes from now on is what a client may do; programs that set boards need more of the kernel.
    if (!programs && client_.user != ::geteuid()) allow_only_needed_calls();
  }

  // Programs of the user's: whether what one told can be given to the other is known once it was done, and better before the night
  // than after it. A setting that is as it was stays so.
  void try_way_back(const SavedSetting& setting) {
    Setting& where = writer_.access().at(setting.path);
    const auto before = others_beside(setting.path);
    const std::string problem = writer_.put_back(setting.path, setting.value).problem;
    note_taken_along(before);
    const Setting::Read now = where.read();
    const bool as_it_was = now.text && reads_as_asked(setting.value, *now.text);
    if (as_it_was && problem.empty()) return;
    throw Error(
        as_it_was ? ExitCode::machine_refuses : ExitCode::not_restored,
        fmt::format("axis '{}': put back to what it was ('{}'), {}: it could not be put back after the sweep",
                    setting.knob, printable(setting.value),
                    !problem.empty() ? problem
                    : now.text       ? fmt::format("it reads '{}'", printable(*now.text))
                                     : now.problem),
        fmt::format(
            "{}its 'command' is to take what its 'read' prints; where it does not, give 'restore', which "
            "puts it back",
            as_it_was ? "nothing was set, and it is as it was; " : ""));
  }

  // What one of the programs took along as it was tried.
  void put_back_what_moved() {
    const bool moved = std::any_of(saved_.begin(), saved_.end(), [&](const SavedSetting& setting) {
      Setting& where = writer_.access().at(setting.path);
      if (!where.is_command() && !where.is_file()) return false;
      const auto now = where.to_save();
      return now && !reads_as_asked(setting.value, *now);
    });
    if (!moved) return;
    const RestoreOutcome outcome = put_back(false);
    for (const std::string& note : outcome.notes)
      log_event(note, {{"EVENT", "restored"}, {"USER", client_.name}});
    require_restored(outcome);
  }

  void note_journal() {
    write_journal(*folder_, {us_.experiment, clock_.wall_time(), boot_id(sysfs_), sysfs_.root(), client_.pid,
                             client_.user, workload_.run, saved_, client_started_});
  }

  // Somebody may delete what is on disk while we live: who comes after us would find nothing to put back.
  void keep_journal() {
    if (saved_.empty() || ::access((options_.state_folder + "/journal").c_str(), F_OK) == 0) return;
    try {
      note_journal();
      note_session();
      applied_on_disk_.write_again(*folder_);
    } catch (const Error&) {
      // It is in our memory, and in the run's.
    }
  }

  // What of the settings is ours, for whoever puts them back where we are killed. Empty, or why nothing is to be set now.
  std::string note_applied(std::set<std::string> unsettled = {}) {
    return note_applied(writer_.applied(), std::move(unsettled));
  }
  std::string note_applied(AppliedByUs applied, std::set<std::string> unsettled) {
    applied.insert(files_applied_.begin(), files_applied_.end());
    return applied_on_disk_.note(*folder_, workload_.run, applied, std::move(unsettled), {},
                                 writer_.unshown());
  }

  // Before it is set: the values, and what may be left of a setter that is killed half way.
  std::string note_what_comes(const Message& message) {
    AppliedByUs applied = writer_.applied();
    std::set<std::string> unsettled;
    bool news = false;
    for (std::size_t i = 0; i + 1 < message.fields.size(); i += 2) {
      const std::string &path = message.fields[i], &text = message.fields[i + 1];
      if (!is_armed(path) || !refusal_to_set(path, text).empty()) continue;
      Setting& where = writer_.access().at(path);
      if (!where.may_be_contested() && where.can_be_read()) {
        news = files_applied_[path].insert(text).second || news;
        continue;
      }
      // What it is read as is not known before the first time.
      if (applied[path].insert(text).second) unsettled.insert(path);
      if (where.changes_others()) unsettled.insert(paths_.begin(), paths_.end());
    }
    return news || !unsettled.empty() ? note_applied(std::move(applied), std::move(unsettled))
                                      : std::string();
  }

  bool is_armed(const std::string& path) {
    if (paths_.contains(path)) return true;
    if (!is_plain_text(path, longest_path) || saved_.empty()) return false;
    // Looked at for this once: what a client names is not kept.
    const auto with = SettingAccess(sysfs_, guardian_doors(policy_)).at(path).put_back_by();
    const auto saved = std::find_if(saved_.begin(), saved_.end(), [&](const SavedSetting& setting) {
      return with && setting.path == *with;
    });
    // Which levels were allowed under an owner's own "manual" cannot be read, nor put back.
    return saved != saved_.end() && saved->value != "manual";
  }

  std::string refusal_to_set(const std::string& path, const std::string& text) {
    if (text.size() > 4096) return "a text of more than 4096 bytes";
    // What it was may be set again by whoever was let to change what took it along.
    if (is_governor_tunable(path) &&
        std::any_of(saved_.begin(), saved_.end(), [&](const SavedSetting& setting) {
          return setting.path == path && setting.value == text;
        }))
      return {};
    return policy_.refusal_to_set(client_, path, text);
  }

  bool answer_may(const Message& message) {
    Message reply{"may", {}};
    for (std::size_t i = 0; i + 1 < message.fields.size(); i += 2) {
      const SettingAnswer answer = may(message.fields[i], message.fields[i + 1]);
      reply.fields.insert(reply.fields.end(), {answer.refusal, answer.by_kernel   ? "kernel"
                                                               : answer.refused() ? "policy"
                                                                                  : ""});
    }
    return say(reply);
  }

  SettingAnswer may(const std::string& path, const std::string& text) {
    if (!is_plain_text(path, longest_path)) return {no_name_text({})};
    if (std::string why = refusal_to_set(path, text); !why.empty()) return {std::move(why)};
    SettingAccess access(sysfs_, guardian_doors(policy_));
    Setting& where = access.at(path);
    if (where.writable() || where.is_optional()) return {};
    return {path + " may not be set by this user", true};
  }

  bool answer_set(const Message& message) {
    keep_journal();
    const std::string not_on_record = note_what_comes(message);
    Message reply{"set", {}};
    std::string told;
    for (std::size_t i = 0; i + 1 < message.fields.size(); i += 2) {
      const std::string &path = message.fields[i], &text = message.fields[i + 1];
      const WriteAnswer answer = not_on_record.empty() ? set(path, text) : WriteAnswer{not_on_record, true};
      reply.fields.insert(reply.fields.end(),
                          {answer.problem, answer.untouched ? "1" : "0", answer.unsupported ? "1" : "0",
                           answer.reads ? "1" : "0", answer.reads.value_or("")});
      if (told.size() < 2000)
        told += fmt::format("{}{}={}{}", told.empty() ? "" : " ", shown_setting(path), text,
                            answer.problem.empty() ? "" : " (" + answer.problem + ")");
    }
    note_applied();
    log_event("set " + told,
              {{"EVENT", "set"}, {"USER", client_.name}, {"EXPERIMENT", us_.experiment}, {"SETTINGS", told}});
    return say(reply);
  }

  WriteAnswer set(const std::string& path, const std::string& text) {
    if (!is_armed(path)) return {printable(path) + " is none of the settings that were saved", true};
    if (std::string why = refusal_to_set(path, text); !why.empty()) return {std::move(why), true};
    Setting& where = writer_.access().at(path);
    if (!where.changes_others()) return writer_.write(path, text);
    // What it takes along is ours as what it sets: at the end nobody else set that.
    const auto before = others_beside(path);
    const WriteAnswer answer = writer_.write(path, text);
    note_taken_along(before);
    return answer;
  }

  void note_taken_along(const std::map<std::string, std::string>& before) {
    for (const auto& [other, was] : before) {
      Setting& where = writer_.access().at(other);
      const auto now = where.read().text;
      if (now && *now != was) writer_.note_ours(other, *now);
      if (!now && where.only_where_taken_along()) writer_.note_ours(other, went_by_a_program);
    }
  }

  // What the other settings read whose changes are told, but for those that take long to be asked.
  std::map<std::string, std::string> others_beside(const std::string& path) {
    std::map<std::string, std::string> others;
    for (const SavedSetting& setting : saved_) {
      Setting& where = writer_.access().at(setting.path);
      if (setting.path == path || !where.may_be_contested() || !(where.is_command() || where.is_file()))
        continue;
      if (auto now = where.read().text) others.emplace(setting.path, std::move(*now));
    }
    return others;
  }

  bool hand_out(const OpenedFile& sensor) {
    const std::string why = policy_.refusal_of_sensors(client_);
    if (!why.empty()) return say({"opened", {why}});
    return say({"opened", {sensor.problem}}, sensor.fd.get());
  }

  bool answer_restore() {
    const RestoreOutcome outcome = put_back();
    if (outcome.complete()) forget_saved();
    return say({"restored", fields_of(outcome)});
  }

  RestoreOutcome put_back(bool tells = true) {
    // Programs that are killed half way leave anything; a file reads one or the other.
    const bool by_programs = std::any_of(saved_.begin(), saved_.end(), [&](const SavedSetting& setting) {
      return !writer_.access().at(setting.path).is_file();
    });
    if (by_programs) note_applied(paths_);
    SettingAccess access(sysfs_, guardian_doors(policy_));
    std::set<std::string> back;
    const auto note_back = [&](const std::string& path) {
      applied_on_disk_.note_back(*folder_, path);
      back.insert(path);
    };
    std::set<std::string> unshown = writer_.unshown();
    unshown.insert(held_by_daemons_.begin(), held_by_daemons_.end());
    RestoreOutcome outcome =
        restore_settings(saved_, access, {&writer_.applied(), nullptr, note_back, &unshown});
    for (const std::string& path : back) {
      writer_.is_back(path);
      held_by_daemons_.erase(path);
    }
    // What a program left that failed half way is no change by somebody else, the next time that we try.
    for (const RestoreOutcome::Failure& one : outcome.failures)
      writer_.note_ours(one.setting.path, one.found);
    if (!outcome.complete()) applied_on_disk_.note_failures(*folder_, workload_.run, outcome);
    if (!tells) return outcome;
    log_event(fmt::format("{}, {} could not be", counts_text(outcome), outcome.failures.size()),
              {{"EVENT", "restored"}, {"USER", client_.name}, {"EXPERIMENT", us_.experiment}});
    return outcome;
  }

  void forget_saved() {
    // Who is killed in between leaves the journal, by which all is put back once more: a record of settings without one would say that
    // what they were is lost.
    try {
      note_session(0);
    } catch (const Error&) {
      // Its folder is gone, and a copy would say that settings were left.
      remove_session_record(*folder_);
    }
    remove_journal(*folder_);
    applied_on_disk_.forget();
    saved_.clear();
    paths_.clear();
  }

  // For who comes after a power cut, or after somebody killed us and the run together.
  void note_session(std::size_t settings) {
    write_session_record(
        *folder_, {us_.experiment, us_.since, boot_id(sysfs_), client_.pid, client_.user, workload_.run,
                   workload_.region_folder, workload_.control_group, settings, client_started_});
  }
  void note_session() { note_session(saved_.size()); }

  // The connection has ended, in order or not.
  int end() {
    const bool was_cut_off = !saved_.empty();
    int code = 0;
    std::string said;
    try {
      if (was_cut_off)
        held_by_daemons_ = may_be_held_by_daemons(saved_, writer_.access(), &writer_.applied());
      // First of all, whatever its processes do.
      const RestoreOutcome first = was_cut_off ? put_back(false) : RestoreOutcome{};
      // Its direct child got SIGKILL with it; its group and its daemons did not.
      constexpr int at_once = 20, as_long_as_a_setter_may_take = 2000;  // rounds of 5 ms
      // A run that says that it is done has ended its own.
      const bool nothing_left = in_order_ && !was_cut_off;
      Workload left = workload_;
      left.run_is_alive = !nothing_left && is_alive(client_.pid, client_started_);
      bool alone = nothing_left || end_workload(left, client_.user, at_once);
      // Only who has rights can set anything meanwhile, and one that sits in the driver may do so late.
      if (!alone && was_cut_off && client_.user == ::geteuid())
        alone = end_workload(left, client_.user, as_long_as_a_setter_may_take);
      // Before the last look: its programs may take along what is ours.
      end_own_guardian_of_client();
      if (was_cut_off) {
        RestoreOutcome outcome = put_back();
        outcome.restored += first.restored;
        outcome.unchanged = std::max(0, outcome.unchanged - first.restored);
        alone = alone || client_.user != ::geteuid();
        if (outcome.complete() && alone) forget_saved();
        if (!alone) note_applied(paths_);  // what does not end may set them yet
        said = text_of(outcome, alone);
        if (!outcome.complete() || !alone) code = static_cast<int>(ExitCode::not_restored);
      }
      if (alone && saved_.empty() && folder_) remove_session_record(*folder_);
    } catch (const std::exception& fault) {
      said = fmt::format("\ndvfs-guardian: {}\n", fault.what());
      code = static_cast<int>(ExitCode::not_restored);
    }
    end_own_guardian_of_client();
    // Who reads our words may not: nobody waits for the machine on that account.
    lock_.reset();
    if (!said.empty()) write_stderr(said);
    if (looks_only_) return code;
    log_event(fmt::format("{} has left the machine{}", client_.name,
                          ended_because_.empty() ? "" : ": " + ended_because_),
              {{"EVENT", "session_ended"}, {"USER", client_.name}, {"EXPERIMENT", us_.experiment}});
    return code;
  }

  // Once. One that says that it is done has had its own programs put back before.
  void end_own_guardian_of_client() {
    const pid_t guardian = std::exchange(own_guardian_, 0);
    if (in_order_ || end_own_guardian(guardian, own_guardian_started_, client_.user, patience_with_the_dead))
      return;
    log_event(fmt::format("{}'s own guardian, pid {}, does not end: what programs of its set may stay",
                          client_.name, guardian),
              {{"EVENT", "not_restored"}, {"USER", client_.name}});
  }

  std::string text_of(const RestoreOutcome& outcome, bool alone) const {
    std::string text;
    for (const std::string& note : outcome.notes) text += fmt::format("\ndvfs-guardian: {}\n", note);
    const std::string why =
        ended_because_.empty() ? "the run ended without putting its settings back" : ended_because_;
    if (outcome.complete() && !alone)
      return text + fmt::format(
                        "\ndvfs-guardian: {} and its settings were put back, but a process of it does not "
                        "end and may "
                        "yet change them; when it is gone:\n  dvfs-plan restore\n",
                        why);
    if (outcome.complete()) return text + fmt::format("\ndvfs-guardian: {}; {}\n", why, counts_text(outcome));
    text += fmt::format("\ndvfs-guardian: {} and {} settings could not be put back:\n", why,
                        outcome.failures.size());
    for (const std::string& command : restore_commands(outcome)) text += "  " + command + "\n";
    return text;
  }

  Connection connection_;
  const Client client_;
  const std::int64_t client_started_ = started_at_tick(client_.pid).value_or(0);
  const GuardianOptions& options_;
  const Policy policy_;
  const Sysfs sysfs_;
  SystemClock clock_;
  // Made when a run takes the machine: who only looks leaves nothing behind.
  std::optional<StateFolder> folder_;
  UniqueFd slot_;
  std::optional<MachineLock> lock_;
  TrackingWriter writer_;
  Holder us_;
  Workload workload_;
  pid_t own_guardian_ = 0;  // of the client, beside us
  std::int64_t own_guardian_started_ = 0;
  std::vector<SavedSetting> saved_;
  std::set<std::string> paths_;  // of what is saved
  std::set<std::string>
      held_by_daemons_;        // perhaps, that end with a run that was cut off (may_be_held_by_daemons)
  AppliedByUs files_applied_;  // of what the kernel changes by each other, which is put back whatever it says
  AppliedOnDisk applied_on_disk_;
  GuardNote note_;
  std::string ended_because_;
  Steady::time_point began_ = Steady::now(), heard_ = Steady::now();
  bool connected_ = true, looks_only_ = false, in_order_ = false;
};

}  // namespace

int serve(Connection connection, const Client& client, const GuardianOptions& options) {
  struct sigaction on_end {};
  on_end.sa_handler = note_signal;
  ::sigaction(SIGTERM, &on_end, nullptr);
  sigset_t end_signal;
  sigemptyset(&end_signal);
  sigaddset(&end_signal, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &end_signal, nullptr);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU}) ::signal(signal, SIG_IGN);
  // The kernel must not choose the one process that can put the machine back. Root only; else it stays as it
  // is.
  Sysfs().write("/proc/self/oom_score_adj", "-1000");
  try {
    Policy policy = client.unbound ? policy_of_unbound() : Policy::load();
    try {
      return Session(std::move(connection), client, options, std::move(policy)).run();
    } catch (const Error& error) {
      write_stderr(fmt::format("dvfs-guardian: {}\n", error.what()));
      return static_cast<int>(error.code());
    }
  } catch (const Error& error) {
    connection.send(refusal(error), client_patience);
    return 0;
  }
}

int restore_now(const GuardianOptions& options) {
  const Sysfs sysfs(options.sysfs_root);
  std::string said;
  try {
    StateFolder folder(options.state_folder);
    folder.keep_copies();
    // A session that was just killed holds it until the kernel has done with it.
    UniqueFd lock;
    for (int i = 0; i < 50 && !(lock = folder.try_lock()); ++i) ::usleep(20'000);
    if (!lock) return 0;                        // a session has the machine, and put back first what was left
    const Policy policy = policy_of_unbound();  // what may be set no more is put back all the same
    if (const auto outcome = put_back_left(folder, sysfs, policy, false)) {
      const std::string text = fmt::format("an earlier run was cut off; {}", counts_text(*outcome));
      log_event(text, {{"EVENT", "restored"}});
      said = fmt::format("dvfs-guardian: {}\n", text);
      for (const std::string& note : outcome->notes) said += fmt::format("dvfs-guardian: {}\n", note);
    }
  } catch (const Error& error) {
    log_event(error.what(), {{"EVENT", "not_restored"}});
    write_stderr(fmt::format("dvfs-guardian: {}\n  hint: {}\n", error.what(), error.hint()));
    return static_cast<int>(error.code());
  } catch (const std::exception& fault) {
    log_event(fault.what(), {{"EVENT", "not_restored"}});
    write_stderr(fmt::format("dvfs-guardian: {}\n", fault.what()));
    return static_cast<int>(ExitCode::not_restored);
  }
  if (!said.empty()) write_stderr(said);  // the lock is free by now: who reads this may not
  return 0;
}

}  // namespace dvfs_plan
