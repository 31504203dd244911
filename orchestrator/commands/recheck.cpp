// dvfs-plan recheck: does the answer still stand? Runs the best, its rivals and the reference again on the machine that the result is of.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/page_beside.hpp"
#include "orchestrator/commands/run_here.hpp"
#include "orchestrator/commands/stored_experiment.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "orchestrator/strategies/recheck_blocks.hpp"
#include "results/compare/recheck.hpp"
#include "results/report/finalists.hpp"
#include "results/report/report.hpp"
#include "results/report/text_table.hpp"
#include "results/store/parts.hpp"

namespace dvfs_plan {
namespace {

struct RecheckOptions : CommonOptions {
  std::string workload, budget = "10 min", experiment;
  int blocks = 5;
  bool quiet = false, no_html = false, wait = false;
};

Seconds budget_of(const std::string& text) {
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->dimension != Dimension::time || quantity->value <= 0)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--budget {}: wanted a time above 0, such as '10 min'{}", printable(text),
                            unit_hint(text, Dimension::time)),
                "nothing was run");
  return Seconds{quantity->value};
}

class Recheck : public RunPart {
 public:
  explicit Recheck(const RecheckOptions& options) : options_(options), budget_(budget_of(options.budget)) {
    std::error_code error;
    file_ = std::filesystem::canonical(options.file, error).string();
    if (error) file_ = options.file;
    const ActingAs owner(invoking_owner());
    Store store = Store::open(file_, Database::Mode::read_only);
    store.hold_snapshot();
    if (!block_runs(store).empty())
      throw Error(
          ExitCode::machine_refuses,
          fmt::format("{} is of several machines: there is none on which it could be run again by itself",
                      options.file),
          "sweep one of its nodes alone, or the partition again, and compare the two: dvfs-plan compare "
          "BEFORE AFTER");
    ExperimentPlace place = experiment_place(store, file_, options.experiment);
    experiment_ = std::move(place.file);
    was_in_ = std::move(place.was_in);
    look_at(store);
    there_ = store.machine_facts();
    hash_ = store.plan_hash();
    canonical_ = store.canonical_plan();
    text_ = store.experiment_file();
  }

  // The experiment's file, which need not be there any more; programs that it names by their way are sought from its folder.
  const std::string& experiment() const { return experiment_; }
  const std::string& text() const { return text_; }

  std::string file() const override { return file_; }
  std::string energy_source() const override { return {}; }
  bool apart() const override { return true; }

