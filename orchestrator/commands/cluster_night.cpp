#include "orchestrator/commands/cluster_night.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/interruption.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/cancelled_job.hpp"
#include "orchestrator/cluster/collector.hpp"
#include "orchestrator/cluster/look.hpp"
#include "orchestrator/cluster/node_choice.hpp"
#include "orchestrator/cluster/slurm.hpp"
#include "orchestrator/commands/cluster_experiment.hpp"
#include "orchestrator/commands/cluster_growth.hpp"
#include "orchestrator/commands/cluster_settings.hpp"
#include "orchestrator/commands/page_beside.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "orchestrator/run/progress.hpp"
#include "orchestrator/strategies/one_by_one.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"
#include "results/store/plan_copy.hpp"

namespace dvfs_plan {
namespace {

// A file for the while, beside the result: taken away on every way out.
class Scratch {
 public:
  explicit Scratch(const std::string& result) : path_(fmt::format("{}.look.{}", result, ::getpid())) {
    remove();
  }
  ~Scratch() { remove(); }
  Scratch(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  void remove() const {
    remove_database(path_);
    ::unlink((path_ + ".new").c_str());
  }
  std::string path_;
};

using Json = nlohmann::ordered_json;
constexpr Seconds between_looks{0.5}, between_questions{2}, between_conclusions{30};
// A block that was submitted so often in a row without one more finished trial will not finish one.
constexpr int most_fruitless = 3;
// Time that a finished file may take to be seen on another machine before its task counts as gone without it.
constexpr Seconds patience_of_folder{5};
// A node that is there again at once keeps its task; whose block a spare node has run does not matter.
constexpr Seconds patience_with_a_node{60};

class ClusterNight {
 public:
  ClusterNight(const ClusterOptions& options, std::string path, const Experiment& experiment, bool grows)
      : options_(options),
        experiment_(experiment),
        spec_(*experiment.slurm),
        path_(std::move(path)),
        result_(path_),
        grows_(grows),
        folder_(nodes_folder(experiment_, path_, options_.type)),
        progress_(clock_, ::isatty(STDERR_FILENO) != 0, options.quiet) {
    require_planned_blocks(experiment);
    if (submits()) require_time_fits(slurm_, experiment);
  }

  int run() {
    if (options_.what == ClusterOptions::Do::cancel) return exists() ? cancel() : cancel_looks();
    if (!submits()) require_submitted();
    folder_.make();
    CollectorLock lock(folder_);
    lock_ = &lock;
    if (options_.fresh) set_aside();
    if (exists() ? grows_ && !grow() : !look()) return static_cast<int>(ExitCode::interrupted);
    Store store = Store::open(path_, Database::Mode::read_write);
    store.look_after_file(path_, invoking_owner());
    Collector collector(folder_, store);
    const bool waits = options_.what == ClusterOptions::Do::all;
    const bool all_there = watch(store, collector, waits);
    if (options_.what == ClusterOptions::Do::submit) return say_submitted(store, all_there);
    go_on_elsewhere_if_taken_away(store, collector);
    const int code = report(store, all_there);
    // Tasks that somebody cancelled are still putting back what they set.
    const bool told = cancelled_.empty() || settings(store).wait(shell_text("collect"));
    return settings(store).are_back(options_.what == ClusterOptions::Do::all) && told
               ? code
               : static_cast<int>(ExitCode::not_restored);
  }

 private:
  // All that was collected is still open here, and what is handed in from now on would go into a file that nobody can find.
  void go_on_elsewhere_if_taken_away(Store& store, Collector& collector) {
    const std::string what = store.was_taken_away();
    if (what.empty()) return;
    const Store::Rescued rescued = store.go_on_elsewhere(what);
    progress_.say(fmt::format("warning: {}: {}; it goes on in {}", path_, rescued.what, rescued.where));
    path_ = rescued.where;
    rescued_ = true;
    collector.begin_anew();
  }

  bool submits() const {
    return options_.what == ClusterOptions::Do::all || options_.what == ClusterOptions::Do::submit;
  }

  // The folder of the nodes goes by the result's name.
  void say_where_it_belongs() {
    if (!rescued_) return;
    // The log of another file that was put there would be taken for this one's.
    const std::string log = result_ + "-wal", text = "mv --backup=numbered";
    const std::string first = ::access(log.c_str(), F_OK) == 0
                                  ? fmt::format("{} {} {}.old && ", text, shell_quote(log), shell_quote(log))
                                  : "";
    progress_.say(fmt::format("before any other command, and while nobody reads it: {}{} {} {}", first, text,
                              shell_quote(path_), shell_quote(result_)));
  }

  int say_submitted(Store& store, bool all_there) {
    const int code = static_cast<int>(code_of(ExitCode::done));
    if (!options_.says_how_to_collect) return code;
    const std::string collects = shell_text("collect"), shows = "dvfs-plan status " + shell_quote(result_);
    if (options_.json) {
      Json json{{"result", path_}, {"finished", all_there}, {"jobs", Json::array()}};
      for (const Submission& one : submissions(store)) json["jobs"].push_back(one.job);
      write_stdout(json.dump(2) + "\n");
    } else if (all_there) {
      write_stdout(
          fmt::format("nothing is left to submit: all of it is in {}; {} reports\n", path_, collects));
    } else {
      write_stdout(
          fmt::format("submitted; {} collects what is finished, {} shows how far it is\n", collects, shows));
    }
    say_where_it_belongs();
    return code;
  }

