// dvfs-plan merge: results of one plan, made by hand on several machines, as one result of all of them.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/removed_on_signal.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/error_of_file.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/compare/comparison.hpp"
#include "results/report/conclusions.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

struct MergeOptions : CommonOptions {
  std::vector<std::string> files;
  std::string output;
};

// "NODE=FILE": what the file's machine is called.
struct Named {
  std::string node, file;
};
Named named(const std::string& word) {
  const auto sign = word.find('=');
  if (sign == std::string::npos || std::filesystem::exists(word)) return {"", word};
  if (sign == 0)
    throw Error(ExitCode::bad_experiment,
                fmt::format("merge: '{}' names no machine in front of '='", printable(word)),
                "NODE=FILE says what the file's machine is called; FILE alone: by its host name");
  return {word.substr(0, sign), word.substr(sign + 1)};
}

std::string machine_of(Store& store) {
  const auto facts = store.machine_facts();
  const auto host = facts.find("host");
  return host == facts.end() ? "" : host->second;
}

void require_alike(Store& first, const std::string& first_file, Store& other, const std::string& file) {
  // What is only asked of the trials, or what the experiment is called, makes them no others.
  const PlanChange change = plan_change(first.canonical_plan(), other.canonical_plan());
  if (!change.adds.empty() || !change.drops.empty() || !change.incomparable.empty()) {
    const auto differences = plan_differences(first.canonical_plan(), other.canonical_plan());
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} and {} are of different plans:\n  {}", first_file, file,
                            printable(join(differences, "\n  "), true)),
                "`dvfs-plan compare` sets results of different plans beside each other");
  }
  auto differences = differences_of_type(first.machine_facts(), other.machine_facts());
  if (!differences.empty())
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} and {} are of different types of machine:\n  {}", first_file, file,
                            printable(join(differences, "\n  "), true)),
                "an answer is for one type; `dvfs-plan compare` sets them beside each other");
  if (first.energy_source() != other.energy_source())
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} counts the energy of {}, {} that of {}", first_file, first.energy_source(),
                            file, other.energy_source()),
                "write  objective: {of: DOMAIN}  and run one of them again");
  const auto sensors = first.energy_sensors(), others = other.energy_sensors();
  if (sensors != others && !sensors.empty() && !others.empty())
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("{} has its energy by {}, {} by {}: by how much two meters of one thing differ is in "
                    "no interval",
                    first_file, printable(join(sensors, " + ")), file, printable(join(others, " + "))),
        "run one of them again with the meter of the other; `dvfs-plan compare` sets them beside each "
        "other");
}

int trials_of_rechecks(Store& store) {
  Statement s = store.database().prepare(
      "SELECT count(*) FROM trial WHERE session_id IN (SELECT id FROM session WHERE recheck)");
  s.step();
  return static_cast<int>(s.integer(0));
}

// A night and what it was once, or a merged result and one that is in it: which trials count would hang on their order.
void refuse_shared_trials(std::vector<Store>& results, const std::vector<Named>& files) {
  std::vector<ComparedResult> trials;
  for (std::size_t i = 0; i < files.size(); ++i) {
    trials.emplace_back().trials = results[i].trials();
    for (std::size_t k = 0; k < i; ++k) {
      const auto shared = trial_in_both(trials[k], trials[i]);
      if (!shared) continue;
      throw Error(ExitCode::bad_experiment,
                  fmt::format("{} and {} have trials in common (the first is {}): they are one night, one "
                              "holds the other, or both went on from a copy",
                              files[k].file, files[i].file, printable(*shared)),
                  "name each night once, the whole of it; nothing was written");
    }
  }
}

// What one machine ran twice is no second machine.
void refuse_one_machine_twice(std::vector<Store>& results, const std::vector<Named>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const auto board = board_of_both(results[k].machine_facts(), results[i].machine_facts());
      if (!board) continue;
      throw Error(ExitCode::bad_experiment,
                  fmt::format("{} and {} ran on the same board ({}): they are of one machine", files[k].file,
                              files[i].file, printable(*board)),
                  "nights of one machine are compared, not merged; nothing was written");
    }
  }
}