  void require(const Plan& plan, const std::map<std::string, std::string>& facts) override {
    if (const auto kind = differences_of_kind(there_, facts); !kind.empty())
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{} was measured on another kind of machine:\n  {}", options_.file,
                              printable(join(kind, "\n  "), true)),
                  "nothing was run; recheck it where it was measured, or sweep here and compare the two");
    if (plan.hash != hash_ && !is_moved(plan)) {
      std::vector<std::string> differences = plan_differences(canonical_, plan.canonical);
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("what {} ran is not the same any more:\n  {}", options_.file,
                      printable(join(differences, "\n  "), true)),
          "nothing was run; undo that, or sweep again and compare the two: dvfs-plan compare BEFORE AFTER");
    }
    // Programs are in the plan's hash; other files that a command names are not.
    std::vector<std::string> files;
    for (const auto& [name, digest] : there_) {
      const std::string_view begin = file_fact_of(name);
      if (begin.empty()) continue;
      const auto now = now_of(facts, name, plan.experiment.folder);
      if (now == facts.end())
        files.push_back(name.substr(begin.size()) + " is not there");
      else if (now->second != digest)
        files.push_back(name.substr(begin.size()) + " is another file by now");
    }
    if (!files.empty())
      throw Error(ExitCode::bad_experiment,
                  fmt::format("what {} worked on is not the same any more:\n  {}", options_.file,
                              printable(join(files, "\n  "), true)),
                  "nothing was run; put it back (or say where the experiment's file is: --experiment FILE), "
                  "or sweep again and compare the two");
    for (const std::string& difference : differences_of_state(there_, facts)) {
      differences_.push_back(difference);
      if (!options_.quiet)
        write_stderr(fmt::format("dvfs-plan: note: since then: {}\n", printable(difference)));
    }
  }

  std::unique_ptr<Strategy> strategy(StrategyRequest request, Interruption&) override {
    std::vector<int> points;
    for (std::size_t i = 0; i < request.plan.points.size(); ++i) {
      if (chosen_.contains(request.plan.points[i].key)) points.push_back(static_cast<int>(i));
    }
    auto blocks = std::make_unique<RecheckBlocks>(request.plan, std::move(points), first_block_,
                                                  first_position_, options_.blocks, budget_);
    const Seconds length = blocks->length_of_a_block(
        [&](int point) {
          const auto mine = slots_.find(request.plan.points[static_cast<std::size_t>(point)].key);
          return mine == slots_.end() ? 0 : mine->second;
        },
        window_);
    if (length.value() > budget_.value())
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("--budget {}: a block of the best, its rivals and the reference takes about {}, "
                      "as the night's trials did",
                      printable(options_.budget), format_duration(length)),
          "nothing was run; give it more time");
    return blocks;
  }
  // Nobody else writes the file from here on: what was read before may be older than what is in it.
  void begun(Store& store, const std::map<std::string, std::string>&) override {
    if (store.plan_hash() != hash_)
      throw Error(ExitCode::bad_experiment,
                  fmt::format("{} grew while this waited for the machine", options_.file),
                  "nothing was run; the same command looks at it as it is now");
    look_at(store);
  }
  void finished(Store&, const TrialRecord&) override {}

  int ended(Store& store, RunEnd how, const std::string& but) override {
    const std::vector<std::int64_t> ids = store.trials_of_this_session();
    const std::set<std::int64_t> mine(ids.begin(), ids.end());
    const std::vector<TrialRow> all = store.trials();
    std::vector<TrialRow> again;
    for (const TrialRow& trial : all) {
      if (!mine.contains(trial.id)) continue;
      again.push_back(trial);
      again.back().left_out.clear();
    }
    const Summary night = summary_of(store, all);
    const auto rows = judge_recheck(night, all, again);
    // First of all it is said: what follows may find a full disk. Where it cannot be said it is kept all the same.
    std::string text = recheck_text(night, rows);
    for (const std::string& difference : differences_)
      text += fmt::format("since then: {}\n", printable(difference));
    std::optional<AnswerNotWritten> unsaid;
    try {
      write_answer(options_.json ? recheck_json(rows) : wrapped(text, answer_columns()));
    } catch (const AnswerNotWritten& error) {
      unsaid = error;
    }
    const bool kept = keep(store, rows, all);
    if (unsaid)
      throw Error(unsaid->code(), unsaid->what(),
                  fmt::format("{} {}", unsaid->hint(),
                              kept ? "What was found is kept: dvfs-plan report " + shell_quote(file_)
                                   : "What was found is lost; what was run is kept"));
    if (how == RunEnd::interrupted) {
      write_stderr(fmt::format(
          "dvfs-plan: interrupted; the settings are as before{}, and what was run is kept\n", but));
      return static_cast<int>(ExitCode::interrupted);
    }
    if (how == RunEnd::gave_up) return static_cast<int>(ExitCode::gave_up);
    const auto any = [&](const char* verdict) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const RecheckRow& row) { return row.verdict == verdict; });
    };
    if (store.path() != file_ && !store.path().empty()) {
      write_stderr(fmt::format("warning: {} was lost meanwhile; all of it is in {}\n", file_, store.path()));
      return static_cast<int>(ExitCode::result_rescued);
    }
    if (any(has_changed)) return static_cast<int>(ExitCode::some_trials_failed);
    if (rows.empty() || any(not_known_yet)) return static_cast<int>(ExitCode::not_known);
    return static_cast<int>(ExitCode::done);
  }

 private:
  // The same plan in another folder: it names programs by their absolute way.
  bool is_moved(const Plan& plan) const {
    if (was_in_.empty()) return false;
    const auto moved = [&](std::string text) {
      const std::string from = "\"" + was_in_ + "/", to = "\"" + plan.experiment.folder + "/";
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
      return nlohmann::json::parse(text, nullptr, false);
    };
    const nlohmann::json there = moved(canonical_);
    return !there.is_discarded() && there == nlohmann::json::parse(plan.canonical, nullptr, false);
  }

  // A file goes by its absolute way, and the experiment's folder may have been moved with it: then by its way from there.
  std::map<std::string, std::string>::const_iterator now_of(const std::map<std::string, std::string>& facts,
                                                            const std::string& name,
                                                            const std::string& folder) const {
    if (const auto same = facts.find(name); same != facts.end()) return same;
    const std::string_view begin = file_fact_of(name);
    if (begin.empty() || was_in_.empty()) return facts.end();
    const std::string way =
        std::filesystem::path(name.substr(begin.size())).lexically_relative(was_in_).string();
    if (way.empty() || way.starts_with("..")) return facts.end();
    return facts.find(std::string(begin) + (std::filesystem::path(folder) / way).lexically_normal().string());
  }

  // Whether it is.
  bool keep(Store& store, const std::vector<RecheckRow>& rows, const std::vector<TrialRow>& trials) const {
    bool kept = true;
    try {
      store.write_rechecks(rows);
      store.seal();
    } catch (const Error& error) {
      kept = false;
      write_stderr(fmt::format("warning: what was found could not be kept in {}: {}\n", file_, error.what()));
    }
    if (options_.no_html) return kept;
    write_page_beside(store, summary_of(store, trials), trials, store.path().empty() ? file_ : store.path(),
                      [this](const std::string& line) {
                        if (!options_.quiet) write_stderr(fmt::format("dvfs-plan: {}\n", line));
                      });
    return kept;
  }

  void look_at(Store& store) {
    chosen_.clear();
    choose(summary_of(store));
    Statement last =
        store.database().prepare("SELECT coalesce(max(block), 0), coalesce(max(position), 0) FROM trial");
    last.step();
    // Blocks that are still to come in the night, should it grow, are not to bear the same numbers.
    constexpr int apart = 10'000;
    first_block_ = (static_cast<int>(last.integer(0)) / apart + 1) * apart + 1;
    first_position_ = static_cast<int>(last.integer(1)) + 1;
    slots_.clear();
    Statement slots = store.database().prepare(
        "SELECT p.key, avg(t.slot_s) FROM trial t JOIN point p ON p.id = t.point_id JOIN session s ON s.id = "
        "t.session_id WHERE NOT s.recheck AND t.role NOT IN ('warm_up', 'idle_before', 'idle_after') GROUP "
        "BY 1");
    while (slots.step()) slots_.emplace(slots.text(0), slots.real(1));
    Statement windows = store.database().prepare(
        "SELECT avg(t.slot_s) FROM trial t JOIN session s ON s.id = t.session_id WHERE NOT s.recheck AND "
        "t.role "
        "IN ('idle_before', 'idle_after')");
    window_ = windows.step() ? windows.maybe_real(0).value_or(0) : 0;
  }

  void choose(const Summary& night) {
    std::vector<std::string> none, words;
    for (const ScenarioSummary& scenario : night.scenarios) {
      const std::string workload =
          scenario.points.empty() ? scenario.scenario : scenario.points.front().workload;
      words.push_back(scenario.scenario);
      if (!options_.workload.empty() && options_.workload != workload &&
          options_.workload != scenario.scenario)
        continue;
      const auto keys = finalists(scenario);
      if (keys.empty()) none.push_back(scenario.scenario);
      chosen_.insert(keys.begin(), keys.end());
    }
    if (!chosen_.empty()) return;
    if (none.empty() && !words.empty())
      throw Error(ExitCode::bad_experiment,
                  fmt::format("{} has no answer for '{}'{}", options_.file, printable(options_.workload),
                              did_you_mean(options_.workload, words)),
                  fmt::format("there are: {}", printable(join(words, ", "))));
    throw Error(ExitCode::machine_refuses,
                fmt::format("{} claims no saving that could be rechecked: {}", options_.file,
                            night.scenarios.empty() ? "it has no trials"
                                                    : "no best is known, or the reference is the best"),
                "`dvfs-plan report` says why");
  }

  const RecheckOptions& options_;
  Seconds budget_;
  std::map<std::string, double> slots_;  // s: of a trial at each point of the night, all told
  double window_ = 0;                    // likewise of an idle window
  std::string file_, experiment_, text_, hash_, canonical_, was_in_;  // the folder; empty: not known
  std::map<std::string, std::string> there_;
  std::vector<std::string> differences_;
  std::set<std::string> chosen_;  // keys of points
  int first_block_ = 1, first_position_ = 1;
};