  bool exists() const { return ::access(path_.c_str(), F_OK) == 0; }

  std::string shell_text(const std::string& command) const {
    return fmt::format("dvfs-plan {}{}{}", command.empty() ? "" : command + " ", shell_quote(options_.file),
                       options_.output.empty() ? "" : " --output " + shell_quote(options_.output));
  }

  void require_submitted() const {
    if (exists()) return;
    throw Error(ExitCode::bad_experiment, fmt::format("{} is not there: nothing was submitted yet", path_),
                shell_text("submit"));
  }

  // First what nodes handed in, whether the result is here or was moved: it would be taken for the new night's.
  void set_aside_what_was_handed_in(const std::string& stem) {
    const std::string in = folder_.path() + "/in", aside = fmt::format("{}.{}", in, stem);
    std::error_code none;
    if (std::filesystem::is_empty(in, none) || none) return;
    // What is not put back on a node is to be told by whatever night comes next.
    auto left = settings_of_nodes(folder_);
    std::erase_if(left, [](const NodeSettings& one) { return one.state == NodeSettings::State::back; });
    std::filesystem::rename(in, aside);
    folder_.make();
    progress_.say(fmt::format("what nodes handed in before is kept as {}", aside));
    if (const std::string why = tell_again(folder_, left); !why.empty())
      throw Error(ExitCode::machine_refuses, why,
                  fmt::format("nothing was submitted; what is not put back on nodes is in {}", aside));
  }

  // `ends` says by which command jobs are ended.
  void require_ended(const std::vector<SlurmTask>& alive,
                     const std::function<std::string(const std::string&)>& ends) const {
    if (silent_)
      throw Error(
          ExitCode::machine_refuses,
          "Slurm does not say whether tasks of the former submission wait or run; it was left as it is",
          "is the controller up? `scontrol ping` says");
    if (alive.empty()) return;
    std::set<std::string> jobs;
    for (const SlurmTask& task : alive) jobs.insert(task.job);
    const bool one = alive.size() == 1;
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} of the former submission still {}", counted(static_cast<int>(alive.size()), "task"),
                    one ? "waits or runs" : "wait or run"),
        ends(join({jobs.begin(), jobs.end()}, " ")) + (one ? "  ends it" : "  ends them"));
  }

  // What would be refused is refused before anything is moved: too few nodes.
  void set_aside() {
    const std::string aside = aside_stem(path_, clock_);
    const std::string stem = std::filesystem::path(aside).filename().string();
    if (!exists()) {
      // Its result was moved away: its tasks would hand in to the new night.
      std::vector<std::string> jobs;
      for (const std::string& name : folder_.names(job_ending)) {
        jobs.push_back(name.substr(0, name.size() - job_ending.size()));
        job_names_.insert(folder_.read(name));
      }
      require_ended(live_tasks_of(jobs), [](const std::string& alive) { return "scancel " + alive; });
      choose();
      return set_aside_what_was_handed_in(stem);
    }
    {
      Store old = Store::open(path_, Database::Mode::read_write);
      require_ended(live_tasks(old), [&](const std::string&) { return shell_text("") + " --cancel"; });
    }
    choose();
    Store::fold_log(path_);
    set_aside_what_was_handed_in(stem);
    progress_.say(fmt::format("the former result is kept as {}", move_aside(path_, aside)));
  }

  // ---------------------------------------------------------------- tasks

  NodeChoice choose() const { return choose_nodes(slurm_, spec_, {left_out_, options_.nodes_of_type}); }

  std::string task_command(const std::string& more) const {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string file = std::filesystem::absolute(options_.file).lexically_normal().string();
    return fmt::format("exec {} task {} --folder {} --text {}{}", shell_quote(program), shell_quote(file),
                       shell_quote(folder_.path()), shell_quote(text_name(experiment_.text)), more);
  }

  std::string submit_job(const std::vector<int>& indices, std::optional<int> offset,
                         std::optional<int> at_once, const std::vector<std::string>& without,
                         const std::string& more, const std::string& on_node = {}) const {
    // Tasks that wait run what was submitted, whatever becomes of the file meanwhile.
    const std::string text = text_name(experiment_.text);
    if (folder_.read(text) != experiment_.text) {
      if (const std::string why = folder_.hand_in(text, experiment_.text); !why.empty())
        throw Error(ExitCode::machine_refuses, why, "nothing was submitted");
    }
    std::vector<std::string> options = options_of_task(spec_, without);
    if (!on_node.empty()) options.push_back("--nodelist=" + on_node);
    try {
      return slurm_.submit({.name = job_name(experiment_.name),
                            .mark = job_mark(folder_),
                            .offset = offset,
                            .command = task_command(more),
                            .indices = indices,
                            .at_once = at_once,
                            .options = std::move(options),
                            .output = folder_.logs() + "/%A_%a.log"});
    } catch (const SlurmSilent& silence) {
      throw SlurmSilent(
          silence.code(), silence.what(),
          fmt::format(
              "{}; it may have taken the job all the same: once it answers, the same command goes on with "
              "that, and {} --cancel ends it",
              silence.hint(), shell_text("")));
    }
  }

