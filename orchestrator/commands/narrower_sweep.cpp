#include "orchestrator/commands/narrower_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.hpp"
#include "base/units.hpp"
#include "experiments/plan/axis_values.hpp"
#include "orchestrator/commands/yaml_word.hpp"

namespace dvfs_plan {
namespace {

const AxisSetting* setting_of(const PointSummary& point, const std::string& axis) {
  const auto found = std::find_if(point.settings.begin(), point.settings.end(),
                                  [&](const AxisSetting& one) { return one.axis == axis; });
  return found == point.settings.end() ? nullptr : &*found;
}

Dimension dimension_of(const AxisSetting& setting) {
  const auto quantity = parse_quantity(setting.text);
  return quantity ? quantity->dimension : Dimension::none;
}

// The values that an axis had.
PlanAxis as_swept(const std::string& axis, const ChosenAnswer& answer) {
  PlanAxis swept{.name = axis, .knob = is_knob_axis(axis), .dimension = Dimension::text, .values = {}};
  for (const PointSummary& point : answer.scenario.points) {
    const AxisSetting* const one = setting_of(point, axis);
    if (one == nullptr) continue;
    const bool known = std::any_of(swept.values.begin(), swept.values.end(),
                                   [&](const AxisValue& value) { return value.text == one->text; });
    if (!known) swept.values.push_back({one->text, one->number, dimension_of(*one)});
    if (one->number) swept.dimension = dimension_of(*one);
  }
  return swept;
}

PlanAxis as_planned(const std::string& axis, const NarrowAxis& narrow) {
  PlanAxis planned{.name = axis, .knob = is_knob_axis(axis), .dimension = Dimension::text, .values = {}};
  for (const std::string& text : narrow.values) {
    const auto quantity = narrow.nearest ? parse_quantity(text) : std::nullopt;
    if (quantity) planned.dimension = quantity->dimension;
    planned.values.push_back({text, quantity ? std::optional(quantity->value) : std::nullopt,
                              quantity ? quantity->dimension : Dimension::text});
  }
  return planned;
}

// The value that a rule names, as the narrower sweep has it.
std::optional<std::string> still_there(const RawValue& raw, const PlanAxis& swept, const PlanAxis& planned) {
  Diagnostics of_another(swept.name);  // a value that no point has, or none of the narrower sweep
  auto value = match_axis_value(raw, swept, "'exclude'", of_another);
  if (!value && raw.text != "min" && raw.text != "max")
    value = match_axis_value(raw, planned, "'exclude'", of_another);
  const bool there = value && std::any_of(planned.values.begin(), planned.values.end(),
                                          [&](const AxisValue& one) { return one.text == value->text; });
  return there ? std::optional(value->text) : std::nullopt;
}

// The numbers that rules name of an axis.
std::vector<double> left_out(const std::vector<ExcludeRule>& rules, const PlanAxis& axis) {
  std::vector<double> numbers;
  for (const ExcludeRule& rule : rules) {
    for (const ExcludeRule::Condition& condition : rule.conditions) {
      for (const RawValue& raw : condition.values) {
        const auto quantity = parse_quantity(raw.text);
        if (condition.axis == axis.name && quantity && quantity->dimension == axis.dimension)
          numbers.push_back(quantity->value);
      }
    }
  }
  return numbers;
}

bool holds_at(const std::map<std::string, std::set<std::string>>& rule, const PointSummary& point) {
  return std::all_of(rule.begin(), rule.end(), [&](const auto& condition) {
    const AxisSetting* const one = setting_of(point, condition.first);
    return one != nullptr && condition.second.contains(one->text);
  });
}

YamlPointer scalar(const std::string& text, bool quoted = false) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.scalar = text;
  node.quoted = quoted;
  return std::make_shared<const YamlNode>(std::move(node));
}

YamlPointer shared(YamlNode node) {
  return std::make_shared<const YamlNode>(std::move(node));
}

// `limits` (nullptr: there are none) with this one in place of what they said of slowdown.
YamlNode limited(const YamlNode* limits, double slowdown) {
  YamlNode all;
  all.kind = YamlNode::Kind::map;
  if (limits != nullptr) {
    for (const YamlEntry& entry : limits->entries) {
      if (entry.key != "slowdown") all.entries.push_back(entry);
    }
  }
  all.entries.push_back({"slowdown", {}, scalar(fmt::format("<= {:.12g} %", slowdown * 100), true)});
  return all;
}

}  // namespace

NarrowAxis narrowed(const std::string& axis, const ChosenAnswer& answer,
                    const std::vector<ExcludeRule>& rules) {
  constexpr int parts = 8, digits = 10;  // a rule names a clock by all of its digits
  const PlanAxis swept = as_swept(axis, answer);
  const AxisSetting& best = *setting_of(answer.point, axis);
  const AxisSetting* const reference =
      answer.scenario.reference ? setting_of(answer.scenario.points[*answer.scenario.reference], axis)
                                : nullptr;
  std::set<double> numbers;
  for (const AxisValue& value : swept.values) {
    if (value.number) numbers.insert(*value.number);
  }
  NarrowAxis narrow;
  const auto add = [&](const std::string& text) {
    if (std::find(narrow.values.begin(), narrow.values.end(), text) == narrow.values.end())
      narrow.values.push_back(text);
  };
  const bool ordered = best.number && numbers.size() > 1;
  double low = 0, high = 0;
  if (ordered) {
    const auto here = numbers.find(*best.number);
    low = here == numbers.begin() ? *here : *std::prev(here);
    high = std::next(here) == numbers.end() ? *here : *std::next(here);
  }
  if (ordered && swept.knob) {
    narrow.nearest = true;
    std::set<double> finer{*best.number};
    for (int i = 0; i <= parts; ++i) finer.insert(low + (high - low) * i / parts);
    for (const double value : left_out(rules, swept)) {
      if (value >= low && value <= high) finer.insert(value);
    }
    const auto text_of = [&](double value) {
      const auto known = std::find_if(swept.values.begin(), swept.values.end(),
                                      [&](const AxisValue& one) { return one.number == value; });
      return known == swept.values.end() ? format_quantity(value, dimension_of(best), digits) : known->text;
    };
    for (const double value : finer) add(text_of(value));
    if (reference != nullptr) add(reference->text);
  } else {
    // A batch of 12.5 is none: the values that were run, and no others.
    for (const AxisValue& value : swept.values) {
      const bool near =
          ordered ? value.number && *value.number >= low && *value.number <= high : value.text == best.text;
      if (near || (reference != nullptr && value.text == reference->text)) add(value.text);
    }
  }
  return narrow;
}

