#include "orchestrator/commands/cluster_submissions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// A block that was submitted so often in a row without one more finished trial will not finish one.
constexpr int most_fruitless = 3;
// A node that is there again at once keeps its task; whose block a spare node has run does not matter.
constexpr Seconds patience_with_a_node{60};

std::string blocks_text(const std::vector<int>& blocks) {
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

std::string nodes_without(const NodeChoice& choice, const std::vector<std::string>& without) {
  std::vector<std::string> nodes;
  for (const std::string& node : choice.chosen) {
    if (std::find(without.begin(), without.end(), node) == without.end()) nodes.push_back(node);
  }
  return join(nodes, ",");
}

}  // namespace

void ClusterSubmissions::submit_what_is_missing(Store& store) {
  const auto open = blocks_.open(store);
  if (open.empty()) return;
  const auto tasks = jobs_.tasks_of(store);
  if (!tasks) return;
  jobs_.take_in_unheard(store, *tasks);
  const auto submitted = submissions(store);
  const Seen seen = look_at(*tasks, submitted, open);
  if (!cancelled_.empty()) return;
  if (!submitted.empty()) show(store, seen);
  if (seen.over) return let_none_begin(*tasks, seen);
  const std::vector<int> blocks = missing(open, seen.taken, submitted);
  if (blocks.empty()) return;
  std::vector<int> tried;  // whose task began and ended
  std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(tried),
               [&](int block) { return !moved_blocks_.contains(block); });
  count_tries(store, tried);
  try {
    submit(store, blocks);
    moved_blocks_.clear();
  } catch (const SlurmSilent& silence) {
    // Who waits can ask again; if it was submitted all the same, one of two runs of a block counts.
    if (night_.options.what != ClusterOptions::Do::all) throw;
    jobs_.tell_of_silence(silence);
    return;
  }
  for (const int block : blocks) gone_since_.erase(block);
}

ClusterSubmissions::Seen ClusterSubmissions::look_at(const std::vector<SlurmTask>& tasks,
                                                     const std::vector<Submission>& submitted,
                                                     const std::vector<int>& open) {
  Seen seen{.over = blocks_.found_over()};
  for (const SlurmTask& task : tasks) {
    const auto of = std::find_if(submitted.begin(), submitted.end(), [&](const Submission& one) {
      return one.job == task.job && !one.blocks.empty();
    });
    if (of == submitted.end()) continue;
    // Indices count from the submission's first block.
    const int block = of->blocks.front() - 1 + task.index;
    look_at(task, block, std::find(open.begin(), open.end(), block) != open.end(), seen);
  }
  return seen;
}

void ClusterSubmissions::look_at(const SlurmTask& task, int block, bool is_open, Seen& seen) {
  const std::string id = task.name();
  const bool is_wanted = is_open && !seen.over;
  if (task.ended()) {
    // Under our eyes, by somebody who had a reason: it is not ours to undo.
    if (task.state == "CANCELLED" && is_wanted && alive_.contains(id) && !moved_.contains(id))
      cancelled_ = task.job;
    return;
  }
  if (moved_.contains(id)) {
    if (task.node.empty()) jobs_.cancel_waiting(task);  // it did not work, or is not seen yet
    return;
  }
  alive_.insert(id);
  if (is_wanted && waits_for_a_dead_node(task)) {
    jobs_.cancel_waiting(task);
    moved_.insert(id);
    moved_blocks_.insert(block);
    gone_since_.try_emplace(block, night_.clock.now() - nanoseconds(patience_of_folder));
    return;
  }
  seen.taken.insert(block);
  // Thought dead it was queued again, and has finished meanwhile.
  if (task.state == "PENDING" && !is_open) jobs_.cancel_waiting(task);
  if (is_open) tell_if_queued_again(task, block);
  (task.node.empty() ? seen.waiting : seen.running).push_back(task);
}

// Its job may run on the nodes that were chosen when it was submitted, and waits for one that is down: where another one of the
// partition works, it is submitted anew.
bool ClusterSubmissions::waits_for_a_dead_node(const SlurmTask& task) {
  const std::string id = task.name();
  const bool unavailable = task.node.empty() && (task.reason.find("Unavailable") != std::string::npos ||
                                                 task.reason.find("ReqNodeNotAvail") != std::string::npos ||
                                                 task.reason.find("DOWN") != std::string::npos);
  if (!unavailable) {
    unavailable_since_.erase(id);
    return false;
  }
  const auto [since, is_new] = unavailable_since_.try_emplace(id, night_.clock.now());
  if (is_new) night_.progress.say(fmt::format("task {} waits: {}", id, printable(task.reason)));
  if (is_new || night_.clock.now() - since->second < nanoseconds(patience_with_a_node)) return false;
  since->second = night_.clock.now();  // asked again as much later
  try {
    const NodeChoice choice = jobs_.choose();
    const auto of_its_job = chosen_of_.find(task.job);
    const auto is_other = [&](const std::string& node) {
      return of_its_job == chosen_of_.end() || !of_its_job->second.contains(node);
    };
    if (std::none_of(choice.chosen.begin(), choice.chosen.end(), is_other)) return false;
  } catch (const Error&) {  // fewer work than are asked for: it waits for one
    return false;
  }
  night_.progress.say(fmt::format("task {} is submitted anew, for the nodes that work now", id));
  return true;
}

