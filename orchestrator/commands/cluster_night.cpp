#include "orchestrator/commands/cluster_night.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/cancelled_job.hpp"
#include "orchestrator/cluster/collector.hpp"
#include "orchestrator/cluster/node_choice.hpp"
#include "orchestrator/commands/cluster_blocks.hpp"
#include "orchestrator/commands/cluster_context.hpp"
#include "orchestrator/commands/cluster_growth.hpp"
#include "orchestrator/commands/cluster_jobs.hpp"
#include "orchestrator/commands/cluster_look.hpp"
#include "orchestrator/commands/cluster_settings.hpp"
#include "orchestrator/commands/cluster_submissions.hpp"
#include "orchestrator/commands/page_beside.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "results/report/conclusions.hpp"
#include "results/report/report.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;
constexpr Seconds between_conclusions{30};

std::set<std::string> jobs_of(const std::vector<SlurmTask>& tasks) {
  std::set<std::string> jobs;
  for (const SlurmTask& task : tasks) jobs.insert(task.job);
  return jobs;
}

class ClusterNight {
 public:
  ClusterNight(const ClusterOptions& options, std::string path, const Experiment& experiment, bool grows)
      : night_(options, experiment, std::move(path)), result_(night_.path), grows_(grows) {
    require_planned_blocks(experiment);
    if (submits()) require_time_fits(jobs_.slurm(), experiment);
  }

  int run() {
    if (night_.options.what == ClusterOptions::Do::cancel) return exists() ? cancel() : cancel_looks();
    if (!submits()) require_submitted();
    night_.folder.make();
    CollectorLock lock(night_.folder);
    lock_ = &lock;
    if (night_.options.fresh) set_aside();
    if (exists() ? grows_ && !grow() : !look()) return static_cast<int>(ExitCode::interrupted);
    Store store = Store::open(night_.path, Database::Mode::read_write);
    store.look_after_file(night_.path, invoking_owner());
    Collector collector(night_.folder, store);
    const bool waits = night_.options.what == ClusterOptions::Do::all;
    const bool all_there = watch(store, collector, waits);
    if (night_.options.what == ClusterOptions::Do::submit) return say_submitted(store, all_there);
    go_on_elsewhere_if_taken_away(store, collector);
    const int code = report(store, all_there);
    // Tasks that somebody cancelled are still putting back what they set.
    const bool told = submissions_.cancelled().empty() || settings(store).wait(night_.shell_text("collect"));
    return settings(store).are_back(night_.options.what == ClusterOptions::Do::all) && told
               ? code
               : static_cast<int>(ExitCode::not_restored);
  }

 private:
  // All that was collected is still open here, and what is handed in from now on would go into a file that nobody can find.
  void go_on_elsewhere_if_taken_away(Store& store, Collector& collector) {
    const std::string what = store.was_taken_away();
    if (what.empty()) return;
    const Store::Rescued rescued = store.go_on_elsewhere(what);
    night_.progress.say(
        fmt::format("warning: {}: {}; it goes on in {}", night_.path, rescued.what, rescued.where));
    night_.path = rescued.where;
    rescued_ = true;
    collector.begin_anew();
  }

  bool submits() const {
    return night_.options.what == ClusterOptions::Do::all ||
           night_.options.what == ClusterOptions::Do::submit;
  }

  // The folder of the nodes goes by the result's name.
  void say_where_it_belongs() {
    if (!rescued_) return;
    // The log of another file that was put there would be taken for this one's.
    const std::string log = result_ + "-wal", text = "mv --backup=numbered";
    const std::string first = ::access(log.c_str(), F_OK) == 0
                                  ? fmt::format("{} {} {}.old && ", text, shell_quote(log), shell_quote(log))
                                  : "";
    night_.progress.say(fmt::format("before any other command, and while nobody reads it: {}{} {} {}", first,
                                    text, shell_quote(night_.path), shell_quote(result_)));
  }

  int say_submitted(Store& store, bool all_there) {
    const int code = static_cast<int>(code_of(ExitCode::done));
    if (!night_.options.says_how_to_collect) return code;
    const std::string collects = night_.shell_text("collect"),
                      shows = "dvfs-plan status " + shell_quote(result_);
    if (night_.options.json) {
      Json json{{"result", night_.path}, {"finished", all_there}, {"jobs", Json::array()}};
      for (const Submission& one : submissions(store)) json["jobs"].push_back(one.job);
      write_stdout(json.dump(2) + "\n");
    } else if (all_there) {
      write_stdout(
          fmt::format("nothing is left to submit: all of it is in {}; {} reports\n", night_.path, collects));
    } else {
      write_stdout(
          fmt::format("submitted; {} collects what is finished, {} shows how far it is\n", collects, shows));
    }
    say_where_it_belongs();
    return code;
  }

