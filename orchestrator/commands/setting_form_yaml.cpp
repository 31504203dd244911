// The experiment again, narrower: around the setting that was found.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "experiments/plan/yaml_tree.hpp"
#include "orchestrator/commands/setting_form.hpp"
#include "orchestrator/commands/yaml_word.hpp"

namespace dvfs_plan {
namespace {

// The values that one axis gets: from the neighbour below to the neighbour above, finer; and the reference's.
std::string narrowed(const std::string& axis, const FoundSetting& found) {
  constexpr int parts = 8;
  const ScenarioSummary& scenario = found.answer().scenario;
  const AxisSetting& best = *found.setting_of(axis);
  std::set<double> numbers;
  const AxisSetting* reference = nullptr;
  for (std::size_t p = 0; p < scenario.points.size(); ++p) {
    for (const AxisSetting& one : scenario.points[p].settings) {
      if (one.axis != axis) continue;
      if (one.number) numbers.insert(*one.number);
      if (scenario.reference == p) reference = &one;
    }
  }
  std::vector<std::string> texts;
  const auto add = [&](const std::string& text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  };
  if (!best.number || numbers.size() < 2) {
    add(best.text);
  } else {
    const auto here = numbers.find(*best.number);
    const double low = here == numbers.begin() ? *here : *std::prev(here),
                 high = std::next(here) == numbers.end() ? *here : *std::next(here);
    if (!is_knob_axis(axis)) {
      // A batch of 12.5 is none: the values that were run, and no others.
      for (const PointSummary& point : scenario.points) {
        for (const AxisSetting& one : point.settings) {
          if (one.axis == axis && one.number && *one.number >= low && *one.number <= high) add(one.text);
        }
      }
    } else {
      const auto quantity = parse_quantity(best.text);
      for (int i = 0; i <= parts; ++i)
        add(format_quantity(low + (high - low) * i / parts,
                            quantity ? quantity->dimension : Dimension::none));
    }
  }
  if (reference != nullptr) add(reference->text);
  for (std::string& text : texts) text = yaml_word(text);
  const bool nearest = is_knob_axis(axis) && best.number && numbers.size() > 1;
  return nearest ? fmt::format("{{values: [{}], nearest: true}}", join(texts, ", "))
                 : fmt::format("[{}]", join(texts, ", "));
}

std::string as_yaml(const FormRequest& request) {
  const FoundSetting& found = request.found;
  const std::string& text = found.experiment().text;
  Diagnostics ignored(found.file());
  const YamlPointer root = parse_yaml(text, ignored);
  const auto lines = split_lines(text);
  // The lines of the block `axes`.
  int first = 0, behind = static_cast<int>(lines.size()) + 1;
  if (root) {
    for (const YamlEntry& entry : root->entries) {
      if (first == 0 && entry.key == "axes" && entry.key_mark.column == 1) {
        first = entry.key_mark.line;
      } else if (first > 0 && entry.key_mark.line > first) {
        behind = std::min(behind, entry.key_mark.line);
      }
    }
  }
  const YamlNode* const axes = root ? root->find("axes") : nullptr;
  if (first == 0 || axes == nullptr || axes->kind != YamlNode::Kind::map)
    throw Error(
        ExitCode::bad_experiment,
        fmt::format("--as yaml: the experiment in {} has no  axes:  on a line of its own", found.file()),
        "narrow it by hand; the other forms do without");
  std::string narrow = as_comment(request.comment) +
                       "# The experiment again, between the neighbours of the setting that was found. A "
                       "sweep of its own: give it\n"
                       "# a file of its own.\n";
  for (int line = 1; line < first; ++line) narrow += lines[static_cast<std::size_t>(line) - 1] + '\n';
  narrow += "axes:\n";
  for (const YamlEntry& entry : axes->entries) {
    if (found.setting_of(entry.key) != nullptr)
      narrow += fmt::format("  {}: {}\n", yaml_word(entry.key), narrowed(entry.key, found));
    else  // another workload's
      throw Error(
          ExitCode::bad_experiment,
          fmt::format("--as yaml: axis '{}' is of another workload than the one whose setting this is",
                      entry.key),
          "take the other workload out of the file by hand, or narrow it there");
  }
  for (int line = behind; line <= static_cast<int>(lines.size()); ++line)
    narrow += lines[static_cast<std::size_t>(line) - 1] + '\n';
  return narrow;
}

const Registered<SettingForm> yaml({.name = "yaml",
                                    .place = 70,
                                    .what = "the experiment again, narrower around it",
                                    .of_this_machine = false,
                                    .write = as_yaml});

}  // namespace
}  // namespace dvfs_plan