void ClusterSubmissions::tell_if_queued_again(const SlurmTask& task, int block) {
  if (!task.node.empty()) {
    began_on_[block] = task.node;
    return;
  }
  const auto began = began_on_.find(block);
  if (began == began_on_.end()) return;
  night_.progress.say(
      fmt::format("warning: block {} began on {}, which gave it up or is down: Slurm queued it again", block,
                  began->second));
  began_on_.erase(began);
}

void ClusterSubmissions::show(Store& store, const Seen& seen) {
  int complete = 0, begun = 0;
  for (const BlockRun& run : block_runs(store)) {
    complete += run.left_out.empty() && run.complete ? 1 : 0;
    const auto is_its = [&](const SlurmTask& task) { return run.task.starts_with(task.name() + " "); };
    begun += !run.complete && std::any_of(seen.running.begin(), seen.running.end(), is_its) ? 1 : 0;
  }
  const auto now = store.progress();
  const bool search = night_.experiment.search.one_by_one();
  // Running for Slurm is not yet measuring: a node may be looked at, or have another sweep.
  const int not_begun = std::max(0, static_cast<int>(seen.running.size()) - begun);
  const std::string line =
      fmt::format("{}{} of {}{} trials{}; {} at work{}, {} waiting",
                  search ? "" : fmt::format("{} of {} blocks, ", complete, blocks_.planned(store).size()),
                  now.finished, search ? "at most " : "", now.planned,
                  now.excluded > 0 ? fmt::format(" ({} excluded)", now.excluded) : "", counted(begun, "node"),
                  not_begun > 0 ? fmt::format(", {} about to begin", not_begun) : "",
                  counted(static_cast<int>(seen.waiting.size()), "task"));
  if (line == shown_) return;
  shown_ = line;
  night_.progress.say(line);
}

// A search is over: what waits is not needed any more; what runs is waited for.
void ClusterSubmissions::let_none_begin(const std::vector<SlurmTask>& tasks, const Seen& seen) {
  for (const SlurmTask& task : tasks) {
    if (!task.ended() && task.node.empty()) jobs_.cancel_waiting(task);
  }
  if (!seen.running.empty()) drained_since_.reset();
  if (seen.running.empty() && !drained_since_) drained_since_ = night_.clock.now();
  blocks_.none_is_at_work(drained_since_ &&
                          night_.clock.now() - *drained_since_ > nanoseconds(patience_of_folder));
}

// Open blocks that no task has, and whose last one has not just ended.
std::vector<int> ClusterSubmissions::missing(const std::vector<int>& open, const std::set<int>& taken,
                                             const std::vector<Submission>& submitted) {
  std::set<int> were_submitted;
  for (const Submission& one : submitted) were_submitted.insert(one.blocks.begin(), one.blocks.end());
  std::vector<int> missing;
  for (const int block : open) {
    if (taken.contains(block)) {
      gone_since_.erase(block);
      continue;
    }
    const auto [since, is_new] = gone_since_.try_emplace(block, night_.clock.now());
    // Its last file may not be seen here yet.
    if (were_submitted.contains(block) &&
        night_.clock.now() - since->second < nanoseconds(patience_of_folder))
      continue;
    missing.push_back(block);
  }
  return missing;
}

void ClusterSubmissions::count_tries(Store& store, const std::vector<int>& blocks) {
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
        fmt::format("'time' under 'slurm' must hold the longest trial, its warm-up and what comes before; "
                    "what the tasks printed is in {}; all that is finished is in {}",
                    night_.folder.logs(), night_.path));
  }
}

// Blocks over nodes: where fewer work at once than there are nodes, the nodes take turns.
void ClusterSubmissions::submit(Store& store, const std::vector<int>& blocks) {
  const NodeChoice choice = jobs_.choose();
  const int nodes = static_cast<int>(choice.chosen.size());
  const int at_once = std::min(nodes, night_.spec.at_once.value_or(nodes));
  const int groups = (nodes + at_once - 1) / at_once;
  const int most = std::max(1, jobs_.slurm().most_array_index());
  const std::string plan = look_.of_plan(store);
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
      const std::string job =
          jobs_.submit({.indices = indices,
                        .offset = offset,
                        .at_once = std::max(1, share),
                        .without = without,
                        .words = fmt::format(" --plan {} --offset {}", shell_quote(plan), offset)});
      jobs_.note(store, job, part);
      chosen_of_[job] = {choice.chosen.begin(), choice.chosen.end()};
      night_.progress.say(fmt::format("job {}: block{} {} on {}", job, part.size() == 1 ? "" : "s",
                                      blocks_text(part), nodes_without(choice, without)));
    }
  }
}

}  // namespace dvfs_plan
