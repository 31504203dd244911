#include "orchestrator/commands/cluster_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/look.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {

NodeChoice ClusterJobs::choose() const {
  return choose_nodes(slurm_, night_.spec, {left_out_, night_.options.nodes_of_type});
}

std::string ClusterJobs::task_command(const std::string& more) const {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string file = std::filesystem::absolute(night_.options.file).lexically_normal().string();
  return fmt::format("exec {} task {} --folder {} --text {}{}", shell_quote(program), shell_quote(file),
                     shell_quote(night_.folder.path()), shell_quote(text_name(night_.experiment.text)), more);
}

std::string ClusterJobs::submit(const ClusterJob& job) const {
  // Tasks that wait run what was submitted, whatever becomes of the file meanwhile.
  const std::string text = text_name(night_.experiment.text);
  if (night_.folder.read(text) != night_.experiment.text) {
    if (const std::string why = night_.folder.hand_in(text, night_.experiment.text); !why.empty())
      throw Error(ExitCode::machine_refuses, why, "nothing was submitted");
  }
  std::vector<std::string> options = options_of_task(night_.spec, job.without);
  if (!job.on_node.empty()) options.push_back("--nodelist=" + job.on_node);
  try {
    return slurm_.submit({.name = job_name(night_.experiment.name),
                          .mark = job_mark(night_.folder),
                          .offset = job.offset,
                          .command = task_command(job.words),
                          .indices = job.indices,
                          .at_once = job.at_once,
                          .options = std::move(options),
                          .output = night_.folder.logs() + "/%A_%a.log"});
  } catch (const SlurmSilent& silence) {
    throw SlurmSilent(
        silence.code(), silence.what(),
        fmt::format("{}; it may have taken the job all the same: once it answers, the same command goes on "
                    "with that, and {} --cancel ends it",
                    silence.hint(), night_.shell_text()));
  }
}

std::optional<std::vector<SlurmTask>> ClusterJobs::tasks_of(const std::vector<std::string>& jobs) {
  job_names_.merge(job_names(night_.folder, night_.experiment.name));
  try {
    auto tasks = slurm_.tasks(jobs, job_names_, job_mark(night_.folder));
    if (silent_) night_.progress.say("Slurm answers again");
    silent_ = false;
    return tasks;
  } catch (const SlurmSilent& silence) {
    tell_of_silence(silence);
    return std::nullopt;
  }
}

std::optional<std::vector<SlurmTask>> ClusterJobs::tasks_of(Store& store) {
  std::vector<std::string> jobs;
  for (const Submission& one : submissions(store)) jobs.push_back(one.job);
  // The file may have another name by now.
  job_names_.merge(job_names(night_.folder, store.experiment().name));
  return tasks_of(jobs);
}

void ClusterJobs::tell_of_silence(const SlurmSilent& silence) {
  if (!silent_)
    night_.progress.say(
        fmt::format("warning: {}; asked again until it answers, the nodes go on meanwhile", silence.what()));
  silent_ = true;
}

namespace {

std::vector<SlurmTask> alive_of(const std::optional<std::vector<SlurmTask>>& tasks) {
  std::vector<SlurmTask> alive;
  if (tasks)
    std::copy_if(tasks->begin(), tasks->end(), std::back_inserter(alive),
                 [](const SlurmTask& task) { return !task.ended(); });
  return alive;
}

}  // namespace

std::vector<SlurmTask> ClusterJobs::live_tasks_of(const std::vector<std::string>& jobs) {
  return alive_of(tasks_of(jobs));
}

std::vector<SlurmTask> ClusterJobs::live_tasks_of(Store& store) {
  return alive_of(tasks_of(store));
}

std::vector<SlurmTask> ClusterJobs::live_tasks_by_folder() {
  std::vector<std::string> jobs;
  for (const std::string& name : night_.folder.names(job_ending)) {
    jobs.push_back(name.substr(0, name.size() - job_ending.size()));
    job_names_.insert(night_.folder.read(name));
  }
  return live_tasks_of(jobs);
}

void ClusterJobs::take_in_unheard(Store& store, const std::vector<SlurmTask>& tasks) {
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
    note(store, job, {blocks.begin(), blocks.end()});
    night_.progress.say(fmt::format("job {} was taken by Slurm without a word; it is gone on with", job));
  }
}

void ClusterJobs::note(Store& store, const std::string& job, std::vector<int> blocks) {
  note_submission(store, {job, std::move(blocks), night_.clock.wall_time()});
  night_.folder.hand_in(job + std::string(job_ending), job_name(night_.experiment.name));
}

void ClusterJobs::cancel_waiting(const SlurmTask& task) const {
  try {
    slurm_.cancel_waiting(task);
  } catch (const Error&) {
    // It runs its block for nothing then.
  }
}

}  // namespace dvfs_plan
