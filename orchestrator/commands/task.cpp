// dvfs-plan task: what a cluster's node runs for one block, and what it is asked for before: what it offers.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/cancelled_job.hpp"
#include "orchestrator/cluster/look.hpp"
#include "orchestrator/cluster/node_settings.hpp"
#include "orchestrator/cluster/shared_folder.hpp"
#include "orchestrator/cluster/shared_search.hpp"
#include "orchestrator/commands/run_here.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/store/parts.hpp"
#include "results/store/plan_copy.hpp"

namespace dvfs_plan {
namespace {

struct TaskOptions : CommonOptions {
  std::string folder;    // that all share
  std::string plan;      // the look that the plan is in; empty: this is the look
  std::string text;      // name there of the experiment as it was submitted
  int offset = 0;        // block = index in the array + this
  std::string put_back;  // a task that ended here without a word: what it set is put back, and nothing is run
};

std::string variable(const char* name, const std::string& otherwise = {}) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string node_name() {
  return variable("SLURMD_NODENAME", host_name());
}

// "1234_3 start 2": the array's job, the index in it, and how often Slurm has started it.
std::string task_name() {
  const auto restarts = parse_number(variable("SLURM_RESTART_COUNT", "0"));
  return fmt::format("{}_{} start {}", variable("SLURM_ARRAY_JOB_ID", variable("SLURM_JOB_ID", "0")),
                     variable("SLURM_ARRAY_TASK_ID", "0"), static_cast<int>(restarts.value_or(0)) + 1);
}

// On the node's own disk, this user's alone: SQLite never works on what several machines see.
std::string own_folder() {
  const std::string folder = fmt::format("{}/dvfs-plan.{}", variable("TMPDIR", "/tmp"), ::getuid());
  struct stat info {};
  if ((::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(folder.c_str(), &info) != 0 ||
      !S_ISDIR(info.st_mode) || info.st_uid != ::getuid() || (info.st_mode & 0077) != 0)
    throw Error(ExitCode::machine_refuses, fmt::format("{} is not a folder of this user's alone", folder),
                "remove it, or set TMPDIR to a folder on the node's own disk");
  return folder;
}

// In one line, for who reads it elsewhere.
std::string in_one_line(const Error& error) {
  const std::string text =
      error.hint().empty() ? error.what() : fmt::format("{} ({})", error.what(), error.hint());
  std::vector<std::string> lines;
  for (const std::string& line : split_lines(text)) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  return join(lines, " ");
}

class NodeFault : public Error {
 public:
  using Error::Error;
};

// The first run of all: what a node of the type offers, and the plan that follows from it.
class Look : public RunPart {
 public:
  explicit Look(const TaskOptions& options) : folder_(options.folder) {
    file_ = fmt::format("{}/look.{}.{}.sqlite", own_folder(), task_name(), ::getpid());
    std::replace(file_.begin(), file_.end(), ' ', '-');
  }
  ~Look() override {
    std::error_code none;
    std::filesystem::remove(file_, none);
  }
  std::string file() const override { return file_; }
  std::string energy_source() const override { return {}; }
  void require(const Plan&, const std::map<std::string, std::string>&) override {}
  bool only_looks() const override { return true; }
  std::unique_ptr<Strategy> strategy(StrategyRequest request, Interruption&) override {
    return make_strategy(std::move(request));
  }
  void begun(Store&, const std::map<std::string, std::string>&) override {}
  void finished(Store&, const TrialRecord&) override {}
  int ended(Store& store, RunEnd, const std::string&) override {
    store.seal();
    const std::string why = folder_.hand_in(look_name(task_name()), look_bytes(read_file(file_)));
    if (!why.empty()) throw Error(ExitCode::machine_refuses, why);
    return static_cast<int>(ExitCode::done);
  }

 private:
  SharedFolder folder_;
  std::string file_;
};

// Another strategy, which may be ended before it is over.
class MayEndBefore : public Strategy {
 public:
  explicit MayEndBefore(std::unique_ptr<Strategy> inner) : inner_(std::move(inner)) {}
  const PlannedTrial* next(const History& history) override {
    return ends(history) ? nullptr : inner_->next(history);
  }
  int remaining(const History& history) override { return inner_->remaining(history); }
  bool is_over(const History& history) override { return inner_->is_over(history); }
  std::string announcement(const History& history) override { return inner_->announcement(history); }
  bool announces_all(const History& history) const override { return inner_->announces_all(history); }

 private:
  virtual bool ends(const History& history) = 0;
  std::unique_ptr<Strategy> inner_;
};

// Ends a block in which one trial after another fails: another node may do better, and the night is not spent on it.
class GivesUp : public MayEndBefore {
 public:
  GivesUp(std::unique_ptr<Strategy> inner, int after, std::string& why)
      : MayEndBefore(std::move(inner)), after_(after), why_(why) {}

 private:
  bool ends(const History& history) override {
    int failed = 0;
    for (auto trial = history.trials().rbegin(); trial != history.trials().rend() && failed < after_;
         ++trial) {
      if (is_idle(trial->role) || trial->role == TrialRole::warm_up) continue;
      if (trial->counts || trial->may_pass) break;
      ++failed;
    }
    if (failed < after_) return false;
    why_ = fmt::format("{} trials in a row failed", failed);
    return true;
  }

  int after_;
  std::string& why_;
};

// Ends a block whose job was cancelled: a task that Slurm begins in that moment is told so by nobody else.
class EndsWithItsJob : public MayEndBefore {
 public:
  EndsWithItsJob(std::unique_ptr<Strategy> inner, std::function<bool()> cancelled)
      : MayEndBefore(std::move(inner)), cancelled_(std::move(cancelled)) {}

 private:
  bool ends(const History&) override { return cancelled_(); }
  std::function<bool()> cancelled_;
};

class Block : public RunPart {
 public:
  Block(const TaskOptions& options, int block) : folder_(options.folder), block_(block) {
    const std::string look = own_folder() + fmt::format("/plan.{}", ::getpid());
    look_ = look_content(folder_.read(options.plan));
    write_file(look, look_);
    Store plan = Store::open(look, Database::Mode::read_only);
    hash_ = plan.plan_hash();
    canonical_ = plan.canonical_plan();
    facts_ = plan.machine_facts();
    energy_ = plan.energy_source();
    // What is in which block is in the plan of a result that has grown, and in no file: the block's own begins with that.
    grown_ = !plan.stages().stages.empty();
    // What another result of this plan, or a night before --fresh, left of such a block is not ours.
    of_look_ = sha256(look_).substr(0, 16);
    std::filesystem::remove(look);
  }

  std::string file() const override {
    return fmt::format("{}/{}.{}.block-{}.sqlite", own_folder(), hash_.substr(0, 16), of_look_, block_);
  }
  std::string energy_source() const override { return energy_; }

  void require(const Plan& plan, const std::map<std::string, std::string>& facts) override {
    // Of what the node is: a block on another type of machine would not be a repetition.
    const auto type = differences_of_type(facts_, facts, {"cpu.microcode", "bios"});
    if (!type.empty())
      throw NodeFault(
          ExitCode::machine_refuses,
          fmt::format("it is of another type than the node that the plan was made on: {}", join(type, "; ")));
    if (plan.hash != hash_) {
      const auto differences = plan_differences(canonical_, plan.canonical);
      throw Error(ExitCode::bad_experiment,
                  fmt::format("the plan is another one here than the one that was submitted: {}",
                              join(differences, "; ")));
    }
    if (plan.experiment.slurm) give_up_after_ = plan.experiment.slurm->give_up_after;
    // What Slurm sets it puts back.
    sets_ = std::any_of(plan.axes.begin(), plan.axes.end(), [&](const PlanAxis& axis) {
      const auto& asked = plan.experiment.axes;
      return axis.knob && std::none_of(asked.begin(), asked.end(), [&](const AxisSpec& one) {
               return one.name == axis.name && !one.by.empty();
             });
    });
    if (grown_ && ::access(file().c_str(), F_OK) != 0) begin_with_the_plan(facts);
  }

  std::unique_ptr<Strategy> strategy(StrategyRequest request, Interruption& interruption) override {
    request.only_block = block_;
    request.node = node_name();
    const Plan& plan = request.plan;
    auto strategy = make_strategy(std::move(request));
    if (plan.experiment.search.one_by_one()) strategy = shared(plan, std::move(strategy), interruption);
    strategy = std::make_unique<GivesUp>(std::move(strategy), give_up_after_, gave_up_);
    return std::make_unique<EndsWithItsJob>(std::move(strategy), [this] {
      cancelled_ = cancelled_ || is_cancelled(folder_, task_name(), began_at_);
      return cancelled_;
    });
  }

  void begun(Store& store, const std::map<std::string, std::string>& facts) override {
    tell_that_it_sets_anything();
    const auto known = block_run_of(store);
    BlockRun run =
        known.value_or(BlockRun{.origin = boost::uuids::to_string(boost::uuids::random_generator()()),
                                .block = block_,
                                .node = node_name(),
                                .task = task_name()});
    note_block_run(store, run);
    origin_ = run.origin;
    Statement last = store.database().prepare("SELECT max(id) FROM session");
    last.step();
    hand_in(fmt::format("{}.s{:04}.part", origin_, last.integer(0)), session_part(store, facts));
    hand_in_what_is_not(store);
  }

  void finished(Store& store, const TrialRecord&) override {
    tell_that_it_sets_anything();
    // All that is not there yet, this one among them: an earlier one may have met a full disk.
    hand_in_what_is_not(store);
  }

  int ended(Store& store, RunEnd how, const std::string&) override {
    tell_whether_back({});  // before what makes the block complete is seen
    if (origin_.empty()) {
      // All of it was run before; whether all of it was handed in is another question.
      const auto known = block_run_of(store);
      if (!known) throw Error(ExitCode::machine_refuses, store.path() + " is not of a cluster's block");
      origin_ = known->origin;
    }
    if (search_.stopped || cancelled_) how = RunEnd::interrupted;
    if (how == RunEnd::interrupted) tell_that_it_was_ended(store);
    if (how == RunEnd::done && search_.barren && gave_up_.empty()) gave_up_ = "none of its trials counts";
    if (how == RunEnd::gave_up && gave_up_.empty()) gave_up_ = "a process there does not end";
    if (!gave_up_.empty()) {
      const std::string why = gave_up_ + last_fault(store);
      // All of it is told: who tries this block here again begins anew, and is not at the end at once.
      if (hand_in_what_is_not(store)) remove_database(file());
      throw NodeFault(ExitCode::some_trials_failed, why);
    }
    // What is finished is worth waiting for.
    constexpr int patience_s = 600;
    for (int waited = 0; !hand_in_what_is_not(store); ++waited) {
      if (how == RunEnd::interrupted || waited >= patience_s)
        throw Error(ExitCode::machine_refuses,
                    fmt::format("not all finished trials could be handed in: {}; they are in {} on {}",
                                problem_, file(), node_name()));
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    if (how == RunEnd::interrupted) return static_cast<int>(ExitCode::interrupted);
    hand_in(fmt::format("{}.z.part", origin_), end_part(store, system_clock().wall_time()));
    if (search_.over) hand_in(origin_ + std::string(over_ending), "over\n");
    if (!problem_.empty()) throw Error(ExitCode::machine_refuses, problem_);
    remove_database(file());
    return static_cast<int>(ExitCode::done);
  }

  // `why`: something of what was set stays; empty: all is back.
  void tell_whether_back(const std::string& why) {
    if (!told_that_it_sets_ || told_whether_back_) return;
    using enum NodeSettings::State;
    told_whether_back_ =
        tell_settings(folder_, {node_name(), task_name(), why.empty() ? back : not_back, why}).empty();
  }

 private:
  // Tried again with each trial: the folder may be full, or gone for a while.
  void tell_that_it_sets_anything() {
    if (!sets_ || told_that_it_sets_) return;
    told_that_it_sets_ = tell_that_it_sets(folder_, node_name(), task_name(), wall_ns()).empty();
  }

  // What other machines finish and are at decides what this one runs.
  std::unique_ptr<Strategy> shared(const Plan& plan, std::unique_ptr<Strategy> strategy,
                                   Interruption& interruption) {
    forget_copies_of_the_dead();
    const std::string copy = own_folder() + fmt::format("/others.{}.{}", ::getpid(), ++copies_);
    write_file(copy, look_);
    return std::make_unique<SharedSearch>(
        plan, std::move(strategy),
        SharedSearch::Task{
            .folder = folder_,
            .copy = copy,
            .node = node_name(),
            .block = block_,
            .origin = origin_,
            .outcome = search_,
            .clock = system_clock(),
            .pause =
                [&interruption](Seconds time) {
                  return interruption.sleep_until(system_clock().now() + nanoseconds(time), system_clock());
                },
            .warn = [](const std::string& text) { write_stderr(fmt::format("warning: {}\n", text)); }});
  }

  // A task that was killed could not remove its copy of what all nodes finished.
  static void forget_copies_of_the_dead() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(own_folder(), none)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("others.")) continue;
      const auto pid = parse_number(name.substr(7, name.find('.', 7) - 7));
      if (pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH)
        std::filesystem::remove(entry.path(), none);
    }
  }

