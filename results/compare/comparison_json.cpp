#include "results/compare/comparison_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "results/page/page_shell.hpp"
#include "results/report/json_values.hpp"

namespace dvfs_plan {
namespace {

using Json = nlohmann::ordered_json;

Json change_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  return {{"value", change->value},
          {"n", change->pairs},
          {"low_95", or_null(change->low)},
          {"high_95", or_null(change->high)}};
}

Json to_json(const ChangeOfPoint& one) {
  Json json = change_json(one.change);
  if (!json.is_null()) json["beyond_noise"] = one.beyond_noise;
  return json;
}

Json mean(const std::optional<Estimate>& estimate) {
  return estimate ? Json(estimate->mean) : Json(nullptr);
}

Json side(const PointSummary& point) {
  return {{"trials", point.trials},
          {"counted", point.counted},
          {"energy_j", mean(point.work_energy)},
          {"time_s", mean(point.work_time)},
          {"mean_power_w", mean(point.power)}};
}

Json point_json(const ComparedPoint& point) {
  return {{"point", point.point},
          {"called", point.called},
          {"reference", point.before.is_reference},
          {"before", side(point.before)},
          {"after", side(point.after)},
          {"energy", to_json(point.energy)},
          {"time", to_json(point.time)},
          {"power", to_json(point.power)},
          {"energy_level", or_null(point.energy_level)},
          {"time_level", or_null(point.time_level)},
          {"saving_before", or_null(point.saving_before)},
          {"saving_after", or_null(point.saving_after)}};
}

Json comparison_object(const Comparison& c) {
  Json json{{"before", c.name_before},
            {"after", c.name_after},
            {"of_levels", c.of_levels},
            {"same_plan", c.same_plan},
            {"energies_compare", c.energies_compare},
            {"warnings", c.warnings},
            {"answer", comparison_sentences(c)},
            {"machine", Json::array()},
            {"scenarios", Json::array()}};
  for (const Difference& d : c.machine)
    json["machine"].push_back({{"what", d.what}, {"before", d.before}, {"after", d.after}});
  for (const ComparedScenario& s : c.scenarios) {
    Json one{{"scenario", s.scenario},
             {"per", s.per.empty() ? Json(nullptr) : Json(s.per)},
             {"best_before", or_null(s.best_before)},
             {"best_after", or_null(s.best_after)},
             {"cost_of_old_best", change_json(s.cost_of_old_best)},
             {"old_best_not_told_apart", s.old_best_not_told_apart},
             {"all_energy", to_json(s.all_energy)},
             {"all_time", to_json(s.all_time)},
             {"against", s.base.empty() ? Json(nullptr) : Json(s.base)},
             {"compared", s.compared},
             {"only_before", s.only_before},
             {"only_after", s.only_after},
             {"points", Json::array()}};
    for (const ComparedPoint& point : s.points) one["points"].push_back(point_json(point));
    json["scenarios"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string json_comparison(const Comparison& comparison) {
  return comparison_object(comparison).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string json_comparisons(const std::vector<Comparison>& comparisons) {
  Json json{{"before", comparisons.front().name_before}, {"comparisons", Json::array()}};
  for (const Comparison& one : comparisons) json["comparisons"].push_back(comparison_object(one));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_html_comparison(const Comparison& comparison, const std::string& path) {
  const Json json = comparison_object(comparison);
  write_page({fmt::format("{} and {}", comparison.name_before, comparison.name_after),
              terminal_comparison(comparison, {}),
              {page_data("comparison", json)}},
             path);
}

}  // namespace dvfs_plan