  // ---------------------------------------------------------------- the plan

  // false: interrupted.
  bool look() {
    const auto name = ask_a_node();
    if (name) keep_look(*name);
    return name.has_value();
  }

  // What the file has now beside what was submitted. Parts of the former plan are taken until then, and none after it.
  bool grow() {
    {
      Store store = Store::open(path_, Database::Mode::read_write);
      left_out_ = nodes_left_out(store);
      require_no_task(store);
    }
    const auto name = ask_a_node();
    if (!name) return false;
    // What the last tasks handed in may be seen here only now.
    if (!interruption_.sleep_until(clock_.now() + nanoseconds(patience_of_folder), clock_)) return false;
    const Scratch copy(path_);
    write_file(copy.path(), look_content(folder_.read(*name)));
    Store look = Store::open(copy.path(), Database::Mode::read_only);
    Store store = Store::open(path_, Database::Mode::read_write);
    require_no_task(store);
    Collector collector(folder_, store);
    take(store, collector);
    const PlanChange change = grow_by_look(store, look, experiment_, path_, clock_.wall_time());
    for (const std::string& line : change_lines(change)) progress_.say(line);
    return true;
  }

  void require_no_task(Store& store) {
    const auto alive = live_tasks(store);
    if (silent_)
      throw Error(ExitCode::machine_refuses, "Slurm does not say which jobs wait or run; nothing was added",
                  "is the controller up? `scontrol ping` says");
    if (alive.empty()) return;
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} was submitted with another {}, and {} of it still {}", path_, options_.file,
                    counted(static_cast<int>(alive.size()), "task"),
                    alive.size() == 1 ? "waits or runs" : "wait or run"),
        fmt::format(
            "let them finish, or end them ({} --cancel; what is finished stays): the same command then "
            "adds what the file has now; `{}` takes what is finished of what was submitted",
            shell_text(""), shell_text("collect")));
  }

  // What a node offers is asked there, never here: the name of its look; nullopt: interrupted.
  std::optional<std::string> ask_a_node() {
    const NodeChoice choice = choose();
    const std::string job = submit_job({0}, std::nullopt, std::nullopt, choice.others, "");
    progress_.say(fmt::format("job {} asks a node what it offers", job));
    Nanoseconds asked = 0, gone = 0;
    std::string said;
    for (;;) {
      lock_->require_held();
      for (const std::string& name : folder_.names(look_ending)) {
        if (name.starts_with(job + "_")) return name;
      }
      for (const std::string& name : folder_.names(fault_ending)) {
        const TaskFault fault = read_fault(folder_.read(name));
        if (!fault.task.starts_with(job + "_")) continue;
        throw Error(ExitCode::machine_refuses,
                    fmt::format("node {} cannot run it: {}", fault.node, fault.why), "nothing was submitted");
      }
      if (clock_.now() - asked > nanoseconds(between_questions)) {
        asked = clock_.now();
        const auto tasks = tasks_of({job});
        const bool alive =
            tasks && std::any_of(tasks->begin(), tasks->end(), [](const SlurmTask& t) { return !t.ended(); });
        if (tasks && !alive && gone == 0) gone = clock_.now();
        if (tasks && alive && tasks->front().node.empty() && tasks->front().reason != "None" &&
            said != tasks->front().reason) {
          said = tasks->front().reason;
          progress_.say(fmt::format("job {} waits: {}", job, printable(said)));
        }
      }
      if (gone != 0 && clock_.now() - gone > nanoseconds(patience_of_folder))
        throw Error(
            ExitCode::machine_refuses, fmt::format("job {} ended without an answer", job),
            fmt::format("what it printed is in {}/{}_0.log; {} must be a folder that the nodes see too",
                        folder_.logs(), job, folder_.path()));
      if (!interruption_.sleep_until(clock_.now() + nanoseconds(between_looks), clock_)) {
        slurm_.cancel({job});
        progress_.say("interrupted before anything was submitted");
        return std::nullopt;
      }
    }
  }

  void keep_look(const std::string& name) const {
    const std::string unfinished = path_ + ".new";
    Store::remove_unfinished(unfinished);
    write_file(unfinished, look_content(folder_.read(name)));
    ::chmod(unfinished.c_str(), 0644);
    if (::link(unfinished.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      ::unlink(unfinished.c_str());
      throw Error(ExitCode::machine_refuses, system_error_text("create result file " + path_, error),
                  "choose another place with --output");
    }
    ::unlink(unfinished.c_str());
  }

  // Which look the plan in the result is of.
  std::string plan_name(Store& store) const {
    const std::string hash = store.plan_hash(), created = store.experiment().created_at;
    // A file that was changed and changed back has the plan of before, and other blocks.
    const std::size_t stages = store.stages().stages.size();
    for (const std::string& name : folder_.names(look_ending)) {
      const Scratch copy(path_);
      try {
        write_file(copy.path(), look_content(folder_.read(name)));
        Store look = Store::open(copy.path(), Database::Mode::read_only);
        if (look.plan_hash() == hash && look.experiment().created_at == created &&
            look.stages().stages.size() == stages)
          return name;
      } catch (const Error&) {
        // Damaged: perhaps it is not the one, and of one that has grown it is made again.
      }
    }
    // Of one that has grown no node has looked at all of it: its blocks go by the result itself.
    if (stages > 0) {
      const Scratch copy(path_);
      copy_plan(store, copy.path());
      const std::string name = look_name(fmt::format("grown {} {}", stages, hash.substr(0, 16)));
      const std::string why = folder_.hand_in(name, look_bytes(read_file(copy.path())));
      if (!why.empty()) throw Error(ExitCode::machine_refuses, why, "the same command tries again");
      return name;
    }
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} does not hold the plan of {}", folder_.path(), path_),
                shell_text("") + " --fresh  submits anew; the old result is kept");
  }

  // ---------------------------------------------------------------- jobs

  // nullopt: Slurm does not answer now, of which is told once.
  std::optional<std::vector<SlurmTask>> tasks_of(const std::vector<std::string>& jobs) {
    job_names_.merge(job_names(folder_, experiment_.name));
    try {
      auto tasks = slurm_.tasks(jobs, job_names_, job_mark(folder_));
      if (silent_) progress_.say("Slurm answers again");
      silent_ = false;
      return tasks;
    } catch (const SlurmSilent& silence) {
      tell_of_silence(silence);
      return std::nullopt;
    }
  }

  void tell_of_silence(const SlurmSilent& silence) {
    if (!silent_)
      progress_.say(fmt::format("warning: {}; asked again until it answers, the nodes go on meanwhile",
                                silence.what()));
    silent_ = true;
  }

  std::vector<SlurmTask> live_tasks(Store& store) {
    std::vector<std::string> jobs;
    for (const Submission& one : submissions(store)) jobs.push_back(one.job);
    job_names_.merge(job_names(folder_, store.experiment().name));  // the file may have another by now
    return live_tasks_of(jobs);
  }
  // None where Slurm does not answer (`silent_`).
  std::vector<SlurmTask> live_tasks_of(const std::vector<std::string>& jobs) {
    std::vector<SlurmTask> alive;
    if (const auto tasks = tasks_of(jobs)) {
      for (const SlurmTask& task : *tasks) {
        if (!task.ended()) alive.push_back(task);
      }
    }
    return alive;
  }

  // sbatch took jobs and could not say so (a time limit; this command was killed): they go on as what was submitted.
  void take_in_unheard_jobs(Store& store, const std::vector<SlurmTask>& tasks) {
    std::set<std::string> known;
    for (const Submission& one : submissions(store)) known.insert(one.job);
    std::map<std::string, std::set<int>> unheard;  // blocks
    for (const SlurmTask& task : tasks) {
      if (!task.offset || known.contains(task.job)) continue;
      if (!unheard.contains(task.job) && task.ended()) continue;
      // Indices count from the submission's first block.
      unheard[task.job].insert({*task.offset + 1, *task.offset + task.index});
    }
    for (const auto& [job, blocks] : unheard) {
      note_submission(store, {job, {blocks.begin(), blocks.end()}, clock_.wall_time()});
      folder_.hand_in(job + std::string(job_ending), job_name(experiment_.name));
      progress_.say(fmt::format("job {} was taken by Slurm without a word; it is gone on with", job));
    }
  }

  // ---------------------------------------------------------------- settings of the nodes

  ClusterSettings settings(Store& store) {
    return ClusterSettings({.folder = folder_,
                            .slurm = slurm_,
                            .spec = spec_,
                            .clock = clock_,
                            .interruption = interruption_,
                            .progress = progress_,
                            .running = [this, &store]() -> std::optional<std::set<std::string>> {
                              std::set<std::string> running;
                              // One that Slurm queued again has ended where it was.
                              for (const SlurmTask& task : live_tasks(store)) {
                                if (!task.node.empty())
                                  running.insert(fmt::format("{}_{}", task.job, task.index));
                              }
                              return silent_ ? std::nullopt : std::optional(running);
                            },
                            .submit =
                                [this](const std::string& words, const std::string& node) {
                                  return submit_job({0}, std::nullopt, std::nullopt, {}, words, node);
                                }});
  }

  // So many that its trials fit into them; each node is to take part.
  int blocks_of_search(Store& store) {
    const int trials = store.experiment().planned_trials;
    const int scenarios = std::max(1, static_cast<int>(store.experiment().points_of_scenario.size()));
    const int each = (trials + scenarios - 1) / scenarios;
    int blocks = std::max(spec_.nodes, (each + trials_of_search_block - 1) / trials_of_search_block);
    // All are complete, and no task found it over: what the last ones found may have opened it again.
    const std::size_t complete = complete_blocks(store).size();
    while (static_cast<int>(complete) >= blocks && !found_over()) blocks += spec_.nodes;
    return blocks;
  }

  static std::set<int> complete_blocks(Store& store) {
    std::set<int> complete;
    for (const BlockRun& run : block_runs(store)) {
      if (run.complete) complete.insert(run.block);
    }
    return complete;
  }

  // Whether a task found that no more is wanted; once said it stays.
  bool found_over() {
    found_over_ = found_over_ || !folder_.names(over_ending).empty();
    return found_over_;
  }

  // A task that finds the search over says so; those at work may still add to it.
  bool is_over(Store& store) {
    if (!experiment_.search.one_by_one() || !found_over()) return false;
    // Who can ask Slurm knows that no task is left, waiting ones cancelled; else blocks that were begun and not ended tell.
    if (options_.what != ClusterOptions::Do::collect) return drained_;
    const std::set<int> complete = complete_blocks(store);
    const auto runs = block_runs(store);
    return std::all_of(runs.begin(), runs.end(),
                       [&](const BlockRun& run) { return complete.contains(run.block); });
  }

  const std::set<int>& planned(Store& store) {
    if (planned_.empty()) planned_ = planned_blocks(store, experiment_);
    return planned_;
  }

  std::vector<int> open_blocks(Store& store) {
    if (is_over(store)) return {};
    const std::set<int> complete = complete_blocks(store);
    std::vector<int> open;
    if (experiment_.search.one_by_one()) {
      const int blocks = blocks_of_search(store);
      for (int block = 1; block <= blocks; ++block) {
        if (!complete.contains(block)) open.push_back(block);
      }
    } else {
      std::set_difference(planned(store).begin(), planned(store).end(), complete.begin(), complete.end(),
                          std::back_inserter(open));
    }
    return open;
  }

  // Blocks over nodes: where fewer work at once than there are nodes, the nodes take turns.
  void submit_blocks(Store& store, const std::vector<int>& blocks) {
    const NodeChoice choice = choose();
    const int nodes = static_cast<int>(choice.chosen.size());
    const int at_once = std::min(nodes, spec_.at_once.value_or(nodes));
    const int groups = (nodes + at_once - 1) / at_once;
    const int most = std::max(1, slurm_.most_array_index());
    const std::string plan = plan_name(store);
    for (int group = 0; group < groups; ++group) {
      std::vector<std::string> without = choice.others;
      for (int i = 0; i < nodes; ++i) {
        if (i % groups != group) without.push_back(choice.chosen[static_cast<std::size_t>(i)]);
      }
      std::vector<int> mine;
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (static_cast<int>(i) % groups == group) mine.push_back(blocks[i]);
      }
      // Of as many at once as the group's part of them is.
      const int share = at_once / groups + (group < at_once % groups ? 1 : 0);
      for (std::size_t at = 0; at < mine.size();) {
        const int offset = mine[at] - 1;
        std::vector<int> part, indices;
        for (; at < mine.size() && mine[at] - offset <= most; ++at) {
          part.push_back(mine[at]);
          indices.push_back(mine[at] - offset);
        }
        const std::string job = submit_job(indices, offset, std::max(1, share), without,
                                           fmt::format(" --plan {} --offset {}", shell_quote(plan), offset));
        note_submission(store, {job, part, clock_.wall_time()});
        folder_.hand_in(job + std::string(job_ending), job_name(experiment_.name));
        chosen_of_[job] = {choice.chosen.begin(), choice.chosen.end()};
        progress_.say(fmt::format("job {}: block{} {} on {}", job, part.size() == 1 ? "" : "s",
                                  blocks_text(part), nodes_without(choice, without)));
      }
    }
  }

  static std::string blocks_text(const std::vector<int>& blocks) {
    std::string text;
    for (std::size_t at = 0; at < blocks.size();) {
      std::size_t end = at;
      while (end + 1 < blocks.size() && blocks[end + 1] == blocks[end] + 1) ++end;
      text += text.empty() ? "" : ", ";
      text += end == at ? fmt::format("{}", blocks[at]) : fmt::format("{} to {}", blocks[at], blocks[end]);
      at = end + 1;
    }
    return text;
  }

  static std::string nodes_without(const NodeChoice& choice, const std::vector<std::string>& without) {
    std::vector<std::string> nodes;
    for (const std::string& node : choice.chosen) {
      if (std::find(without.begin(), without.end(), node) == without.end()) nodes.push_back(node);
    }
    return join(nodes, ",");
  }

  void cancel_waiting(const SlurmTask& task) {
    try {
      slurm_.cancel_waiting(task);
    } catch (const Error&) {
      // It runs its block for nothing then; whose counts is settled.
    }
  }

  // Its job may run on the nodes that were chosen when it was submitted, and waits for one that is down: where another one of the
  // partition works, it is submitted anew.
  bool waits_for_a_dead_node(const SlurmTask& task) {
    const std::pair id{task.job, task.index};
    const bool unavailable = task.node.empty() && (task.reason.find("Unavailable") != std::string::npos ||
                                                   task.reason.find("ReqNodeNotAvail") != std::string::npos ||
                                                   task.reason.find("DOWN") != std::string::npos);
    if (!unavailable) {
      unavailable_since_.erase(id);
      return false;
    }
    const auto [since, is_new] = unavailable_since_.try_emplace(id, clock_.now());
    if (is_new)
      progress_.say(fmt::format("task {}_{} waits: {}", task.job, task.index, printable(task.reason)));
    if (is_new || clock_.now() - since->second < nanoseconds(patience_with_a_node)) return false;
    since->second = clock_.now();  // asked again as much later
    try {
      const NodeChoice choice = choose();
      const auto of_its_job = chosen_of_.find(task.job);
      const auto is_other = [&](const std::string& node) {
        return of_its_job == chosen_of_.end() || !of_its_job->second.contains(node);
      };
      if (std::none_of(choice.chosen.begin(), choice.chosen.end(), is_other)) return false;
    } catch (const Error&) {  // fewer work than are asked for: it waits for one
      return false;
    }
    progress_.say(
        fmt::format("task {}_{} is submitted anew, for the nodes that work now", task.job, task.index));
    return true;
  }

  void tell_if_queued_again(const SlurmTask& task, int block) {
    if (!task.node.empty()) {
      began_on_[block] = task.node;
      return;
    }
    const auto began = began_on_.find(block);
    if (began == began_on_.end()) return;
    progress_.say(
        fmt::format("warning: block {} began on {}, which gave it up or is down: Slurm queued it again",
                    block, began->second));
    began_on_.erase(began);
  }

  // Throws where the tasks of a block end again and again without one more finished trial.
  void count_tries(Store& store, const std::vector<int>& blocks) {
    std::map<int, int> trials;
    for (const BlockRun& run : block_runs(store)) trials[run.block] += run.trials;
    for (const int block : blocks) {
      Tries& tries = tries_[block];
      if (trials[block] > tries.trials) tries = {0, trials[block]};
      if (++tries.count <= most_fruitless) continue;
      throw Error(
          ExitCode::gave_up,
          fmt::format("block {} was submitted {} times in a row, and not one more trial of it was finished{}",
                      block, most_fruitless,
                      last_fault_.empty() ? "" : "; the last that a task said: " + printable(last_fault_)),
          fmt::format(
              "'time' under 'slurm' must hold the longest trial, its warm-up and what comes before; what "
              "the tasks printed is in {}; all that is finished is in {}",
              folder_.logs(), path_));
    }
  }

  // Submits what no task has, a block not more often than it deserves.
  void submit_what_is_missing(Store& store) {
    const auto open = open_blocks(store);
    if (open.empty()) return;
    job_names_.merge(job_names(folder_, store.experiment().name));
    std::vector<std::string> jobs;
    for (const Submission& one : submissions(store)) jobs.push_back(one.job);
    const auto tasks = tasks_of(jobs);
    if (!tasks) return;
    take_in_unheard_jobs(store, *tasks);
    const auto submitted = submissions(store);
    std::set<int> were_submitted;
    for (const Submission& one : submitted) were_submitted.insert(one.blocks.begin(), one.blocks.end());
    const bool over = found_over();
    std::set<int> taken;
    std::vector<SlurmTask> waiting, running;
    for (const SlurmTask& task : *tasks) {
      const auto of = std::find_if(submitted.begin(), submitted.end(), [&](const Submission& one) {
        return one.job == task.job && !one.blocks.empty();
      });
      if (of == submitted.end()) continue;
      // Indices count from the submission's first block.
      const int block = of->blocks.front() - 1 + task.index;
      const bool is_open = std::find(open.begin(), open.end(), block) != open.end();
      if (task.ended()) {
        // Under our eyes, by somebody who had a reason: it is not ours to undo.
        if (task.state == "CANCELLED" && is_open && !over && alive_.contains({task.job, task.index}) &&
            !moved_.contains({task.job, task.index}))
          cancelled_ = task.job;
        continue;
      }
      if (moved_.contains({task.job, task.index})) {
        if (task.node.empty()) cancel_waiting(task);  // it did not work, or is not seen yet
        continue;
      }
      alive_.emplace(task.job, task.index);
      if (is_open && !over && waits_for_a_dead_node(task)) {
        cancel_waiting(task);
        moved_.emplace(task.job, task.index);
        moved_blocks_.insert(block);
        gone_since_.try_emplace(block, clock_.now() - nanoseconds(patience_of_folder));
        continue;
      }
      taken.insert(block);
      // Thought dead it was queued again, and has finished meanwhile.
      if (task.state == "PENDING" && !is_open) cancel_waiting(task);
      if (is_open) tell_if_queued_again(task, block);
      (task.node.empty() ? waiting : running).push_back(task);
    }
    if (!cancelled_.empty()) return;
    if (!submitted.empty()) show(store, static_cast<int>(waiting.size()), running);
    if (over) {
      // What waits is not needed any more; what runs is waited for.
      for (const SlurmTask& task : *tasks) {
        if (!task.ended() && task.node.empty()) cancel_waiting(task);
      }
      if (!running.empty()) drained_since_.reset();
      if (running.empty() && !drained_since_) drained_since_ = clock_.now();
      drained_ = drained_since_ && clock_.now() - *drained_since_ > nanoseconds(patience_of_folder);
      return;
    }
    std::vector<int> missing;
    for (const int block : open) {
      if (taken.contains(block)) {
        gone_since_.erase(block);
        continue;
      }
      const auto [since, is_new] = gone_since_.try_emplace(block, clock_.now());
      // A task that has just ended: its last file may not be seen here yet.
      if (were_submitted.contains(block) && clock_.now() - since->second < nanoseconds(patience_of_folder))
        continue;
      missing.push_back(block);
    }
    if (missing.empty()) return;
    std::vector<int> tried;  // whose task began and ended
    std::copy_if(missing.begin(), missing.end(), std::back_inserter(tried),
                 [&](int block) { return !moved_blocks_.contains(block); });
    count_tries(store, tried);
    try {
      submit_blocks(store, missing);
      moved_blocks_.clear();
    } catch (const SlurmSilent& silence) {
      // Who waits can ask again; if it was submitted all the same, one of two runs of a block counts.
      if (options_.what != ClusterOptions::Do::all) throw;
      tell_of_silence(silence);
      return;
    }
    for (const int block : missing) gone_since_.erase(block);
  }

  // ---------------------------------------------------------------- watching

  // Whether all that was planned is there. Returns when it is, when interrupted, or at once where it does not wait.
  bool watch(Store& store, Collector& collector, bool waits) {
    left_out_ = nodes_left_out(store);
    const bool submits = options_.what != ClusterOptions::Do::collect;
    if (!submits) take_in_unheard_jobs(store, live_tasks(store));
    if (submits) {
      take(store, collector);  // what finished meanwhile is not open
      give_another_chance(store);
    }
    Nanoseconds asked = 0, concluded = clock_.now();
    for (;;) {
      lock_->require_held();
      go_on_elsewhere_if_taken_away(store, collector);
      const bool news = take(store, collector);
      if (open_blocks(store).empty()) return true;
      if (submits && clock_.now() - asked > nanoseconds(between_questions)) {
        submit_what_is_missing(store);
        asked = clock_.now();
      }
      if (!cancelled_.empty()) return false;
      // Who only submits waits for blocks whose last task has just ended, so that none is forgotten.
      if (!waits && (!submits || gone_since_.empty())) return false;
      if (news && clock_.now() - concluded > nanoseconds(between_conclusions)) {
        conclude(store);
        concluded = clock_.now();
      }
      if (!interruption_.sleep_until(clock_.now() + nanoseconds(between_looks), clock_)) {
        interrupted_ = true;
        return false;
      }
    }
  }

  // Whoever begins again a night that stands still has mended what nodes were left out for, or is told again.
  void give_another_chance(Store& store) {
    if (left_out_.empty() || open_blocks(store).empty() || found_over() || !live_tasks(store).empty() ||
        silent_)
      return;
    for (const auto& [node, why] : left_out_)
      progress_.say(fmt::format("{} is tried again; it was left out: {}", node, printable(why)));
    take_nodes_again(store);
    left_out_.clear();
  }

  bool take(Store& store, Collector& collector) {
    const Collected collected = collector.collect();
    for (const std::string& why : collected.refused) progress_.say("warning: not taken: " + printable(why));
    for (const TaskFault& fault : collected.faults) {
      last_fault_ = fmt::format("{}: {}", fault.node, fault.why);
      if (!fault.of_node) {
        progress_.say(
            fmt::format("warning: block {} on {}: {}", fault.block, fault.node, printable(fault.why)));
        continue;
      }
      if (!left_out_.emplace(fault.node, fault.why).second) continue;
      leave_node_out(store, fault.node, fault.why);
      progress_.say(fmt::format("warning: {} is left out: {}", fault.node, printable(fault.why)));
    }
    return collected.parts > 0;
  }

  void show(Store& store, int waiting, const std::vector<SlurmTask>& running) {
    int complete = 0, begun = 0;
    for (const BlockRun& run : block_runs(store)) {
      complete += run.left_out.empty() && run.complete ? 1 : 0;
      const auto is_its = [&](const SlurmTask& task) {
        return run.task.starts_with(fmt::format("{}_{} ", task.job, task.index));
      };
      begun += !run.complete && std::any_of(running.begin(), running.end(), is_its) ? 1 : 0;
    }
    const auto now = store.progress();
    const bool search = experiment_.search.one_by_one();
    // Running for Slurm is not yet measuring: a node may be looked at, or have another sweep.
    const int not_begun = std::max(0, static_cast<int>(running.size()) - begun);
    const std::string line = fmt::format(
        "{}{} of {}{} trials{}; {} at work{}, {} waiting",
        search ? "" : fmt::format("{} of {} blocks, ", complete, planned(store).size()), now.finished,
        search ? "at most " : "", now.planned,
        now.excluded > 0 ? fmt::format(" ({} excluded)", now.excluded) : "", counted(begun, "node"),
        not_begun > 0 ? fmt::format(", {} about to begin", not_begun) : "", counted(waiting, "task"));
    if (line == shown_) return;
    shown_ = line;
    progress_.say(line);
  }

  // Nothing is there yet but what asks a node, which was killed, or did not hear that Slurm took its job.
  int cancel_looks() {
    std::set<std::string> jobs;
    for (const SlurmTask& task : live_tasks_of({})) jobs.insert(task.job);
    if (silent_ || jobs.empty()) require_submitted();
    slurm_.cancel({jobs.begin(), jobs.end()});
    if (options_.json)
      write_stdout(Json{{"result", path_}, {"jobs_cancelled", jobs}}.dump(2) + "\n");
    else
      write_stdout(fmt::format("{} cancelled; nothing else was submitted yet. {} begins\n",
                               counted(static_cast<int>(jobs.size()), "job"), shell_text("")));
    return static_cast<int>(ExitCode::done);
  }

  // Goes by what was submitted alone, and before whoever collects: jobs can be ended whatever became of the file.
  int cancel() {
    std::set<std::string> jobs;
    {
      Store store = Store::open(path_, Database::Mode::read_only);
      for (const SlurmTask& task : live_tasks(store)) jobs.insert(task.job);
    }
    if (silent_)
      throw Error(ExitCode::machine_refuses, "Slurm does not say which jobs wait or run; none was cancelled",
                  "is the controller up? `scontrol ping` says");
    for (const std::string& job : jobs) tell_cancelled(folder_, job, wall_ns());
    slurm_.cancel({jobs.begin(), jobs.end()});
    bool all_back = true;
    {
      Store store = Store::open(path_, Database::Mode::read_only);
      if (!jobs.empty()) all_back = settings(store).wait(shell_text("collect"));
    }
    std::string by_whom;
    try {
      folder_.make();
      CollectorLock lock(folder_);
      Store store = Store::open(path_, Database::Mode::read_write);
      Collector collector(folder_, store);
      left_out_ = nodes_left_out(store);
      take(store, collector);
      conclude(store);
      all_back = settings(store).are_back(true) && all_back;
    } catch (const Error& error) {
      by_whom = error.what();
      // Who collects asks the nodes.
      Store store = Store::open(path_, Database::Mode::read_only);
      all_back = settings(store).are_back(false) && all_back;
    }
    if (options_.json) {
      write_stdout(Json{{"result", path_}, {"jobs_cancelled", jobs}}.dump(2) + "\n");
    } else {
      write_stdout(fmt::format("{}; {}. {} goes on\n",
                               jobs.empty() ? "no task was waiting or running"
                                            : counted(static_cast<int>(jobs.size()), "job") + " cancelled",
                               by_whom.empty()
                                   ? "what was finished is in " + path_
                                   : "what was finished is not collected by this command: " + by_whom,
                               shell_text("")));
    }
    return static_cast<int>(all_back ? ExitCode::done : ExitCode::not_restored);
  }

  // Of a result that had to go on in another file that is the first to be known.
  ExitCode code_of(ExitCode code) const {
    return rescued_ && code != ExitCode::interrupted ? ExitCode::result_rescued : code;
  }

  int report(Store& store, bool all_there) {
    const auto trials = store.trials();
    const Summary summary = summary_of(store, trials);
    store.write_conclusions(conclusions_of(summary));
    if (!options_.no_html)
      write_page_beside(store, summary, trials, path_,
                        [this](const std::string& line) { progress_.say(line); });
    write_answer(options_.json ? json_report(store, summary, trials)
                               : terminal_report(summary, trials, text_look()));
    if (!cancelled_.empty()) {
      progress_.say(fmt::format("tasks of job {} were cancelled by somebody; {} submits what is missing",
                                cancelled_, shell_text("")));
      say_where_it_belongs();
      return static_cast<int>(ExitCode::interrupted);
    }
    if (!all_there && live_tasks(store).empty() && !silent_) {
      progress_.say(fmt::format(
          "not all of it is there, and no task waits or runs: {} submits what is missing", shell_text("")));
      say_where_it_belongs();
      return static_cast<int>(code_of(interrupted_ ? ExitCode::interrupted : ExitCode::done));
    }
    if (!all_there) {
      progress_.say(
          fmt::format("{}the tasks go on by themselves. {} comes back to them, {} --cancel ends them",
                      interrupted_ ? "interrupted; " : "", shell_text(""), shell_text("")));
      say_where_it_belongs();
      return static_cast<int>(code_of(interrupted_ ? ExitCode::interrupted : ExitCode::done));
    }
    progress_.say(fmt::format("all of it is in {}; {} is not needed any more", path_, folder_.path()));
    return static_cast<int>(code_of(summary.unmended == 0 ? ExitCode::done : ExitCode::some_trials_failed));
  }

  const ClusterOptions& options_;
  const Experiment& experiment_;
  const SlurmSpec& spec_;
  Interruption interruption_;
  SystemClock& clock_ = system_clock();
  std::string path_;
  const std::string result_;  // where it was submitted from, and every command looks for it
  bool grows_;                // the file is another one than the one that was submitted
  SharedFolder folder_;
  Slurm slurm_;
  Progress progress_;
  CollectorLock* lock_ = nullptr;
  std::set<int> planned_;                        // blocks; not of a search
  std::map<std::string, std::string> left_out_;  // node -> why
  std::map<int, Nanoseconds> gone_since_;        // by block: no task has it
  std::set<std::pair<std::string, int>> alive_;  // job and index: seen waiting or running
  // By job: the nodes that it may run on, where this program submitted it.
  std::map<std::string, std::set<std::string>> chosen_of_;
  std::set<std::pair<std::string, int>>
      moved_;                   // tasks that waited for a node that is down, and are submitted anew
  std::set<int> moved_blocks_;  // theirs, until they are submitted
  std::map<std::pair<std::string, int>, Nanoseconds> unavailable_since_;
  std::map<int, std::string> began_on_;  // by block: the node where its task was seen running
  struct Tries {
    int count = 0, trials = -1;  // submissions since `trials` of the block were finished
  };
  std::map<int, Tries> tries_;  // by block
  std::string last_fault_, shown_;
  std::string cancelled_;                     // a job that somebody else cancelled; empty: none
  std::optional<Nanoseconds> drained_since_;  // a search is over: since when no task runs
  std::set<std::string> job_names_;
  bool silent_ = false, interrupted_ = false, drained_ = false, found_over_ = false,
       rescued_ = false;  // the result was removed or replaced meanwhile, and goes on in another file
};

}  // namespace

int run_cluster_night(const ClusterOptions& options, const std::string& path, const Experiment& experiment,
                      bool grows) {
  return ClusterNight(options, path, experiment, grows).run();
}

}  // namespace dvfs_plan
