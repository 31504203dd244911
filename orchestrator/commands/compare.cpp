// dvfs-plan compare BEFORE AFTER
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/between_sides.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/error_of_file.hpp"
#include "orchestrator/commands/output_file.hpp"
#include "orchestrator/commands/text_look.hpp"
#include "results/compare/comparison_json.hpp"
#include "results/compare/worse.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

struct CompareOptions : CommonOptions {
  std::vector<std::string> others;  // the result after; or more before, the separator, and those after
  std::string worse;                // fail if anything is worse by more than this
  std::string html;                 // the page to write
};

ComparedResult read_sound_result(const std::string& file) {
  Store store = Store::open(file, Database::Mode::read_only);
  store.hold_snapshot();
  std::map<std::string, std::string> commands;
  Statement s = store.database().prepare("SELECT name, command FROM workload");
  while (s.step()) commands[s.text(0)] = s.text(1);
  auto trials = store.trials();
  auto summary = summary_of(store, trials);
  set_work_of_totals(trials, summary.experiment);
  return {file,
          store.plan_hash(),
          store.machine_facts(),
          commands,
          std::move(summary),
          std::move(trials),
          store.damaged_text(),
          join(store.energy_sensors(), " + ")};
}

ComparedResult read_result(const std::string& file) {
  try {
    return read_sound_result(file);
  } catch (const Error& error) {
    throw error_of_file(file, error);
  }
}

struct Sides {
  std::vector<std::string> before, after;
  bool each = false;  // of those after: each by itself
};

Sides sides_of(const CompareOptions& options) {
  if (options.file == between_sides)
    throw Error(ExitCode::bad_experiment,
                "compare: nothing stands before --: the nights before are named there",
                "compare A1 A2 -- B1 B2; of single nights: compare A B");
  Sides sides{{options.file}, {}};
  const auto part = std::find(options.others.begin(), options.others.end(), between_sides);
  if (part == options.others.end()) {
    sides.after = options.others;
    sides.each = true;
    return sides;
  }
  sides.before.insert(sides.before.end(), options.others.begin(), part);
  sides.after.assign(part + 1, options.others.end());
  if (sides.before.size() < 2 || sides.after.size() < 2)
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("compare: {} before and {} after: how nights differ is told by two a side at least",
                    sides.before.size(), sides.after.size()),
        "compare A1 A2 -- B1 B2; of single nights (compare A B) what is relative to the reference is judged");
  return sides;
}

std::vector<ComparedResult> read_results(const std::vector<std::string>& files) {
  std::vector<ComparedResult> results;
  for (const std::string& file : files) results.push_back(read_result(file));
  // What missed its target in one night of a side has no mean over them.
  BoundedPoints bounded;
  for (const ComparedResult& one : results) bounded.merge(bounded_points(one.trials));
  for (ComparedResult& one : results) leave_out(one.trials, bounded);
  return results;
}

ComparedResult read_one(const std::string& file) {
  return std::move(read_results({file}).front());
}

// How nights differ is told by nights that know nothing of each other.
void refuse_one_night_twice(const std::vector<ComparedResult>& before,
                            const std::vector<ComparedResult>& after) {
  std::vector<const ComparedResult*> all;
  for (const auto* side : {&before, &after}) {
    for (const ComparedResult& night : *side) all.push_back(&night);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (const auto shared = trial_in_both(*all[k], *all[i]))
        throw Error(ExitCode::bad_experiment,
                    fmt::format("compare: {} and {} have trials in common (the first is {}): they are one "
                                "night, or one grew out of a copy of the other",
                                printable(all[k]->file), printable(all[i]->file), printable(*shared)),
                    "name each night once; of two single nights: compare A B");
    }
  }
}

