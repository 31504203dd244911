#include "orchestrator/commands/found_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/commands/run_as.hpp"
#include "orchestrator/commands/stored_experiment.hpp"
#include "orchestrator/machine/machine_facts.hpp"
#include "results/compare/recheck.hpp"
#include "results/report/question_text.hpp"
#include "results/report/report.hpp"
#include "results/store/store.hpp"

namespace dvfs_plan {
namespace {

double parse_slowdown(const std::string& text) {
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->value < 0 || quantity->dimension != Dimension::ratio)
    throw Error(ExitCode::bad_experiment,
                fmt::format("--slowdown {}: wanted a share, such as 5%", printable(text)), "nothing was set");
  return quantity->value;
}

// What the last look at this answer found, where it did not find that it stands, or another better; empty: nobody looked, or it does.
std::string doubt_of_recheck(Store& store, const ChosenAnswer& answer) {
  Statement s = store.database().prepare(
      "SELECT substr(at, 1, 10), verdict, why, coalesce(question <> ?, 0) AS other FROM rechecks WHERE "
      "scenario = ? AND point = ? ORDER BY other, session DESC LIMIT 1");
  s.bind(question_text(answer.scenario)).bind(answer.scenario.scenario).bind(answer.point.point);
  if (!s.step()) return {};
  const std::string when = s.text(0) + (s.integer(3) != 0 ? ", of another question," : "");
  if (s.text(1) == stands) {
    const std::string why = s.text(2);
    const auto rival = why.find(better_by_these_blocks);
    return rival == std::string::npos
               ? std::string()
               : printable(fmt::format("the recheck of {} found that it stands{}", when, why.substr(rival)));
  }
  return printable(
      s.text(1) == has_changed
          ? fmt::format("the recheck of {} found that it has changed: {}", when, s.text(2))
          : fmt::format("the recheck of {} did not show that it still stands: {}", when, s.text(2)));
}

}  // namespace

FoundSetting::FoundSetting(const std::string& file, const std::string& workload, const std::string& slowdown,
                           const std::string& experiment)
    : file_(file) {
  AnswerWish wish{workload, {}};
  if (!slowdown.empty()) wish.slowdown = parse_slowdown(slowdown);
  slowdown_ = wish.slowdown;
  Store store = Store::open(file, Database::Mode::read_only);
  store.hold_snapshot();
  summary_ = std::make_unique<Summary>(summary_of(store));
  answer_ = std::make_unique<ChosenAnswer>(choose_answer(*summary_, wish));
  doubts_ = answer_doubts(*summary_, *answer_, wish);
  // First: it is newer than all of that.
  if (const std::string since = doubt_of_recheck(store, *answer_); !since.empty())
    doubts_.insert(doubts_.begin(), since);
  if (const std::string damaged = store.damaged_text(); !damaged.empty())
    doubts_.insert(doubts_.begin(), damaged);
  there_ = store.machine_facts();
  experiment_ = stored_experiment(store, file);
  place_ = experiment_place(store, file, experiment);
  experiment_.folder = std::filesystem::path(place_.file).parent_path().string();
  measured_at_ = store.experiment().created_at;
}

const AxisSetting* FoundSetting::setting_of(const std::string& axis) const {
  const auto found = std::find_if(settings().begin(), settings().end(),
                                  [&](const AxisSetting& one) { return one.axis == axis; });
  return found == settings().end() ? nullptr : &*found;
}

void FoundSetting::find_here(const Sysfs& sysfs) {
  std::vector<std::string> axes;
  for (const AxisSetting& one : settings()) {
    if (is_knob_axis(one.axis)) axes.push_back(one.axis);
    // Another project's program of that name is not to be run as root on a guess.
    if (!place_.known && is_set_from_the_folder(one.axis))
      throw Error(ExitCode::machine_refuses,
                  fmt::format("{}: axis '{}' is set by programs of the experiment's folder, and where that "
                              "is by now is not known: {} "
                              "is not there as the result has it",
                              file_, one.axis, place_.file),
                  "nothing was set; say where the experiment's file is: --experiment FILE");
  }
  boards_ = find_used_boards(experiment_, sysfs, current_environment());
  knobs_ = find_knobs(axes, sysfs, experiment_.own_knobs(), boards_);
  for (const KnobFinding& knob : knobs_) {
    if (!knob.knob)
      throw Error(ExitCode::machine_refuses, fmt::format("axis '{}': {}", knob.axis, knob.problem),
                  "`dvfs-plan doctor` shows what this machine has; nothing was set");
  }
  auto here = machine_facts(sysfs);
  here.merge(board_facts(boards_.used, sysfs));
  const auto kind = differences_of_kind(there_, here);
  if (!kind.empty())
    throw Error(
        ExitCode::machine_refuses,
        fmt::format("{} was measured on another kind of machine:\n  {}", file_,
                    printable(join(kind, "\n  "), true)),
        fmt::format(
            "nothing was set; measure on this one: the experiment file is in the result,  dvfs-plan sql "
            "{} 'SELECT source_text FROM experiment'",
            shell_quote(file_)));
  changes_.clear();
  for (const std::string& difference : differences_of_state(there_, here))
    changes_.push_back(fmt::format("since it was measured something changed that may move the answer: {}",
                                   printable(difference)));
}

// Programs that are named by an absolute way, or found on the PATH, and arguments that name no file there, are the same from anywhere.
bool FoundSetting::is_set_from_the_folder(const std::string& axis) const {
  namespace fs = std::filesystem;
  for (const CommandKnobSpec& knob : experiment_.set) {
    if (axis != "set." + knob.name) continue;
    for (const std::vector<std::string>* words : {&knob.command, &knob.read, &knob.restore}) {
      for (const std::string& word : *words) {
        std::error_code none;
        // What a shell is told may name anything.
        const bool may_be_way = word.find(' ') != std::string::npos ||
                                (word.find('/') != std::string::npos && !fs::path(word).is_absolute());
        if (may_be_way ||
            (word != words->front() && fs::exists(fs::path(place_.file).parent_path() / word, none)))
          return true;
      }
    }
  }
  return false;
}

AxisValue FoundSetting::value_of(const KnobFinding& knob) const {
  const AxisSetting& setting = *setting_of(knob.axis);
  return {setting.text, setting.number, knob.knob->offer().dimension};
}

}  // namespace dvfs_plan