std::string yaml_text(const NarrowAxis& axis) {
  std::vector<std::string> words;
  for (const std::string& value : axis.values) words.push_back(yaml_word(value));
  const std::string values = fmt::format("[{}]", join(words, ", "));
  return axis.nearest ? fmt::format("{{values: {}, nearest: true}}", values) : values;
}

std::optional<std::string> narrowed_rules(const std::vector<ExcludeRule>& rules,
                                          const std::map<std::string, NarrowAxis>& axes,
                                          const ChosenAnswer& answer) {
  std::string lines;
  bool as_written = true;
  for (const ExcludeRule& rule : rules) {
    std::map<std::string, std::set<std::string>> kept;
    std::vector<std::string> texts;
    bool complete = true;
    for (const ExcludeRule::Condition& condition : rule.conditions) {
      const auto axis = axes.find(condition.axis);
      const PlanAxis swept = as_swept(condition.axis, answer),
                     planned = as_planned(condition.axis, axis == axes.end() ? NarrowAxis{} : axis->second);
      std::vector<std::string> words;
      for (const RawValue& raw : condition.values) {
        const auto text = still_there(raw, swept, planned);
        as_written = as_written && text == raw.text;
        if (text && kept[condition.axis].insert(*text).second) words.push_back(yaml_word(*text));
      }
      complete = complete && !words.empty();
      const std::string values = join(words, ", ");
      texts.push_back(fmt::format("{}: {}", yaml_word(condition.axis),
                                  words.size() == 1 ? values : fmt::format("[{}]", values)));
    }
    // `max` of an axis whose highest value is left out altogether is the highest that no point has.
    const auto& points = answer.scenario.points;
    const bool of_others = std::any_of(points.begin(), points.end(), [&](const PointSummary& point) {
      return complete && holds_at(kept, point);
    });
    as_written = as_written && complete && !of_others;
    if (complete && !of_others) lines += fmt::format("- {{{}}}\n", join(texts, ", "));
  }
  return as_written ? std::nullopt : std::optional(lines);
}

std::optional<std::string> narrowed_reference(const std::vector<ExcludeRule::Condition>& written,
                                              const std::map<std::string, NarrowAxis>& axes,
                                              const ChosenAnswer& answer) {
  if (!answer.scenario.reference) return std::nullopt;
  bool named = true;
  std::vector<std::string> texts;
  for (const AxisSetting& one : answer.scenario.points[*answer.scenario.reference].settings) {
    const auto axis = axes.find(one.axis);
    if (axis == axes.end() || axis->second.values.size() < 2) continue;
    named = named && std::any_of(written.begin(), written.end(),
                                 [&](const ExcludeRule::Condition& w) { return w.axis == one.axis; });
    texts.push_back(fmt::format("{}: {}", yaml_word(one.axis), yaml_word(one.text)));
  }
  return named ? std::nullopt : std::optional(fmt::format("{{{}}}", join(texts, ", ")));
}

YamlNode within_slowdown(const YamlNode* objective, double slowdown) {
  YamlNode asked;
  asked.kind = YamlNode::Kind::map;
  asked.entries.push_back({"minimise", {}, scalar("energy")});
  const bool with_more = objective != nullptr && objective->kind == YamlNode::Kind::map;
  if (with_more) {
    for (const YamlEntry& entry : objective->entries) {
      if (entry.key != "minimise" && entry.key != "subject to") asked.entries.push_back(entry);
    }
  }
  asked.entries.push_back(
      {"subject to", {}, shared(limited(with_more ? objective->find("subject to") : nullptr, slowdown))});
  return asked;
}

std::optional<YamlNode> within_slowdown(const YamlNode& workloads, const std::string& workload,
                                        double slowdown) {
  YamlNode all = workloads;
  bool changed = false;
  for (YamlPointer& item : all.items) {
    const YamlNode* const name = item->kind == YamlNode::Kind::map ? item->find("name") : nullptr;
    if (name == nullptr || name->scalar != workload) continue;
    YamlNode asked = *item;
    for (YamlEntry& entry : asked.entries) {
      if (entry.key == "subject to") {
        entry.value = shared(limited(entry.value.get(), slowdown));
      } else if (entry.key == "objective" && entry.value->find("subject to") != nullptr) {
        entry.value = shared(within_slowdown(entry.value.get(), slowdown));
      } else if (entry.key == "objective") {
        // Its limits are the experiment's, which has this one by now.
        YamlNode own = within_slowdown(entry.value.get(), slowdown);
        own.entries.pop_back();
        entry.value = shared(own);
      } else {
        continue;
      }
      changed = true;
    }
    item = shared(asked);
  }
  return changed ? std::optional(all) : std::nullopt;
}

}  // namespace dvfs_plan
