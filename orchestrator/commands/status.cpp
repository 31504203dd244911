// dvfs-plan status [--watch]: how far a night is, from another terminal. Each look is a short reading
// transaction on the write-ahead log, which never makes the run wait.
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/guard/journal.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct StatusOptions : CommonOptions {
  bool watch = false;
};

using Json = nlohmann::ordered_json;
constexpr Seconds between_lines{2};

// Killed and not yet taken note of by its parent: its number still answers.
bool is_dead(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');  // the name may hold anything
  return name_end != std::string::npos && name_end + 2 < line.size() &&
         (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

bool is_running(const Store::Progress& progress, const Sysfs& sysfs) {
  if (!progress.session_ended_how.empty() || progress.session_pid <= 0) return false;
  // After a reboot the same number is somebody else's.
  if (progress.session_boot_id != boot_id(sysfs)) return false;
  if (is_dead(progress.session_pid)) return false;
  return ::kill(progress.session_pid, 0) == 0 || errno == EPERM;
}

std::string status_text(const Store::Progress& p, bool running) {
  std::string text = fmt::format("{}: {} of {} trials finished, {} of them count\n", printable(p.name),
                                 p.finished, p.planned, p.counted);
  if (running) {
    text += fmt::format("running (pid {}, since {})", p.session_pid, printable(p.session_started_at));
    if (!p.current_trial.empty()) text += fmt::format(", now: {}", printable(p.current_trial));
    text += "\n";
    if (p.mean_trial_seconds && p.planned > p.finished)
      text += fmt::format("ETA {}{}\n", p.may_end_early ? "at most " : "",
                          format_duration(Seconds{*p.mean_trial_seconds * (p.planned - p.finished)}));
  } else if (p.session_ended_how == "done") {
    text += "done\n";
  } else {
    text += fmt::format(
        "not running; the last run {}. The same command goes on.\n",
        p.session_ended_how.empty() ? "was killed" : "ended as '" + printable(p.session_ended_how) + "'");
  }
  for (const EventRecord& event : p.last_warnings)
    text += fmt::format("warning: {}: {}\n", printable(event.kind), printable(event.message));
  return text;
}

// `lines`: all of it in one, for those who read a stream.
std::string status_json(const Store::Progress& p, bool running, bool lines) {
  Json json{
      {"experiment", p.name},        {"planned_trials", p.planned},      {"finished_trials", p.finished},
      {"counted_trials", p.counted}, {"may_end_early", p.may_end_early}, {"running", running}};
  json["pid"] = running ? Json(p.session_pid) : Json(nullptr);
  json["current_trial"] = running && !p.current_trial.empty() ? Json(p.current_trial) : Json(nullptr);
  json["eta_s"] = running && p.mean_trial_seconds && p.planned > p.finished
                      ? Json(*p.mean_trial_seconds * (p.planned - p.finished))
                      : Json(nullptr);
  json["last_session_ended"] = p.session_ended_how.empty() ? Json(nullptr) : Json(p.session_ended_how);
  json["last_warnings"] = Json::array();
  for (const EventRecord& event : p.last_warnings)
    json["last_warnings"].push_back({{"kind", event.kind}, {"message", event.message}});
  return json.dump(lines ? -1 : 2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int status_command(const StatusOptions& options) {
  const Sysfs sysfs(options.sysfs_root);
  const SystemClock clock;
  std::optional<Interruption> interruption;
  if (options.watch) interruption.emplace();
  while (true) {
    const auto progress = Store::open(options.file, Database::Mode::read_only).progress();
    const bool running = is_running(progress, sysfs);
    // Over what was there before, where a terminal can; below it elsewhere.
    const bool over = options.watch && !options.json && is_terminal_stdout();
    write_stdout((over ? "\x1b[H\x1b[2J" : "") + (options.json ? status_json(progress, running, options.watch)
                                                               : status_text(progress, running)));
    if (!options.watch || !running) return static_cast<int>(ExitCode::done);
    if (!interruption->sleep_until(clock.now() + nanoseconds(between_lines), clock))
      return static_cast<int>(ExitCode::interrupted);
    if (!over && !options.json) write_stdout("\n");
  }
}

const Registered<CommandKind> status(
    {.name = "status",
     .place = 30,
     .what = "how far a running or cut-off experiment is; does not disturb it",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<StatusOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_flag("--watch", options->watch, "again every two seconds, until the run ends");
       return declared(app, options, status_command);
     }});

}  // namespace
}  // namespace dvfs_plan