// What the shell shall know: whether anything is worse than allowed.
ExitCode verdict_of(const Comparison& comparison, const std::string& limit) {
  if (limit.empty()) return ExitCode::done;
  const auto given = parse_quantity(limit);
  const auto share = given && given->dimension == Dimension::ratio && given->value >= 0
                         ? std::optional(given->value)
                         : std::nullopt;
  if (!share)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--fail-if-worse '{}' is no share of 0 % or more", limit), "as in 2% or '2 %'");
  const auto tell = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts)
      write_stderr(fmt::format("{}: {}\n", printable(comparison.name_after), printable(text)));
    return !texts.empty();
  };
  bool lost = tell(no_longer_counting(comparison));
  lost = tell(not_run_after(comparison)) || lost;
  std::vector<std::string> more_often, perhaps;
  for (const auto& kind : {failing_more_often(comparison), limits_broken(comparison)}) {
    for (const WorseAfter& one : kind) (one.beyond_chance ? more_often : perhaps).push_back(one.text);
  }
  lost = tell(more_often) || lost;
  bool unknown = tell(perhaps);
  unknown = tell(not_known_after(comparison)) || unknown;
  unknown = tell(not_judged(comparison)) || unknown;
  unknown = tell(perhaps_worse_by_more_than(comparison, *share)) || unknown;
  if (!worse_by_more_than(comparison, *share))
    return lost ? ExitCode::some_trials_failed : unknown ? ExitCode::not_known : ExitCode::done;
  write_stderr(
      fmt::format("{}: worse by more than {:g} %\n", printable(comparison.name_after), 100 * *share));
  return ExitCode::some_trials_failed;
}

// One after the other against the first, behind a table of them all.
int compare_each(const Sides& sides, const CompareOptions& options) {
  if (!options.html.empty())
    throw Error(ExitCode::bad_experiment,
                fmt::format("compare --html: a page compares two sides, and {} results are named",
                            1 + sides.after.size()),
                "name two, or several nights a side with -- between; `dvfs-plan index FOLDER --html` has all "
                "results of a folder");
  const ComparedResult first = read_one(sides.before.front());
  std::vector<Comparison> comparisons;
  ExitCode verdict = ExitCode::done;
  for (const std::string& file : sides.after) {
    comparisons.push_back(compare(first, read_one(file)));
    const ExitCode one = verdict_of(comparisons.back(), options.worse);
    // What is worse is worse, whatever is not known of others.
    if (verdict == ExitCode::done || one == ExitCode::some_trials_failed) verdict = one;
  }
  write_answer(options.json ? json_comparisons(comparisons) : terminal_comparisons(comparisons, text_look()));
  return static_cast<int>(verdict);
}

int compare_command(const CompareOptions& options) {
  const Sides sides = sides_of(options);
  if (sides.each && sides.after.size() > 1) return compare_each(sides, options);
  const auto before = read_results(sides.before), after = read_results(sides.after);
  if (before.size() > 1) refuse_one_night_twice(before, after);
  const Comparison comparison = compare(before, after);
  const ExitCode verdict = verdict_of(comparison, options.worse);
  if (!options.html.empty()) {
    for (const auto* files : {&sides.before, &sides.after}) {
      for (const std::string& file : *files) refuse_the_result_itself(options.html, "--html", file);
    }
    refuse_what_is_no_page(options.html, "--html");
    write_html_comparison(comparison, options.html);
    write_stderr(fmt::format("the page is {}\n", options.html));
    if (!options.json) return static_cast<int>(verdict);
  }
  write_answer(options.json ? json_comparison(comparison) : terminal_comparison(comparison, text_look()));
  return static_cast<int>(verdict);
}

const Registered<CommandKind> compare(
    {.name = "compare",
     .place = 50,
     .what = "results of one plan: what changed beyond the noise",
     .examples = "dvfs-plan compare before.sqlite after.sqlite\n"
                 "dvfs-plan compare --fail-if-worse 2% a1.sqlite a2.sqlite -- b1.sqlite b2.sqlite",
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<CompareOptions>();
       app.add_option("BEFORE", options->file, "the result file before")->required();
       app.add_option("AFTER", options->others,
                      "the result file after; several: each against BEFORE; of several nights a side: "
                      "BEFORE1 BEFORE2 .. -- AFTER1 AFTER2 ..")
           ->required();
       app.add_option(
              "--fail-if-worse", options->worse,
              "exit with 1 if energy or time rose by more than this at any point, beyond the noise, or if of "
              "a point that counted before no trial counts any more, or more of them fail; with 7 if that "
              "cannot be said (it is higher by more than this, but not beyond the noise), or a limit on a "
              "metric does not hold any more. Of two single nights what a whole night lies higher is no "
              "rise: "
              "name several a side")
           ->type_name("SHARE");
       app.add_option("--html", options->html, "write it as one page for a browser");
       return declared(app, options, compare_command);
     }});

}  // namespace
}  // namespace dvfs_plan
