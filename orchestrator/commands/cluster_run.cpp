#include "orchestrator/commands/cluster_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "experiments/plan/yaml_tree.hpp"
#include "orchestrator/cluster/node_choice.hpp"
#include "orchestrator/cluster/slurm.hpp"
#include "orchestrator/commands/cluster_night.hpp"
#include "orchestrator/commands/result_place.hpp"
#include "orchestrator/commands/vocabulary.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

std::string path_of_type(const std::string& path, const std::string& type) {
  if (type.empty()) return path;
  return beside_result(path, fmt::format(".{}.sqlite", type));
}

// "2 CPUs (1:2:1), 1000 MB, (null), features big" as part of a file's name: 2-cpus-1-2-1-1000-mb-features-big.
std::string type_name(const std::string& hardware) {
  std::vector<std::string> words(1);
  for (const char c : hardware) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
      words.back() += c;
    else if (c >= 'A' && c <= 'Z')
      words.back() += static_cast<char>(c - 'A' + 'a');
    else
      words.emplace_back();
  }
  std::erase_if(words, [](const std::string& word) { return word.empty() || word == "null"; });
  constexpr std::size_t most = 60, of_sum = 6;
  std::string name = join(words, "-");
  if (name.size() > most) name = name.substr(0, most) + "-" + sha256(hardware).substr(0, of_sum);
  return name;
}

struct Submitted {
  Experiment experiment;
  bool grows = false;  // it is the file as it is now, and the result was submitted with another one
};

// What a result was submitted with is what its tasks run, whatever the file holds by now. Who would submit more of it means the same, or adds.
Submitted as_submitted(const ClusterOptions& options, const std::string& path, const Experiment& file) {
  if (options.fresh || ::access(path.c_str(), F_OK) != 0) return {file};
  std::string text;
  {
    Store store = Store::open(path, Database::Mode::read_only);
    Statement source = store.database().prepare("SELECT source_text FROM experiment");
    if (source.step()) text = source.text(0);
  }
  if (text == file.text) return {file};
  Diagnostics faults(file.file), none(file.file);
  auto submitted = parse_experiment(text, file.file, registered_vocabulary(), faults);
  if (!submitted || faults.has_errors() || !submitted->slurm)
    throw Error(ExitCode::bad_experiment, fmt::format("{} is not of an experiment that a cluster runs", path),
                "choose another place with --output");
  const bool adds = options.what == ClusterOptions::Do::all || options.what == ClusterOptions::Do::submit;
  if (adds) {
    const YamlPointer now = parse_yaml(file.text, none), then = parse_yaml(text, none);
    const bool same = now && then && say_the_same(*now, *then);
    if (!same && !file.search.one_by_one() && !submitted->search.one_by_one()) return {file, true};
    // Its nodes go by what all of them handed in of one plan.
    if (!same)
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("{} is a search over nodes, and was submitted with another {}", path, file.file),
          fmt::format(
              "undo the change, or end its tasks with --cancel and submit anew with --fresh (the old "
              "result is kept), or choose another file with --output; `dvfs-plan collect {}` takes what "
              "was submitted as it was",
              shell_quote(options.file)));
  } else if (!options.quiet && options.what == ClusterOptions::Do::collect) {
    write_stderr(fmt::format("note: {} has changed since it was submitted; this is of what was submitted\n",
                             file.file));
  }
  return {std::move(*submitted)};
}

int run_night(const ClusterOptions& options, const Experiment& file, int most_nodes) {
  const std::string path = path_of_type(result_path(options.output, file), options.type);
  auto [experiment, grows] = as_submitted(options, path, file);
  SlurmSpec& spec = *experiment.slurm;
  spec.nodes = std::min(spec.nodes, most_nodes);
  if (spec.at_once) spec.at_once = std::min(*spec.at_once, spec.nodes);
  return run_cluster_night(options, path, experiment, grows);
}

// Each type is an experiment of its own with the same file: the blocks of all are submitted before those of the first are
// waited for.
int run_each_type(const ClusterOptions& options, const Experiment& experiment) {
  std::map<std::string, std::vector<std::string>> types;
  std::map<std::string, bool> works;
  for (const SlurmNode& node : Slurm().nodes(experiment.slurm->partition)) {
    if (has_feature(*experiment.slurm, node)) types[node.hardware].push_back(node.name);
    works[node.hardware] = works[node.hardware] || node.works(!experiment.slurm->reservation.empty());
  }
  std::vector<std::string> results;
  std::optional<Error> refused;  // the first of them; it keeps no other type from its turn
  const auto run_all = [&](ClusterOptions::Do what, bool says, bool fresh) {
    int worst = static_cast<int>(ExitCode::done);
    for (const auto& [hardware, nodes] : types) {
      const std::string path = result_of_type(result_path(options.output, experiment), hardware);
      const bool begun = ::access(path.c_str(), F_OK) == 0;
      // Of one that was never submitted there is nothing to collect or to end; one without a node that works waits for one.
      if (!begun &&
          (!works[hardware] || (what != ClusterOptions::Do::submit && what != ClusterOptions::Do::all))) {
        if (!options.quiet)
          write_stderr(
              fmt::format("{}: {}: left out: {}\n", join(nodes, ","), printable(hardware),
                          works[hardware] ? "it was not submitted" : "none of these nodes works now"));
        continue;
      }
      ClusterOptions mine = options;
      mine.type = type_name(hardware);
      mine.nodes_of_type = nodes;
      mine.what = what;
      mine.says_how_to_collect = says;
      mine.fresh = fresh;
      if (!options.quiet && !options.json)
        write_stderr(fmt::format("{}: {}\n", join(nodes, ","), printable(hardware)));
      int code = static_cast<int>(ExitCode::done);
      try {
        code = run_night(mine, experiment, static_cast<int>(nodes.size()));
      } catch (const Error& error) {
        if (!refused) refused = error;
        continue;
      }
      worst = std::max(worst, code);
      results.push_back(path);
      if (code == static_cast<int>(ExitCode::interrupted)) break;
    }
    return worst;
  };
  if (options.what != ClusterOptions::Do::all) {
    const int code = run_all(options.what, true, options.fresh);
    if (refused) throw Error(*refused);
    return code;
  }
  if (const int code = run_all(ClusterOptions::Do::submit, false, options.fresh);
      code != static_cast<int>(ExitCode::done))
    return code;
  results.clear();
  refused.reset();
  const int code = run_all(ClusterOptions::Do::all, true, false);
  if (refused) throw Error(*refused);
  if (results.size() == 2 && !options.quiet)
    write_stderr(fmt::format("`dvfs-plan compare {} {}` compares the two types\n", shell_quote(results[0]),
                             shell_quote(results[1])));
  return code;
}

}  // namespace

int run_on_cluster(const ClusterOptions& options, const Experiment& experiment) {
  if (experiment.slurm->each_type) return run_each_type(options, experiment);
  return run_night(options, experiment, experiment.slurm->nodes);
}

std::string result_of_type(const std::string& path, const std::string& hardware) {
  return path_of_type(path, type_name(hardware));
}

std::string how_it_goes_on(const Experiment& experiment, const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return {};
  ClusterOptions options;
  options.file = experiment.file;
  return as_submitted(options, path, experiment).grows
             ? " (exists: once the tasks of what was submitted have ended, the same command adds what the "
               "file has now)"
             : " (exists: the same command goes on with it)";
}

}  // namespace dvfs_plan
