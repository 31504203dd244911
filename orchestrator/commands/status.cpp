// dvfs-plan status [--watch]: how far a night is, from another terminal. Each look is a short reading
// transaction on the write-ahead log, which never makes the run wait.
#include <fmt/format.h>
#include <signal.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/node_settings.hpp"
#include "orchestrator/cluster/shared_folder.hpp"
#include "orchestrator/cluster/slurm.hpp"
#include "orchestrator/commands/cluster_experiment.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/guard/journal.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/json_values.hpp"
#include "results/report/report.hpp"
#include "results/store/parts.hpp"
#include "results/store/writer_lock.hpp"

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

bool is_running(const std::string& file, const Store::Progress& progress, const Sysfs& sysfs) {
  if (!progress.session_ended_how.empty() || progress.session_pid <= 0) return false;
  if (const auto writer = writer_of(file)) return *writer == progress.session_pid;
  // Beside a copy there is nobody to ask but the process itself.
  // After a reboot the same number is somebody else's.
  if (progress.session_boot_id != boot_id(sysfs)) return false;
  if (is_dead(progress.session_pid)) return false;
  return ::kill(progress.session_pid, 0) == 0 || errno == EPERM;
}

// A copy of a result, or a shared folder, looked at elsewhere.
bool is_of_another_machine(const Store::Progress& progress, const Sysfs& sysfs) {
  const auto here = sysfs.text("/proc/sys/kernel/hostname");
  return progress.session_boot_id != boot_id(sysfs) && !progress.host.empty() && here &&
         trim(*here) != progress.host;
}

// Of an experiment whose blocks a cluster's nodes run: what of it has been collected.
struct ClusterProgress {
  std::vector<BlockRun> runs;  // that count
  std::map<std::string, std::string> left_out;
  std::vector<std::string> jobs;
  std::set<std::string> job_names;
  std::string job_mark;
  std::vector<NodeSettings> settings;
  int not_collected = 0;  // trials that lie in the shared folder beside the result
  struct Tasks {
    int running = 0, waiting = 0;
    std::string reason;  // why the first of them waits, as Slurm says it
  };
  std::optional<Tasks> tasks;  // nullopt: Slurm cannot be asked here
  std::set<std::string> alive;
  std::string silence;  // then why
};

void ask_slurm(ClusterProgress& progress) {
  try {
    ClusterProgress::Tasks tasks;
    for (const SlurmTask& task : Slurm().tasks(progress.jobs, progress.job_names, progress.job_mark)) {
      if (task.ended()) continue;
      if (!task.node.empty()) progress.alive.insert(task.name());
      (task.node.empty() ? tasks.waiting : tasks.running) += 1;
      if (task.node.empty() && tasks.reason.empty() && task.reason != "None") tasks.reason = task.reason;
    }
    progress.tasks = tasks;
  } catch (const Error& error) {
    progress.silence = error.what();
  }
}

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
  const SharedFolder folder(nodes_folder_of(store, file));
  progress.job_names = job_names(folder, store.experiment().name);
  progress.job_mark = job_mark(folder);
  progress.settings = settings_of_nodes(folder);
  for (const std::string& name : folder.names(part_ending))
    progress.not_collected += name.find(".t") != std::string::npos && !taken.contains(name) ? 1 : 0;
  ask_slurm(progress);
  return progress;
}

std::string tasks_text(const Store::Progress& p, const ClusterProgress& cluster) {
  const std::string jobs =
      fmt::format("job{} {}", cluster.jobs.size() == 1 ? "" : "s", join(cluster.jobs, ", "));
  if (!cluster.tasks)
    return fmt::format("submitted as {}; whether they wait or run is not known: {}\n", jobs,
                       printable(cluster.silence));
  const auto& tasks = *cluster.tasks;
  if (tasks.running + tasks.waiting > 0)
    return fmt::format("{}: {} at work, {} waiting{}\n", jobs, counted(tasks.running, "node"),
                       counted(tasks.waiting, "task"),
                       tasks.reason.empty() ? "" : fmt::format(" ({})", printable(tasks.reason)));
  if (p.finished >= p.planned) return "done\n";
  if (p.may_end_early && cluster.not_collected == 0)
    return "no task waits or runs: the search is over, or was ended\n";
  return fmt::format(
      "no task of {} waits or runs; the command that began it collects what is finished and submits what "
      "is missing\n",
      jobs);
}

