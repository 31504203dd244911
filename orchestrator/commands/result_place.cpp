#include "orchestrator/commands/result_place.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/page/page_shell.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {

std::string result_path(const std::string& output, const Experiment& experiment) {
  std::string path = output;
  if (path.empty() && experiment.result)
    path = (std::filesystem::path(experiment.folder) / experiment.result->text).string();
  if (path.empty()) path = experiment.name + ".sqlite";
  refuse_a_result_of_such_a_name(path);
  // The folder's links are the user's own business; the file itself must not be one.
  std::error_code error;
  const auto folder = std::filesystem::canonical(std::filesystem::absolute(path).parent_path(), error);
  if (error)
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: its folder: {}", path, error.message()),
                "make the folder, or choose another place with --output");
  const ActingAs owner(invoking_owner());
  if (!std::filesystem::exists(path, error) &&
      ::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw Error(
        ExitCode::machine_refuses,
        system_error_text("create result file " + (folder / std::filesystem::path(path).filename()).string(),
                          errno),
        "choose another place with --output");
  return (folder / std::filesystem::path(path).filename()).string();
}

std::string beside_result(const std::string& path, std::string_view ending) {
  constexpr std::string_view of_results = ".sqlite";
  return (path.ends_with(of_results) ? path.substr(0, path.size() - of_results.size()) : path) +
         std::string(ending);
}

std::string aside_stem(const std::string& path, const Clock& clock) {
  std::string stamp = clock.wall_time();
  std::replace(stamp.begin(), stamp.end(), ':', '-');
  // A long name is cut: what lies beside it has a longer one yet.
  const std::string behind = "." + stamp, longest_ending = ".sqlite-journal";
  const std::string stem = beside_result(path, "");
  const std::size_t name = stem.rfind('/') == std::string::npos ? 0 : stem.rfind('/') + 1;
  return stem.substr(0, name) + cut_to(stem.substr(name), NAME_MAX - behind.size() - longest_ending.size()) +
         behind;
}

std::string move_aside(const std::string& path, const std::string& stem) {
  const std::string aside = stem + ".sqlite";
  std::filesystem::rename(path, aside);
  std::error_code none;
  const std::string page = beside_result(path, ".html");
  if (is_page(page)) std::filesystem::rename(page, stem + ".html", none);  // another is not ours to move
  return aside;
}

std::vector<std::string> resume_obstacles(Store& store, const Plan& plan,
                                          const std::map<std::string, std::string>& facts) {
  std::vector<std::string> differences;
  if (store.plan_hash() != plan.hash) differences = plan_differences(store.canonical_plan(), plan.canonical);
  for (std::string& difference : decisive_differences(store.machine_facts(), facts))
    differences.push_back(std::move(difference));
  return differences;
}

namespace {

// Keys of the points that savings of each scenario were against before the file changed for the first time, whatever files named since; of a
// scenario that came later, those of now.
std::set<std::string> first_references(Store& store) {
  std::set<std::string> first;
  if (const auto stages = store.stages().stages; !stages.empty())
    first.insert(stages.front().references.begin(), stages.front().references.end());
  std::set<std::string> keys, known;  // scenarios
  const std::vector<PointRow> points = store.points();
  for (const PointRow& point : points) {
    if (!first.contains(point.key)) continue;
    keys.insert(point.key);
    known.insert(point.scenario);
  }
  for (const PointRow& point : points) {
    if (point.is_reference && !known.contains(point.scenario)) keys.insert(point.key);
  }
  return keys;
}

// Blocks that are there have the reference that they were run with; and the file as it was at first says what it said at first.
void keep_references(Store& store, Plan& plan) {
  if (!plan.experiment.reference.empty()) return;
  const std::set<std::string> stored = first_references(store);
  // Where several scenarios became one, each of their references would be one of it: then as the file says.
  std::map<std::string, int> kept;  // by scenario
  for (const PlanPoint& point : plan.points) kept[point.scenario] += stored.contains(point.key) ? 1 : 0;
  for (PlanPoint& point : plan.points) {
    if (kept[point.scenario] == 1) point.reference = stored.contains(point.key);
  }
}

std::string trials_text(Store& store) {
  std::map<std::string, int> trials;
  for (const TrialRow& trial : store.trials())
    trials[trial.workload] += trial.role == TrialRole::warm_up || !trial.left_out.empty() ? 0 : 1;
  std::vector<std::string> texts;
  for (const auto& [workload, count] : trials)
    texts.push_back(fmt::format("{} of {}", count, printable(workload)));
  return texts.empty() ? "no trial" : "trials: " + join(texts, ", ");
}

[[noreturn]] void refuse_changes(Store& store, const std::vector<std::string>& differences,
                                 const std::string& path) {
  std::string message = fmt::format("{} holds trials of another plan; what changed:", path);
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i)
    message += "\n  " + printable(differences[i]);
  if (differences.size() > most) message += fmt::format("\n  ... and {} more", differences.size() - most);
  message += fmt::format("\n  it has {}", trials_text(store));
  throw Error(ExitCode::bad_experiment, message,
              "undo the change to resume, use --fresh to start a new result (the old one is kept), or "
              "--output for another file");
}

}  // namespace