  // By its time, by who comes first, by its user: the login node cannot tell from Slurm what it was at.
  void tell_that_it_was_ended(Store& store) {
    const auto now = store.progress();
    folder_.hand_in(name_of_task(node_name(), task_name(), fmt::format(".end{}", fault_ending)),
                    fault_bytes({node_name(), task_name(),
                                 fmt::format("it was told to end (its 'time' is over, or somebody ended "
                                             "it){}; {} of the block are finished",
                                             now.current_trial.empty() ? "" : ", at " + now.current_trial,
                                             counted(now.finished, "trial")),
                                 block_, false}));
  }

  // Under its name once it is whole.
  void begin_with_the_plan(const std::map<std::string, std::string>& facts) const {
    const std::string unfinished = fmt::format("{}.{}", file(), ::getpid());
    write_file(unfinished, look_);
    {
      Store own = Store::open(unfinished, Database::Mode::read_write);
      set_machine_facts(own, facts);  // of the type, but this node's own
      own.seal();
    }
    if (::rename(unfinished.c_str(), file().c_str()) != 0)
      throw Error(ExitCode::machine_refuses, system_error_text("rename " + unfinished, errno));
  }

  // Whether all that is finished has been handed in now.
  bool hand_in_what_is_not(Store& store) {
    if (!listed_) {
      for (const std::string& name : folder_.names(part_ending)) {
        if (name.starts_with(origin_)) handed_in_.insert(name);
      }
      listed_ = true;
    }
    Statement trials = store.database().prepare("SELECT id, key FROM trial WHERE id > ? ORDER BY id");
    trials.bind(all_until_);
    bool all = true;
    while (trials.step()) {
      const std::string name = fmt::format("{}.t{:06}.part", origin_, trials.integer(0));
      if (!handed_in_.contains(name)) all = hand_in(name, trial_part(store, trials.text(1))) && all;
      if (all) all_until_ = trials.integer(0);
    }
    return all;
  }