std::string cluster_text(const Store::Progress& p, const ClusterProgress& cluster) {
  std::string text = fmt::format("{}: {} of {} trials collected, {} of them count\n", printable(p.name),
                                 p.finished, p.planned, p.counted);
  for (const BlockRun& run : cluster.runs)
    text += fmt::format("block {} on {}: {} trials{}\n", run.block, printable(run.node), run.trials,
                        run.complete ? ", complete" : "");
  for (const auto& [node, why] : cluster.left_out)
    text += fmt::format("{} is left out: {}\n", printable(node), printable(why));
  for (const NodeSettings& one : cluster.settings) {
    const bool may_be_at_work = !cluster.tasks || cluster.alive.contains(job_and_index(one));
    const std::string said = settings_text(one, may_be_at_work);
    if (!said.empty()) text += fmt::format("warning: {}\n", said);
  }
  if (cluster.not_collected > 0)
    text += fmt::format("{} more trials are finished and not collected yet\n", cluster.not_collected);
  text += tasks_text(p, cluster);
  for (const EventRecord& event : p.last_warnings)
    text += fmt::format("warning: {}: {}\n", printable(event.kind), printable(event.message));
  return text;
}

// What would be answered by now.
std::string so_far(const Store::Progress& p) {
  constexpr std::size_t most = 5;
  const auto texts = best_so_far(p);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i)
    text += fmt::format("so far, of {}: {}\n", counted(p.best_of_trials, "trial"), texts[i]);
  if (texts.size() > most) text += fmt::format("and {} more: dvfs-plan report\n", texts.size() - most);
  return text;
}

// Somebody else than the last session of the night's own.
std::optional<int> other_writer(const std::string& file, const Store::Progress& progress) {
  const int writer = writer_of(file).value_or(0);
  return writer != 0 && writer != progress.session_pid ? std::optional(writer) : std::nullopt;
}

std::string status_text(const Store::Progress& p, bool running, std::optional<int> other, bool merged,
                        const Sysfs& sysfs) {
  std::string text = fmt::format("{}: {} of {}{} trials finished, {} of them count\n", printable(p.name),
                                 p.finished, p.at_most ? "at most " : "", p.planned, p.counted);
  text += so_far(p);
  if (running) {
    text += fmt::format("running (pid {}, since {})", p.session_pid, printable(p.session_started_at));
    if (!p.current_trial.empty()) text += fmt::format(", now: {}", printable(p.current_trial));
    text += "\n";
    const int left = p.left.value_or(p.planned - p.finished);
    if (p.mean_trial_seconds && left > 0)
      text += fmt::format("ETA {}{}\n", p.may_end_early || p.at_most ? "at most " : "",
                          format_duration(Seconds{*p.mean_trial_seconds * left}));
  } else if (p.session_ended_how == "done") {
    text += "done\n";
  } else if (merged) {
    text += "of several machines ('merge'): go on with each machine's own result, and merge them again\n";
  } else if (p.session_ended_how.empty() && is_of_another_machine(p, sysfs)) {
    text += fmt::format("whether it runs is not known here: it was begun on {}\n", printable(p.host));
  } else {
    // Those that failed one after the other, by which it stopped, are run again.
    const int anew = p.left.value_or(0) - (p.planned - p.finished);
    text += fmt::format(
        "not running; the last run {}. The same command goes on{}.\n",
        p.session_ended_how.empty() ? "was killed" : "ended as '" + printable(p.session_ended_how) + "'",
        anew > 0 ? fmt::format(", and runs {} of the finished trials again", anew) : "");
  }
  if (other)
    text += fmt::format("process {} is writing the result now: a recheck, or a run that has just begun\n",
                        *other);
  for (const EventRecord& event : p.last_warnings)
    text += fmt::format("warning: {}: {}\n", printable(event.kind), printable(event.message));
  return text;
}

