// dvfs-plan status [--watch]: how far a night is, from another terminal. Each look is a short reading
// transaction on the write-ahead log, which never makes the run wait.
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/shared_folder.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/guard/journal.hpp"
#include "results/store/parts.hpp"

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

// Of an experiment whose blocks a cluster's nodes run: what of it has been collected.
struct ClusterProgress {
  std::vector<BlockRun> runs;  // that count
  std::map<std::string, std::string> left_out;
  std::vector<std::string> jobs;
  int not_collected = 0;  // trials that lie in the shared folder beside the result
};

std::optional<ClusterProgress> cluster_progress(Store& store, const std::string& file) {
  ClusterProgress progress;
  for (const Submission& one : submissions(store)) progress.jobs.push_back(one.job);
  if (progress.jobs.empty()) return std::nullopt;
  for (BlockRun& run : block_runs(store)) {
    if (run.left_out.empty()) progress.runs.push_back(std::move(run));
  }
  progress.left_out = nodes_left_out(store);
  std::set<std::string> taken;
  Statement names = store.database().prepare("SELECT name FROM handed_in");
  while (names.step()) taken.insert(names.text(0));
  const SharedFolder folder(file.substr(0, file.rfind(".sqlite")) + ".nodes");
  for (const std::string& name : folder.names(part_ending))
    progress.not_collected += name.find(".t") != std::string::npos && !taken.contains(name) ? 1 : 0;
  return progress;
}

std::string cluster_text(const Store::Progress& p, const ClusterProgress& cluster) {
  std::string text = fmt::format("{}: {} of {} trials collected, {} of them count\n", printable(p.name),
                                 p.finished, p.planned, p.counted);
  for (const BlockRun& run : cluster.runs)
    text += fmt::format("block {} on {}: {} trials{}\n", run.block, printable(run.node), run.trials,
                        run.complete ? ", complete" : "");
  for (const auto& [node, why] : cluster.left_out)
    text += fmt::format("{} is left out: {}\n", printable(node), printable(why));
  if (cluster.not_collected > 0)
    text += fmt::format("{} more trials are finished and not collected yet\n", cluster.not_collected);
  text += fmt::format("submitted as job{} {}: `squeue` says what waits and runs; the same command goes on\n",
                      cluster.jobs.size() == 1 ? "" : "s", join(cluster.jobs, ", "));
  for (const EventRecord& event : p.last_warnings)
    text += fmt::format("warning: {}: {}\n", printable(event.kind), printable(event.message));
  return text;
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
std::string status_json(const Store::Progress& p, const std::optional<ClusterProgress>& cluster, bool running,
                        bool lines) {
  Json json{
      {"experiment", p.name},        {"planned_trials", p.planned},      {"finished_trials", p.finished},
      {"counted_trials", p.counted}, {"may_end_early", p.may_end_early}, {"running", running}};
  json["pid"] = running && !cluster ? Json(p.session_pid) : Json(nullptr);
  if (cluster) {
    json["jobs"] = cluster->jobs;
    json["not_collected"] = cluster->not_collected;
    json["blocks"] = Json::array();
    for (const BlockRun& run : cluster->runs)
      json["blocks"].push_back(
          {{"block", run.block}, {"node", run.node}, {"trials", run.trials}, {"complete", run.complete}});
    json["nodes_left_out"] = cluster->left_out;
  }
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

// Opened for this look alone: what stays open keeps a log beside the file.
std::pair<Store::Progress, std::optional<ClusterProgress>> look(const std::string& file) {
  Store store = Store::open(file, Database::Mode::read_only);
  auto progress = store.progress();
  return {std::move(progress), cluster_progress(store, file)};
}

int status_command(const StatusOptions& options) {
  const Sysfs sysfs(options.sysfs_root);
  const SystemClock clock;
  std::optional<Interruption> interruption;
  if (options.watch) interruption.emplace();
  while (true) {
    const auto [progress, cluster] = look(options.file);
    // A cluster's sessions were others' processes.
    const bool running = cluster ? progress.finished < progress.planned : is_running(progress, sysfs);
    // Over what was there before, where a terminal can; below it elsewhere.
    const bool over = options.watch && !options.json && is_terminal_stdout();
    write_stdout((over ? "\x1b[H\x1b[2J" : "") + (options.json
                                                      ? status_json(progress, cluster, running, options.watch)
                                                  : cluster ? cluster_text(progress, *cluster)
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
