#include "results/report/axis_effects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "results/report/cells.hpp"
#include "results/report/summary.hpp"
#include "results/report/text_table.hpp"

namespace dvfs_plan {
namespace {

// `from` with the value that `other` has of its axis `at`: the point that has just these settings.
std::optional<std::size_t> with_value_of(const ScenarioSummary& scenario, const PointSummary& from,
                                         const PointSummary& other, std::size_t at) {
  for (std::size_t i = 0; i < scenario.points.size(); ++i) {
    const std::vector<AxisSetting>& settings = scenario.points[i].settings;
    if (settings.size() != from.settings.size()) continue;
    bool same = true;
    for (std::size_t a = 0; a < settings.size() && same; ++a) {
      const AxisSetting& wanted = a == at ? other.settings[a] : from.settings[a];
      same = settings[a].axis == wanted.axis && settings[a].text == wanted.text;
    }
    if (same) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<AxisEffect> axis_effects(const ScenarioSummary& scenario,
                                     const std::function<GainOverPoint(std::size_t)>& over) {
  std::vector<AxisEffect> effects;
  if (scenario.search || !scenario.best || !scenario.reference) return effects;
  const PointSummary &best = scenario.points[*scenario.best],
                     &reference = scenario.points[*scenario.reference];
  if (best.settings.size() != reference.settings.size()) return effects;
  for (std::size_t a = 0; a < best.settings.size(); ++a) {
    const AxisSetting &mine = best.settings[a], &its = reference.settings[a];
    if (mine.axis != its.axis) return {};
    if (mine.text == its.text) continue;
    AxisEffect& effect = effects.emplace_back();
    effect.axis = mine.axis;
    effect.best = setting_value_text(best, mine);
    effect.reference = setting_value_text(reference, its);
    effect.alone = with_value_of(scenario, reference, best, a);
    if (effect.alone) effect.gain_alone = scenario.points[*effect.alone].gain;
    effect.without = with_value_of(scenario, best, reference, a);
    if (!effect.without) continue;
    const GainOverPoint on_top = over(*effect.without);
    effect.gain_on_top = on_top.change;
    effect.corrected = on_top.corrected;
  }
  // Of one axis both are the answer itself.
  if (effects.size() < 2) effects.clear();
  return effects;
}

std::string axis_effects_table(const ScenarioSummary& scenario, const TextLook& look) {
  if (scenario.axis_effects.empty()) return {};
  TextTable table;
  table.row({"", "best", "reference", "alone", "on top of the others"}, true);
  for (const AxisEffect& effect : scenario.axis_effects)
    table.row({printable(effect.axis), printable(effect.best), printable(effect.reference),
               cell(effect.gain_alone), cell(effect.gain_on_top)});
  return fmt::format(
             "\nWhat each axis is worth (less of the objective, {}): alone, the reference with the best's "
             "value of it "
             "against the reference; on top of the others, the best against itself with the reference's "
             "value of it:\n",
             to_string(scenario.objective.minimise)) +
         table.text(look);
}

}  // namespace dvfs_plan