void require_same_plan(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts,
                       const std::string& path) {
  const auto differences = resume_obstacles(store, plan, facts);
  if (differences.empty()) return;
  refuse_changes(store, differences, path);
}

PlanChange change_since(Store& store, Plan& plan, const std::map<std::string, std::string>& facts,
                        const std::string& path) {
  PlanChange change = change_between(store, plan, decisive_differences(store.machine_facts(), facts), path);
  // Whose machine would further trials be of?
  if (plan.experiment.slurm) return change;
  const Store::Progress so_far = store.progress();
  const bool is_left = !plan.experiment.search.one_by_one() && so_far.finished < so_far.planned;
  if (const auto jobs = submissions(store); !jobs.empty() && (is_left || !change.adds.empty()))
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} is of a cluster's nodes (job {} was submitted for it), and the experiment has "
                    "no 'machines: slurm' any more",
                    path, printable(jobs.back().job)),
        "nothing was run; with 'machines' in the file again the same command collects what the nodes "
        "finish; here it runs with another --output");
  if (block_runs(store).empty()) return change;
  const char* const next = "nothing was run; go on with each machine's own result, and merge them again";
  if (!change.adds.empty())
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} is of several machines ('merge'), and the experiment asks for further trials: {}",
                    path, printable(join(change.adds, "; "))),
        next);
  if (is_left)
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} is of several machines ('merge'), and {} of its {} trials are still to be run", path,
                    so_far.planned - so_far.finished, so_far.planned),
        next);
  return change;
}

PlanChange change_between(Store& store, Plan& plan, const std::vector<std::string>& differences,
                          const std::string& path) {
  PlanChange change;
  if (store.plan_hash() != plan.hash) change = plan_change(store.canonical_plan(), plan.canonical);
  std::vector<std::string> obstacles = change.incomparable;
  obstacles.insert(obstacles.end(), differences.begin(), differences.end());
  if (!obstacles.empty()) refuse_changes(store, obstacles, path);
  keep_references(store, plan);
  return change;
}

std::vector<std::string> change_lines(const PlanChange& change) {
  std::vector<std::string> lines;
  for (const auto& [what, texts] : {std::pair{"asked otherwise", &change.asks},
                                    {"added", &change.adds},
                                    {"no more in the experiment", &change.drops}}) {
    if (!texts->empty()) lines.push_back(fmt::format("{}: {}", what, printable(join(*texts, "; "))));
  }
  if (!change.drops.empty()) lines.emplace_back("its trials stay in the result, and do not count");
  return lines;
}

void follow_result(Store& store, Plan& plan) {
  std::set<std::string> references;
  for (const PointRow& point : store.points()) {
    if (point.is_reference) references.insert(point.key);
  }
  for (PlanPoint& point : plan.points) point.reference = references.contains(point.key);
  const Store::Stages stages = store.stages();
  if (!stages.stages.empty() && !plan.experiment.search.one_by_one())
    schedule_stages(plan, stages.stages, stages.of_point);
  store.use_plan(plan);
}

}  // namespace dvfs_plan