// `lines`: all of it in one, for those who read a stream.
std::string status_json(const Store::Progress& p, const std::optional<ClusterProgress>& cluster, bool running,
                        std::optional<int> other, bool lines) {
  Json json{
      {"experiment", p.name},        {"planned_trials", p.planned},      {"finished_trials", p.finished},
      {"counted_trials", p.counted}, {"may_end_early", p.may_end_early}, {"running", running}};
  json["pid"] = running && !cluster ? Json(p.session_pid) : Json(nullptr);
  json["other_writer"] = or_null(other);  // a recheck, or a run that has just begun
  if (cluster) {
    json["jobs"] = cluster->jobs;
    json["not_collected"] = cluster->not_collected;
    json["tasks"] = cluster->tasks
                        ? Json{{"running", cluster->tasks->running}, {"waiting", cluster->tasks->waiting}}
                        : Json(nullptr);
    json["blocks"] = Json::array();
    for (const BlockRun& run : cluster->runs)
      json["blocks"].push_back(
          {{"block", run.block}, {"node", run.node}, {"trials", run.trials}, {"complete", run.complete}});
    json["nodes_left_out"] = cluster->left_out;
  }
  json["current_trial"] = running && !p.current_trial.empty() ? Json(p.current_trial) : Json(nullptr);
  // Of a cluster the last session that was collected knows of its own block alone.
  const int left = cluster ? p.planned - p.finished : p.left.value_or(p.planned - p.finished);
  // Nodes share what is left. Without a word of Slurm's nobody knows how many.
  const int at_work = !cluster ? 1 : cluster->tasks ? cluster->tasks->running : 0;
  json["eta_s"] = running && p.mean_trial_seconds && left > 0 && at_work > 0
                      ? Json(*p.mean_trial_seconds * left / at_work)
                      : Json(nullptr);
  json["last_trial"] = nullptr;
  if (p.last_trial)
    json["last_trial"] = {{"key", p.last_trial->key},
                          {"verdict", p.last_trial->verdict},
                          {"time_s", or_null(p.last_trial->time_s)},
                          {"energy_j", or_null(p.last_trial->energy_j)},
                          {"watts", p.last_trial->watts}};
  json["drift"] = p.drift;  // of the reference within the last block, by scenario
  json["best"] = Json::array();
  for (const auto& one : p.best)
    json["best"].push_back({{"point", one.point},
                            {"reference", one.reference.empty() ? Json(nullptr) : Json(one.reference)},
                            {"gain", one.gain ? Json(*one.gain) : Json(nullptr)},
                            {"low_95", one.low ? Json(*one.low) : Json(nullptr)},
                            {"high_95", one.high ? Json(*one.high) : Json(nullptr)}});
  json["best_of_trials"] = p.best.empty() ? Json(nullptr) : Json(p.best_of_trials);
  json["last_session_ended"] = p.session_ended_how.empty() ? Json(nullptr) : Json(p.session_ended_how);
  json["last_warnings"] = Json::array();
  for (const EventRecord& event : p.last_warnings)
    json["last_warnings"].push_back({{"kind", event.kind}, {"message", event.message}});
  return json.dump(lines ? -1 : 2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A night whose file was lost went on in another one beside it, as it said then. Once the first one is written again, it is gone on with.
void look_for_rescued(const std::string& file, Store::Progress& progress) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path(file);
  const auto written = fs::last_write_time(path, error);
  if (error || progress.session_ended_how == "done") return;
  const std::string begins = path.stem().string() + ".rescued";
  for (const auto& one :
       fs::directory_iterator(path.parent_path().empty() ? "." : path.parent_path(), error)) {
    const std::string name = one.path().filename().string();
    std::error_code gone;
    if (name.starts_with(begins) && one.path().extension() == path.extension() &&
        one.last_write_time(gone) > written && !gone)
      progress.last_warnings.push_back(
          {"result_rescued",
           fmt::format(
               "{} lies beside it, is newer, and may hold what this file lacks: a night goes on in such "
               "a file where its own is lost; dvfs-plan status {}",
               name, shell_quote((path.parent_path() / name).string()))});
  }
}

// Opened for this look alone: what stays open keeps a log beside the file.
struct Seen {
  Store::Progress progress;
  std::optional<ClusterProgress> cluster;
  bool merged = false;  // of results of several machines
};
Seen look(const std::string& file, const Sysfs& sysfs) {
  Store store = Store::open(file, Database::Mode::read_only);
  auto progress = store.progress();
  auto cluster = cluster_progress(store, file);
  // A night under way tells what it knows; of one that was cut off, or of an earlier version, nobody has concluded yet.
  if (!cluster && !is_running(file, progress, sysfs)) {
    try {
      const std::string damaged = store.damaged_text();
      if (progress.best.empty() || !damaged.empty()) {
        conclude_for_reading(store);
        progress = store.progress();
        // Trials that are not as written are among those that were finished, and do not count.
        Statement counted = store.database().prepare("SELECT coalesce(sum(counted), 0) FROM scenarios");
        if (!damaged.empty() && counted.step()) progress.counted = static_cast<int>(counted.integer(0));
      }
      if (!damaged.empty()) progress.last_warnings.push_back({"damaged", damaged});
    } catch (const Error& error) {
      // How far it came is known all the same.
      progress.last_warnings.push_back({"damaged", error.what()});
    }
  }
  look_for_rescued(file, progress);
  const bool merged = !cluster && !block_runs(store).empty();
  return {std::move(progress), std::move(cluster), merged};
}

int status_command(const StatusOptions& options) {
  const Sysfs sysfs(options.sysfs_root);
  const SystemClock clock;
  std::optional<Interruption> interruption;
  if (options.watch) interruption.emplace();
  while (true) {
    const auto [progress, cluster, merged] = look(options.file, sysfs);
    // A cluster's sessions were others' processes.
    const bool running = !cluster         ? is_running(options.file, progress, sysfs)
                         : cluster->tasks ? cluster->tasks->running + cluster->tasks->waiting > 0
                                          : progress.finished < progress.planned;
    const auto other = cluster ? std::nullopt : other_writer(options.file, progress);
    // Over what was there before, where a terminal can; below it elsewhere.
    const bool over = options.watch && !options.json && is_terminal_stdout();
    write_answer((over ? "\x1b[H\x1b[2J" : "") +
                 (options.json ? status_json(progress, cluster, running, other, options.watch)
                  : cluster    ? fitted(cluster_text(progress, *cluster))
                               : fitted(status_text(progress, running, other, merged, sysfs))));
    if (!options.watch || !running) return static_cast<int>(ExitCode::done);
    if (!interruption->sleep_until(clock.now() + nanoseconds(between_lines), clock))
      return static_cast<int>(ExitCode::interrupted);
    if (!over && !options.json) write_answer("\n");
  }
}

const Registered<CommandKind> status(
    {.name = "status",
     .place = 30,
     .what = "how far a running or cut-off experiment is; does not disturb it",
     .examples = "dvfs-plan status night.sqlite\n"
                 "dvfs-plan status night.sqlite --watch",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<StatusOptions>();
       app.add_option("RESULT", options->file, "the result file")->required();
       app.add_flag("--watch", options->watch, "again every two seconds, until the run ends");
       return declared(app, options, status_command);
     }});

}  // namespace
}  // namespace dvfs_plan