  bool hand_in(const std::string& name, const std::string& bytes) {
    const std::string why = folder_.hand_in(name, bytes);
    if (why.empty()) {
      handed_in_.insert(name);
      problem_.clear();
      return true;
    }
    if (problem_.empty()) write_stderr(fmt::format("warning: {}; it is tried again\n", why));
    problem_ = why;
    return false;
  }

  static std::string last_fault(Store& store) {
    std::string text;
    for (const TrialRow& trial : store.trials()) {
      if (trial.verdict != to_string(Verdict::ok))
        text = fmt::format(", the last: {}: {}", trial.key, trial.verdict_text);
    }
    return text;
  }

  SharedFolder folder_;
  int block_;
  std::string look_, hash_, canonical_, energy_, origin_, problem_, gave_up_;
  const std::int64_t began_at_ = wall_ns();
  bool cancelled_ = false;
  bool sets_ = false, told_that_it_sets_ = false, told_whether_back_ = false;
  bool grown_ = false;   // the plan is of a result that has grown
  std::string of_look_;  // which look the block is of
  std::map<std::string, std::string> facts_;
  std::set<std::string> handed_in_;
  bool listed_ = false;
  std::int64_t all_until_ = 0;  // trials up to this row have been handed in
  int give_up_after_ = 3;
  SharedSearch::Outcome search_;
  int copies_ = 0;
};

// As it was submitted: the file itself may have been changed since.
std::string submitted_text(const TaskOptions& options) {
  std::string text = SharedFolder(options.folder).read(options.text);
  if (text_name(text) != options.text)
    throw Error(ExitCode::machine_refuses,
                fmt::format("{}/in/{} is not there, or not what was submitted", options.folder, options.text),
                "submit again with --fresh");
  return text;
}

int run_part(const TaskOptions& options, RunPart& part) {
  RunOptions run;
  run.text = submitted_text(options);
  static_cast<CommonOptions&>(run) = options;
  run.no_html = true;
  // A block before this one may still be putting the machine back.
  run.wait = true;
  return run_here(run, &part);
}

int run_block(const TaskOptions& options, int block) {
  Block part(options, block);
  try {
    const int code = run_part(options, part);
    part.tell_whether_back({});
    return code;
  } catch (const Error& error) {
    part.tell_whether_back(error.code() == ExitCode::not_restored ? in_one_line(error) : "");
    throw;
  }
}

// As the next sweep here would. What cannot be looked at now is not told.
int put_back(const TaskOptions& options) {
  const SharedFolder folder(options.folder);
  NodeSettings settings{node_name(), options.put_back, NodeSettings::State::back};
  try {
    const GuardClient guard(
        {.experiment = "restore", .state_folder = options.state_folder, .sysfs_root = options.sysfs_root});
  } catch (const Error& error) {
    if (error.code() != ExitCode::not_restored) throw;
    settings.state = NodeSettings::State::not_back;
    settings.why = in_one_line(error);
  }
  if (const std::string why = tell_settings(folder, settings); !why.empty())
    throw Error(ExitCode::machine_refuses, why);
  return static_cast<int>(settings.state == NodeSettings::State::back ? ExitCode::done
                                                                      : ExitCode::not_restored);
}

int task_command(const TaskOptions& options) {
  if (!options.put_back.empty()) return put_back(options);
  const auto index = parse_number(variable("SLURM_ARRAY_TASK_ID"));
  const int block = static_cast<int>(index.value_or(0)) + options.offset;
  const SharedFolder folder(options.folder);
  write_stderr(fmt::format("{} on {}, {}\n", task_name(), node_name(),
                           options.plan.empty() ? "a look" : fmt::format("block {}", block)));
  const auto tell = [&](const Error& error, bool of_node) {
    folder.hand_in(name_of_task(node_name(), task_name(), fault_ending),
                   fault_bytes({node_name(), task_name(), in_one_line(error), block, of_node}));
  };
  try {
    if (options.plan.empty()) {
      Look look(options);
      return run_part(options, look);
    }
    if (!index)
      throw Error(ExitCode::bad_experiment, "a task is started by Slurm", "dvfs-plan submit FILE.yaml");
    return run_block(options, block);
  } catch (const NodeFault& error) {
    tell(error, true);
    throw;
  } catch (const Error& error) {
    // What the machine refuses here it may grant elsewhere, and where something of what was set stays nothing is set any more; a wrong
    // file is wrong everywhere.
    tell(error, error.code() == ExitCode::machine_refuses || error.code() == ExitCode::not_restored);
    throw;
  }
}

const Registered<CommandKind> task(
    {.name = "task",
     .place = 210,
     .what = "what a node of a cluster runs for one block",
     .needs_rights = true,
     .hidden = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<TaskOptions>();
       app.add_option("FILE", options->file, "the experiment")->required();
       app.add_option("--folder", options->folder, "that the nodes share")->required();
       app.add_option("--plan", options->plan, "the look that holds the plan; without: look");
       app.add_option("--text", options->text, "the experiment as it was submitted")->required();
       app.add_option("--offset", options->offset, "of blocks against the array's indices");
       app.add_option("--put-back", options->put_back, "what that task set here is put back");
       return declared(app, options, task_command);
     }});

}  // namespace
}  // namespace dvfs_plan