int recheck_command(const RecheckOptions& options) {
  constexpr int most_blocks = 1000;
  if (options.blocks < 1 || options.blocks > most_blocks)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--blocks {}: wanted 1 to {}", options.blocks, most_blocks), "nothing was run");
  Recheck part(options);
  RunOptions run;
  static_cast<CommonOptions&>(run) = options;
  run.file = part.experiment();
  run.text = part.text();
  run.output = part.file();
  run.quiet = options.quiet;
  run.wait = options.wait;
  return run_here(run, &part);
}

const Registered<CommandKind> recheck(
    {.name = "recheck",
     .place = 57,
     .what = "runs the best, its rivals and the reference again: does the answer still stand?",
     .examples =
         "sudo dvfs-plan recheck night.sqlite\n"
         "sudo dvfs-plan recheck night.sqlite --budget 30min --quiet || mail -s 'look at night.sqlite' me",
     .needs_rights = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<RecheckOptions>();
       app.add_option("RESULT", options->file,
                      "the result file; what is run is kept in it, as a session of its own")
           ->required();
       app.add_option("--workload", options->workload,
                      "of one workload's answers alone, or of one line of the report");
       app.add_option("--blocks", options->blocks, "how many blocks at most (5)")->type_name("N");
       app.add_option("--budget", options->budget,
                      "no block is begun that would not be over within this ('10 min')")
           ->type_name("TIME");
       app.add_option("--experiment", options->experiment,
                      "where the experiment's file is, if not where it was beside the result: programs are "
                      "sought from there")
           ->type_name("FILE");
       app.add_flag("--quiet", options->quiet, "no progress on stderr");
       app.add_flag("--no-html", options->no_html, "do not write the page NAME.html beside the result anew");
       app.add_flag("--wait", options->wait,
                    "where another sweep has the machine, be next instead of being refused");
       app.footer("Exit codes: 0 it stands, 1 it has changed, 7 not known yet; others as ever.");
       return declared(app, options, recheck_command);
     }});

}  // namespace
}  // namespace dvfs_plan