  bool exists() const { return ::access(night_.path.c_str(), F_OK) == 0; }

  void require_submitted() const {
    if (exists()) return;
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} is not there: nothing was submitted yet", night_.path),
                night_.shell_text("submit"));
  }

  // First what nodes handed in, whether the result is here or was moved: it would be taken for the new night's.
  void set_aside_what_was_handed_in(const std::string& stem) {
    const std::string in = night_.folder.path() + "/in", aside = fmt::format("{}.{}", in, stem);
    std::error_code none;
    if (std::filesystem::is_empty(in, none) || none) return;
    // What is not put back on a node is to be told by whatever night comes next.
    auto left = settings_of_nodes(night_.folder);
    std::erase_if(left, [](const NodeSettings& one) { return one.state == NodeSettings::State::back; });
    std::filesystem::rename(in, aside);
    night_.folder.make();
    night_.progress.say(fmt::format("what nodes handed in before is kept as {}", aside));
    if (const std::string why = tell_again(night_.folder, left); !why.empty())
      throw Error(ExitCode::machine_refuses, why,
                  fmt::format("nothing was submitted; what is not put back on nodes is in {}", aside));
  }

  // `ends` says by which command jobs are ended.
  void require_ended(const std::vector<SlurmTask>& alive,
                     const std::function<std::string(const std::string&)>& ends) const {
    if (jobs_.silent())
      throw Error(
          ExitCode::machine_refuses,
          "Slurm does not say whether tasks of the former submission wait or run; it was left as it is",
          "is the controller up? `scontrol ping` says");
    if (alive.empty()) return;
    const auto jobs = jobs_of(alive);
    const bool one = alive.size() == 1;
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} of the former submission still {}", counted(static_cast<int>(alive.size()), "task"),
                    one ? "waits or runs" : "wait or run"),
        ends(join({jobs.begin(), jobs.end()}, " ")) + (one ? "  ends it" : "  ends them"));
  }

  // What would be refused is refused before anything is moved: too few nodes.
  void set_aside() {
    const std::string aside = aside_stem(night_.path, night_.clock);
    const std::string stem = std::filesystem::path(aside).filename().string();
    if (!exists()) {
      // Its result was moved away: its tasks would hand in to the new night.
      require_ended(jobs_.live_tasks_by_folder(),
                    [](const std::string& alive) { return "scancel " + alive; });
      jobs_.choose();
      return set_aside_what_was_handed_in(stem);
    }
    {
      Store old = Store::open(night_.path, Database::Mode::read_write);
      require_ended(jobs_.live_tasks_of(old),
                    [&](const std::string&) { return night_.shell_text() + " --cancel"; });
    }
    jobs_.choose();
    Store::fold_log(night_.path);
    set_aside_what_was_handed_in(stem);
    night_.progress.say(fmt::format("the former result is kept as {}", move_aside(night_.path, aside)));
  }

  // ---------------------------------------------------------------- the plan

  // false: interrupted.
  bool look() {
    const auto name = look_.ask_a_node(*lock_);
    if (name) look_.keep(*name);
    return name.has_value();
  }

  // What the file has now beside what was submitted. Parts of the former plan are taken until then, and none after it.
  bool grow() {
    {
      Store store = Store::open(night_.path, Database::Mode::read_write);
      jobs_.only_left_out(nodes_left_out(store));
      require_no_task(store);
    }
    const auto name = look_.ask_a_node(*lock_);
    if (!name) return false;
    // What the last tasks handed in may be seen here only now.
    if (!night_.interruption.sleep_until(night_.clock.now() + nanoseconds(patience_of_folder), night_.clock))
      return false;
    OpenLook look(night_, *name);
    Store store = Store::open(night_.path, Database::Mode::read_write);
    require_no_task(store);
    Collector collector(night_.folder, store);
    take(store, collector);
    const PlanChange change =
        grow_by_look(store, look.store(), night_.experiment, night_.path, night_.clock.wall_time());
    for (const std::string& line : change_lines(change)) night_.progress.say(line);
    return true;
  }

  void require_no_task(Store& store) {
    const auto alive = jobs_.live_tasks_of(store);
    if (jobs_.silent())
      throw Error(ExitCode::machine_refuses, "Slurm does not say which jobs wait or run; nothing was added",
                  "is the controller up? `scontrol ping` says");
    if (alive.empty()) return;
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} was submitted with another {}, and {} of it still {}", night_.path,
                    night_.options.file, counted(static_cast<int>(alive.size()), "task"),
                    alive.size() == 1 ? "waits or runs" : "wait or run"),
        fmt::format(
            "let them finish, or end them ({} --cancel; what is finished stays): the same command then "
            "adds what the file has now; `{}` takes what is finished of what was submitted",
            night_.shell_text(), night_.shell_text("collect")));
  }

  // ---------------------------------------------------------------- settings of the nodes

  ClusterSettings settings(Store& store) {
    return ClusterSettings({.folder = night_.folder,
                            .slurm = jobs_.slurm(),
                            .spec = night_.spec,
                            .clock = night_.clock,
                            .interruption = night_.interruption,
                            .progress = night_.progress,
                            .running = [this, &store]() -> std::optional<std::set<std::string>> {
                              std::set<std::string> running;
                              // One that Slurm queued again has ended where it was.
                              for (const SlurmTask& task : jobs_.live_tasks_of(store)) {
                                if (!task.node.empty()) running.insert(task.name());
                              }
                              return jobs_.silent() ? std::nullopt : std::optional(running);
                            },
                            .submit =
                                [this](const std::string& words, const std::string& node) {
                                  return jobs_.submit({.words = words, .on_node = node});
                                }});
  }

  // ---------------------------------------------------------------- watching

  // Whether all that was planned is there. Returns when it is, when interrupted, or at once where it does not wait.
  bool watch(Store& store, Collector& collector, bool waits) {
    jobs_.only_left_out(nodes_left_out(store));
    if (submits()) {
      take(store, collector);  // what finished meanwhile is not open
      give_another_chance(store);
    } else {
      jobs_.take_in_unheard(store, jobs_.live_tasks_of(store));
    }
    Nanoseconds asked = 0, concluded = night_.clock.now();
    for (;;) {
      lock_->require_held();
      go_on_elsewhere_if_taken_away(store, collector);
      const bool news = take(store, collector);
      if (blocks_.open(store).empty()) return true;
      if (submits() && night_.clock.now() - asked > nanoseconds(between_questions)) {
        submissions_.submit_what_is_missing(store);
        asked = night_.clock.now();
      }
      if (!submissions_.cancelled().empty()) return false;
      // Who only submits waits for blocks whose last task has just ended, so that none is forgotten.
      if (!waits && (!submits() || !submissions_.waits_for_files())) return false;
      if (news && night_.clock.now() - concluded > nanoseconds(between_conclusions)) {
        conclude(store);
        concluded = night_.clock.now();
      }
      if (!night_.interruption.sleep_until(night_.clock.now() + nanoseconds(between_looks), night_.clock)) {
        interrupted_ = true;
        return false;
      }
    }
  }

  // Whoever begins again a night that stands still has mended what nodes were left out for, or is told again.
  void give_another_chance(Store& store) {
    if (jobs_.left_out().empty() || blocks_.open(store).empty() || blocks_.found_over() ||
        !jobs_.live_tasks_of(store).empty() || jobs_.silent())
      return;
    for (const auto& [node, why] : jobs_.left_out())
      night_.progress.say(fmt::format("{} is tried again; it was left out: {}", node, printable(why)));
    take_nodes_again(store);
    jobs_.only_left_out({});
  }

  bool take(Store& store, Collector& collector) {
    const Collected collected = collector.collect();
    for (const std::string& why : collected.refused)
      night_.progress.say("warning: not taken: " + printable(why));
    for (const TaskFault& fault : collected.faults) {
      submissions_.last_fault(fmt::format("{}: {}", fault.node, fault.why));
      if (!fault.of_node) {
        night_.progress.say(
            fmt::format("warning: block {} on {}: {}", fault.block, fault.node, printable(fault.why)));
        continue;
      }
      if (!jobs_.leave_out(fault.node, fault.why)) continue;
      leave_node_out(store, fault.node, fault.why);
      night_.progress.say(fmt::format("warning: {} is left out: {}", fault.node, printable(fault.why)));
    }
    return collected.parts > 0;
  }

  // Nothing is there yet but what asks a node, which was killed, or did not hear that Slurm took its job.
  int cancel_looks() {
    const auto jobs = jobs_of(jobs_.live_tasks_of(std::vector<std::string>{}));
    if (jobs_.silent() || jobs.empty()) require_submitted();
    jobs_.slurm().cancel({jobs.begin(), jobs.end()});
    if (night_.options.json)
      write_stdout(Json{{"result", night_.path}, {"jobs_cancelled", jobs}}.dump(2) + "\n");
    else
      write_stdout(fmt::format("{} cancelled; nothing else was submitted yet. {} begins\n",
                               counted(static_cast<int>(jobs.size()), "job"), night_.shell_text()));
    return static_cast<int>(ExitCode::done);
  }

  // Goes by what was submitted alone, and before whoever collects: jobs can be ended whatever became of the file.
  int cancel() {
    std::set<std::string> jobs;
    {
      Store store = Store::open(night_.path, Database::Mode::read_only);
      jobs = jobs_of(jobs_.live_tasks_of(store));
    }
    if (jobs_.silent())
      throw Error(ExitCode::machine_refuses, "Slurm does not say which jobs wait or run; none was cancelled",
                  "is the controller up? `scontrol ping` says");
    for (const std::string& job : jobs) tell_cancelled(night_.folder, job, wall_ns());
    jobs_.slurm().cancel({jobs.begin(), jobs.end()});
    bool all_back = true;
    {
      Store store = Store::open(night_.path, Database::Mode::read_only);
      if (!jobs.empty()) all_back = settings(store).wait(night_.shell_text("collect"));
    }
    std::string by_whom;
    try {
      night_.folder.make();
      CollectorLock lock(night_.folder);
      Store store = Store::open(night_.path, Database::Mode::read_write);
      Collector collector(night_.folder, store);
      jobs_.only_left_out(nodes_left_out(store));
      take(store, collector);
      conclude(store);
      all_back = settings(store).are_back(true) && all_back;
    } catch (const Error& error) {
      by_whom = error.what();
      // Who collects asks the nodes.
      Store store = Store::open(night_.path, Database::Mode::read_only);
      all_back = settings(store).are_back(false) && all_back;
    }
    if (night_.options.json) {
      write_stdout(Json{{"result", night_.path}, {"jobs_cancelled", jobs}}.dump(2) + "\n");
    } else {
      write_stdout(fmt::format("{}; {}. {} goes on\n",
                               jobs.empty() ? "no task was waiting or running"
                                            : counted(static_cast<int>(jobs.size()), "job") + " cancelled",
                               by_whom.empty()
                                   ? "what was finished is in " + night_.path
                                   : "what was finished is not collected by this command: " + by_whom,
                               night_.shell_text()));
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
    if (!night_.options.no_html)
      write_page_beside(store, summary, trials, night_.path,
                        [this](const std::string& line) { night_.progress.say(line); });
    write_answer(night_.options.json ? json_report(store, summary, trials)
                                     : terminal_report(summary, trials, text_look()));
    if (!submissions_.cancelled().empty()) {
      night_.progress.say(
          fmt::format("tasks of job {} were cancelled by somebody; {} submits what is missing",
                      submissions_.cancelled(), night_.shell_text()));
      say_where_it_belongs();
      return static_cast<int>(ExitCode::interrupted);
    }
    if (!all_there && jobs_.live_tasks_of(store).empty() && !jobs_.silent()) {
      night_.progress.say(
          fmt::format("not all of it is there, and no task waits or runs: {} submits what is missing",
                      night_.shell_text()));
      say_where_it_belongs();
      return static_cast<int>(code_of(interrupted_ ? ExitCode::interrupted : ExitCode::done));
    }
    if (!all_there) {
      night_.progress.say(
          fmt::format("{}the tasks go on by themselves. {} comes back to them, {} --cancel ends them",
                      interrupted_ ? "interrupted; " : "", night_.shell_text(), night_.shell_text()));
      say_where_it_belongs();
      return static_cast<int>(code_of(interrupted_ ? ExitCode::interrupted : ExitCode::done));
    }
    night_.progress.say(
        fmt::format("all of it is in {}; {} is not needed any more", night_.path, night_.folder.path()));
    return static_cast<int>(code_of(summary.unmended == 0 ? ExitCode::done : ExitCode::some_trials_failed));
  }

  ClusterContext night_;
  const std::string result_;  // where it was submitted from, and every command looks for it
  bool grows_;                // the file is another one than the one that was submitted
  ClusterJobs jobs_{night_};
  ClusterBlocks blocks_{night_};
  ClusterLook look_{night_, jobs_};
  ClusterSubmissions submissions_{night_, jobs_, blocks_, look_};
  CollectorLock* lock_ = nullptr;
  bool interrupted_ = false,
       rescued_ = false;  // the result was removed or replaced meanwhile, and goes on in another file
};

}  // namespace

int run_cluster_night(const ClusterOptions& options, const std::string& path, const Experiment& experiment,
                      bool grows) {
  return ClusterNight(options, path, experiment, grows).run();
}

}  // namespace dvfs_plan
