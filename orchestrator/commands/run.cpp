// dvfs-plan FILE.yaml: here or on a cluster, as the file says; submit and collect do the parts for those who log out.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/cluster_experiment.hpp"
#include "orchestrator/commands/cluster_run.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/experiment_text.hpp"
#include "orchestrator/commands/run_here.hpp"
#include "orchestrator/commands/stored_experiment.hpp"
#include "orchestrator/commands/vocabulary.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

struct NightOptions : RunOptions {
  bool cancel = false;
  std::string log_to = "none";
};

int run_blocks(const RunOptions& options, ClusterOptions::Do what, const Experiment& experiment) {
  ClusterOptions cluster;
  static_cast<RunOptions&>(cluster) = options;
  cluster.what = what;
  return run_on_cluster(cluster, experiment);
}

// The result that was submitted with this file, where that cannot be read any more (it is being edited): what is asked of its tasks
// goes by the result alone. Empty: there is none here.
std::string submitted_result(const RunOptions& options) {
  namespace fs = std::filesystem;
  const std::string file = fs::absolute(options.file).lexically_normal().string();
  std::vector<std::string> candidates;
  if (!options.output.empty()) candidates.push_back(options.output);
  std::error_code none;
  if (options.output.empty()) {
    for (const auto& entry : fs::directory_iterator(".", none)) {
      if (entry.path().extension() == ".sqlite") candidates.push_back(entry.path().filename().string());
    }
  }
  // Of several (one that was set aside by --fresh, one that was rescued) the one that was submitted last.
  std::string newest, submitted_at;
  for (const std::string& candidate : candidates) {
    try {
      Store store = Store::open(candidate, Database::Mode::read_only);
      Statement source = store.database().prepare("SELECT source_file FROM experiment");
      const auto all = submissions(store);
      if (all.empty() || !source.step() || (source.text(0) != file && options.output.empty())) continue;
      const auto last = std::max_element(
          all.begin(), all.end(),
          [](const Submission& a, const Submission& b) { return a.submitted_at < b.submitted_at; });
      if (newest.empty() || last->submitted_at > submitted_at) {
        newest = candidate;
        submitted_at = last->submitted_at;
      }
    } catch (const Error&) {  // somebody else's file
    }
  }
  return newest;
}

int on_cluster(const RunOptions& options, ClusterOptions::Do what) {
  Diagnostics diagnostics(options.file);
  const auto experiment = parse_experiment(read_experiment_file(options.file), options.file,
                                           registered_vocabulary(), diagnostics);
  // What was submitted decides what is cancelled: a file that is being edited will do for its name.
  if (what == ClusterOptions::Do::cancel && experiment && experiment->slurm)
    return run_blocks(options, what, *experiment);
  if (diagnostics.has_errors()) {
    const std::string result = what == ClusterOptions::Do::submit ? std::string() : submitted_result(options);
    if (!result.empty()) {
      const Experiment submitted = [&] {
        Store store = Store::open(result, Database::Mode::read_only);
        return stored_experiment(store, options.file);
      }();
      if (submitted.slurm && !submitted.slurm->each_type) {
        RunOptions of_result = options;
        of_result.output = result;
        if (!options.quiet)
          write_stderr(fmt::format("note: {} has faults now; this is of what was submitted\n", options.file));
        return run_blocks(of_result, what, submitted);
      }
    }
    std::string text = diagnostics.text();
    text.pop_back();
    throw Error(ExitCode::bad_experiment, text, "nothing was submitted");
  }
  if (!experiment || !experiment->slurm)
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} says of no cluster: it runs on the machine where it is started", options.file),
        "add  machines: {slurm: {partition: ..., nodes: ...}}  to run its blocks on nodes");
  return run_blocks(options, what, *experiment);
}

int run_command(const NightOptions& given) {
  NightOptions options = given;
  options.log = given.log_to == "journal"  ? LogTo::journal
                : given.log_to == "stderr" ? LogTo::stderr_lines
                                           : LogTo::none;
  if (options.cancel) return on_cluster(options, ClusterOptions::Do::cancel);
  if (const auto experiment = cluster_experiment(options.file)) {
    if (!options.metrics.empty() || options.log != LogTo::none)
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("--metrics and --log are of a run on one machine, and {} runs on a cluster's nodes",
                      options.file),
          "dvfs-plan status RESULT --watch --json  says how far it is, as often as it is asked");
    return run_blocks(options, ClusterOptions::Do::all, *experiment);
  }
  return run_here(options);
}

int submit_command(const RunOptions& options) {
  return on_cluster(options, ClusterOptions::Do::submit);
}

int collect_command(const RunOptions& options) {
  return on_cluster(options, ClusterOptions::Do::collect);
}

void declare_options(CLI::App& app, RunOptions& options) {
  app.add_option("-o,--output", options.output, "the result file (default: NAME.sqlite here)");
  app.add_flag("--quiet", options.quiet, "no progress on stderr");
}

const Registered<CommandKind> submit(
    {.name = "submit",
     .place = 25,
     .what = "submits an experiment with 'machines: slurm' to the cluster, and returns",
     .examples = "dvfs-plan submit night.yaml\n"
                 "dvfs-plan submit night.yaml --fresh",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<RunOptions>();
       app.add_option("FILE", options->file, "the experiment")->required();
       declare_options(app, *options);
       app.add_flag("--fresh", options->fresh, "start a new result; the old file is kept under another name");
       return declared(app, options, submit_command);
     }});

const Registered<CommandKind> collect(
    {.name = "collect",
     .place = 26,
     .what = "takes what the cluster's nodes have finished into the result, and reports",
     .examples = "dvfs-plan collect night.yaml\n"
                 "dvfs-plan collect night.yaml --no-html",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<RunOptions>();
       app.add_option("FILE", options->file, "the experiment that was submitted")->required();
       declare_options(app, *options);
       app.add_flag("--no-html", options->no_html, "do not write the page NAME.html beside the result");
       return declared(app, options, collect_command);
     }});

}  // namespace

DeclaredCommand declare_run(CLI::App& app) {
  const auto options = std::make_shared<NightOptions>();
  app.add_option("FILE", options->file, "the experiment to run, or to go on with");
  declare_options(app, *options);
  app.add_flag("--fresh", options->fresh, "start a new result; the old file is kept under another name");
  app.add_flag("--wait", options->wait,
               "where another sweep has the machine, be next instead of being refused");
  app.add_flag("--no-html", options->no_html, "do not write the page NAME.html beside the result");
  app.add_option(
      "--metrics", options->metrics,
      "serve what the night is at, as OpenMetrics text: [ADDRESS:]PORT (127.0.0.1 unless told) or unix:PATH");
  app.add_option("--log", options->log_to,
                 "besides, a line a trial and a fault: into the system's journal, or to stderr with time and "
                 "severity")
      ->check(CLI::IsMember({"none", "journal", "stderr"}));
  app.add_flag("--cancel", options->cancel, "of an experiment that a cluster runs: end its jobs");
  return declared(app, options, run_command);
}

}  // namespace dvfs_plan