int merge_command(const MergeOptions& options) {
  if (options.files.size() < 2)
    throw Error(ExitCode::bad_experiment, "merge needs two results at least",
                "dvfs-plan merge a.sqlite b.sqlite -o all.sqlite");
  refuse_a_result_of_such_a_name(options.output);
  if (std::filesystem::exists(options.output))
    throw Error(ExitCode::machine_refuses, fmt::format("{} is there already", options.output),
                "choose another place with --output");
  const std::filesystem::path folder = std::filesystem::absolute(options.output).parent_path();
  if (!std::filesystem::is_directory(folder))
    throw Error(ExitCode::machine_refuses,
                fmt::format("--output {}: {} is no folder", options.output, folder.string()),
                "make it, or choose another place with --output");
  // SQLite would play it over what is merged.
  for (const std::string& file : database_files(options.output)) {
    if (std::filesystem::exists(std::filesystem::symlink_status(file)))
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{} is there, and may hold the last trials of a result that was moved away", file),
          "put it beside that result, under its name, or choose another place with --output");
  }
  std::vector<Named> files;
  for (const std::string& word : options.files) files.push_back(named(word));
  // All is read before anything is written.
  std::vector<Store> results;
  std::set<std::string> names,
      of_several;  // of single machines' files; of those that are in files of several
  const auto read = [&](Named& one) {
    results.push_back(Store::open(one.file, Database::Mode::read_only));
    const auto runs = block_runs(results.back());
    if (!runs.empty() && !one.node.empty())
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("{} is of several machines already, which keep their names: '{}' names none of them",
                      one.file, one.node),
          fmt::format("leave out '{}='; nothing was written", one.node));
    if (one.node.empty()) one.node = machine_of(results.back());
    bool is_new = !runs.empty() || (names.insert(one.node).second && !of_several.contains(one.node));
    for (const BlockRun& run : runs) {
      of_several.insert(run.node);
      if (names.contains(run.node)) {
        one.node = run.node;
        is_new = false;
      }
    }
    if (!is_new)
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("{}: its machine is called '{}', as that of a file before it", one.file, one.node),
          "give each a name:  dvfs-plan merge left=a.sqlite right=b.sqlite -o all.sqlite; nights of one "
          "machine are "
          "compared, not merged");
    require_alike(results.front(), files.front().file, results.back(), one.file);
    // What is merged gets checksums of its own: a damaged trial would pass for a sound one.
    for (const std::string& damaged :
         {results.back().damaged_text(), results.back().damaged_readings_text()}) {
      if (damaged.empty()) continue;
      throw Error(ExitCode::machine_refuses, fmt::format("{}: {}", one.file, damaged),
                  "copy it again from where it was made, or leave it out; nothing was written");
    }
  };
  for (Named& one : files) {
    try {
      read(one);
    } catch (const Error& error) {
      throw error_of_file(one.file, error);
    }
  }
  refuse_shared_trials(results, files);
  refuse_one_machine_twice(results, files);
  const std::string unfinished = options.output + ".new";
  Store::remove_unfinished(unfinished);
  Store::Progress merged;
  const RemovedOnSignal go_with_us(database_files(unfinished));
  try {
    std::filesystem::copy_file(files.front().file, unfinished);
    Store::fold_log(unfinished);
    Store all = Store::open(unfinished, Database::Mode::read_write);
    {
      Transaction transaction(all.database());
      forget_trials(all);
      PartTaker taker(all);
      int planned = 0;
      for (std::size_t i = 0; i < files.size(); ++i) {
        planned += results[i].experiment().planned_trials;
        if (taker.take_result(results[i], files[i].node) > 0 || results[i].progress().finished == 0) continue;
        throw Error(
            ExitCode::bad_experiment,
            fmt::format("{} holds no trial that is not in the results before it: it is the same night",
                        files[i].file),
            "name each result once; nothing was written");
      }
      taker.settle();
      // Each has its own file's objective: what is asked is the first one's.
      const ExperimentRow asked = all.experiment();
      all.ask_of_trials(
          [&](const std::string& workload) { return std::optional(asked.objective_for(workload)); });
      note_planned_trials(all, planned);
      transaction.commit();
    }
    conclude(all);
    merged = all.progress();
    all.seal();
  } catch (const std::exception&) {
    remove_database(unfinished);
    throw;
  }
  std::filesystem::rename(unfinished, options.output);
  const int stay = std::accumulate(results.begin(), results.end(), 0,
                                   [](int sum, Store& one) { return sum + trials_of_rechecks(one); });
  if (options.json) {
    const nlohmann::ordered_json json{{"result", options.output},
                                      {"results", files.size()},
                                      {"finished_trials", merged.finished},
                                      {"planned_trials", merged.planned},
                                      {"recheck_trials_left_out", stay}};
    write_answer(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
    return static_cast<int>(ExitCode::done);
  }
  write_answer(fmt::format("{} of {} trials of {} results are in {}\n", merged.finished, merged.planned,
                           files.size(), options.output));
  if (stay > 0)
    write_answer(fmt::format("{} of rechecks {} in {} own files: a recheck is of one machine's answer\n",
                             counted(stay, "trial"), stay == 1 ? "stays" : "stay",
                             stay == 1 ? "its" : "their"));
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> merge(
    {.name = "merge",
     .place = 75,
     .what = "joins results of one plan that were made on several machines of a type",
     .examples = "dvfs-plan merge n1=before.sqlite n2=after.sqlite -o both.sqlite\n"
                 "dvfs-plan merge m1=a1.sqlite m2=b1.sqlite --output all.sqlite",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<MergeOptions>();
       app.add_option("RESULTS", options->files, "result files, each as FILE or NAME=FILE")->required();
       app.add_option("-o,--output", options->output, "the result file to write")->required();
       return declared(app, options, merge_command);
     }});

}  // namespace
}  // namespace dvfs_plan
