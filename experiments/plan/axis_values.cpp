#include "experiments/plan/axis_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/whole_number.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t most_values = 10'000;
constexpr int most_errors = 5;  // of one range: the sixth value that is not offered tells nothing new

AxisValue numeric_value(double number, Dimension dimension) {
  if (dimension == Dimension::frequency) return {format(Hertz{number}), number, dimension};
  return {format_quantity(number, dimension, 10), number, dimension};
}

// Words that are quantities of one kind ("90 W", "0.25 kW"), from the least to the most; others in the order in which they are listed.
std::vector<AxisValue> by_size(std::vector<AxisValue> values) {
  std::vector<std::pair<double, AxisValue>> sized;
  std::optional<Dimension> dimension;
  for (const AxisValue& value : values) {
    const auto quantity = value.number ? std::nullopt : parse_quantity(value.text);
    if (!quantity || dimension.value_or(quantity->dimension) != quantity->dimension) return values;
    dimension = quantity->dimension;
    sized.emplace_back(quantity->value, value);
  }
  std::stable_sort(sized.begin(), sized.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = sized[i].second;
  return values;
}

// sysfs speaks in whole kHz: two frequencies within half a kHz are one.
bool same_number(double a, double b, Dimension dimension) {
  const double tolerance =
      dimension == Dimension::frequency ? 500.0 : 1e-9 * std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= tolerance;
}

class AxisResolver {
 public:
  AxisResolver(const AxisSpec& spec, const AxisOffer* offer, Diagnostics& diagnostics)
      : spec_(spec), offer_(offer), diagnostics_(diagnostics) {
    axis_.name = spec.name;
    axis_.knob = is_knob_axis(spec.name);
    axis_.dimension = offer != nullptr ? offer->dimension : Dimension::text;
  }

  PlanAxis resolve() {
    switch (spec_.form) {
      case AxisSpec::Form::list:
        for (const RawValue& raw : spec_.values) take_written(raw);
        break;
      case AxisSpec::Form::all:
      case AxisSpec::Form::min:
      case AxisSpec::Form::max:
      case AxisSpec::Form::count:
        take_offered();
        break;
      case AxisSpec::Form::range:
        take_range();
        break;
    }
    if (axis_.values.empty() && !diagnostics_.has_errors()) {
      error(spec_.values_mark, fmt::format("axis '{}' has no values", spec_.name));
    }
    take_was();
    return std::move(axis_);
  }

 private:
  void take_was() {
    if (!spec_.was || axis_.values.empty()) return;
    const auto quantity = parse_quantity(spec_.was->text);
    for (const AxisValue& value : axis_.values) {
      const bool same = value.number && quantity && quantity->dimension == value.dimension &&
                        same_number(*value.number, quantity->value, value.dimension);
      if (value.text == spec_.was->text || same) axis_.was = value;
    }
    if (!axis_.was)
      error(spec_.was->mark, fmt::format("axis '{}': 'was' is the value at which trials ran before the axis "
                                         "was added, one of {}; found '{}'",
                                         spec_.name, list(axis_.values), spec_.was->text));
  }

  void error(Mark mark, std::string message) {
    ++errors_;
    diagnostics_.error(mark, std::move(message));
  }

  void add(AxisValue value, Mark mark) {
    if (axis_.values.size() >= most_values) {
      if (!too_many_) error(mark, fmt::format("axis '{}' has more than {} values", spec_.name, most_values));
      too_many_ = true;
      return;
    }
    // By its text too, which is what a command gets and what a point is called by.
    const bool known = std::any_of(axis_.values.begin(), axis_.values.end(), [&](const AxisValue& one) {
      return one == value || one.text == value.text;
    });
    if (!known)
      axis_.values.push_back(std::move(value));
    else if (spec_.form == AxisSpec::Form::list && !spec_.nearest) {
      error(mark, fmt::format("axis '{}' lists {} twice", spec_.name, value.text));
    }
  }

  void take_offered() {
    if (offer_ == nullptr) {
      error(spec_.values_mark, fmt::format("axis '{}' is a parameter of the workload: the machine cannot say "
                                           "what 'all', 'min', 'max' or 'count' are; list its values",
                                           spec_.name));
      return;
    }
    if (offer_->values.empty()) return;
    const auto offered = spec_.form == AxisSpec::Form::all ? offer_->values : by_size(offer_->values);
    const std::size_t last = offered.size() - 1;
    if (spec_.form == AxisSpec::Form::min)
      add(offered.front(), spec_.values_mark);
    else if (spec_.form == AxisSpec::Form::max)
      add(offered.back(), spec_.values_mark);
    else if (spec_.form == AxisSpec::Form::all) {
      for (const AxisValue& value : offered) add(value, spec_.values_mark);
    } else {
      const auto count = static_cast<std::size_t>(spec_.count);
      if (count > offered.size()) {
        error(spec_.values_mark, fmt::format("axis '{}': count {} asked for, but this machine offers {}: {}",
                                             spec_.name, count, offered.size(), list(offered)));
        return;
      }
      for (std::size_t i = 0; i < count; ++i) {
        const double at = count == 1 ? static_cast<double>(last)
                                     : static_cast<double>(i * last) / static_cast<double>(count - 1);
        add(offered[static_cast<std::size_t>(std::lround(at))], spec_.values_mark);
      }
    }
  }

  void take_written(const RawValue& raw) {
    if (offer_ == nullptr) {
      const auto quantity = parse_quantity(raw.text);
      if (quantity)
        add({raw.text, quantity->value, quantity->dimension}, raw.mark);
      else
        add({raw.text, std::nullopt}, raw.mark);
      return;
    }
    if (offer_->dimension == Dimension::text) {
      take_offered_word(raw);
    } else if (const auto number = number_of(raw)) {
      take_offered_number(*number, raw);
    }
  }

  void take_offered_word(const RawValue& raw) {
    std::vector<std::string> words;
    for (const AxisValue& value : offer_->values) {
      if (value.text == raw.text) return add(value, raw.mark);
      words.push_back(value.text);
    }
    // Of words that are quantities, as of numbers.
    const auto sized = by_size(offer_->values);
    const bool have_size = std::all_of(sized.begin(), sized.end(), [](const AxisValue& value) {
      return parse_quantity(value.text).has_value();
    });
    if (have_size && !sized.empty() && raw.text == "min") return add(sized.front(), raw.mark);
    if (have_size && !sized.empty() && raw.text == "max") return add(sized.back(), raw.mark);
    // What YAML reads as yes and no.
    const bool is_switch = std::find(words.begin(), words.end(), "off") != words.end();
    std::string meant = did_you_mean(raw.text, words);
    if (is_switch && (raw.text == "no" || raw.text == "false")) meant = " (did you mean 'off'?)";
    if (is_switch && (raw.text == "yes" || raw.text == "true")) meant = " (did you mean 'on'?)";
    error(raw.mark, fmt::format("axis '{}': this machine does not offer '{}'{}; it offers: {}", spec_.name,
                                raw.text, meant, join(words, ", ")));
  }

  std::optional<double> number_of(const RawValue& raw) {
    const auto quantity = parse_quantity(raw.text);
    if (quantity && quantity->dimension == offer_->dimension) return quantity->value;
    if (raw.text == "min" && !offer_->values.empty()) return offer_->values.front().number;
    if (raw.text == "max" && !offer_->values.empty()) return offer_->values.back().number;
    std::string message =
        fmt::format("axis '{}' takes {}; found '{}'", spec_.name, describe(offer_->dimension), raw.text);
    if (quantity && quantity->dimension == Dimension::none) message += ", which has no unit";
    if (!quantity && looks_like_quantity(raw.text)) message += unit_hint(raw.text, offer_->dimension);
    error(raw.mark, message);
    return std::nullopt;
  }

  void take_offered_number(double number, const RawValue& raw) {
    const auto& offered = offer_->values;
    for (const AxisValue& value : offered) {
      const auto wanted = whole_number(raw.text), here = whole_number(value.text);
      const bool same =
          wanted && here ? *wanted == *here : same_number(*value.number, number, offer_->dimension);
      if (same) return add(value, raw.mark);
    }
    if (offer_->continuous && number >= offer_->continuous->lowest && number <= offer_->continuous->highest) {
      return add(numeric_value(number, offer_->dimension), raw.mark);
    }
    if (offered.empty()) return;
    const auto above =
        std::find_if(offered.begin(), offered.end(), [&](const AxisValue& v) { return *v.number > number; });
    const AxisValue* upper = above == offered.end() ? nullptr : &*above;
    const AxisValue* lower = above == offered.begin() ? nullptr : &*(above - 1);
    const std::string wanted = numeric_value(number, offer_->dimension).text;
    if (spec_.nearest) {
      const bool take_upper =
          lower == nullptr || (upper != nullptr && *upper->number - number < number - *lower->number);
      const AxisValue& taken = take_upper ? *upper : *lower;
      // Between two that it offers that is what was asked for; beyond them it may be a slip of the unit.
      if (lower == nullptr || upper == nullptr)
        diagnostics_.warning(
            raw.mark,
            fmt::format("axis '{}': {} lies {} that this machine offers; {} is taken (nearest)", spec_.name,
                        wanted, lower == nullptr ? "below the lowest" : "above the highest", taken.text));
      return add(taken, raw.mark);
    }
    const std::string near = lower == nullptr ? fmt::format("the lowest it offers is {}", upper->text)
                             : upper == nullptr
                                 ? fmt::format("the highest it offers is {}", lower->text)
                                 : fmt::format("its neighbours are {} and {}", lower->text, upper->text);
    error(raw.mark,
          fmt::format(
              "axis '{}': this machine does not offer {}; {} (or write {{values: [...], nearest: true}})",
              spec_.name, wanted, near));
  }

  void take_range() {
    if (offer_ != nullptr && offer_->dimension == Dimension::text) {
      error(spec_.values_mark, fmt::format("axis '{}' takes words, of which there is no range; list them: {}",
                                           spec_.name, list(offer_->values)));
      return;
    }
    std::optional<Quantity> from = bound(*spec_.from), to = bound(*spec_.to);
    if (!from || !to) return;
    if (from->dimension != to->dimension) {
      error(spec_.to->mark, fmt::format("axis '{}': 'from' is {} and 'to' is {}", spec_.name,
                                        describe(from->dimension), describe(to->dimension)));
      return;
    }
    if (to->value < from->value) {
      error(spec_.to->mark, fmt::format("axis '{}': 'to' ({}) lies below 'from' ({})", spec_.name,
                                        spec_.to->text, spec_.from->text));
      return;
    }
    if (!spec_.step && !spec_.times) return take_offered_between(from->value, to->value);
    const RawValue& raw = spec_.step ? *spec_.step : *spec_.times;
    const auto step = parse_quantity(raw.text);
    const Dimension wanted = spec_.step ? from->dimension : Dimension::none;
    if (!step || step->dimension != wanted) {
      error(raw.mark, fmt::format("axis '{}': '{}' must be {}; found '{}'", spec_.name,
                                  spec_.step ? "step" : "times", describe(wanted), raw.text));
      return;
    }
    if (spec_.step ? step->value <= 0 : step->value <= 1) {
      error(raw.mark, fmt::format("axis '{}': '{}' must be greater than {}; found '{}'", spec_.name,
                                  spec_.step ? "step" : "times", spec_.step ? 0 : 1, raw.text));
      return;
    }
    if (spec_.times && from->value <= 0) {
      error(raw.mark,
            fmt::format("axis '{}': 'times' multiplies 'from', which is {}: begin above 0, or give 'step'",
                        spec_.name, spec_.from->text));
      return;
    }
    const double slack = 1e-9 * std::abs(to->value);
    double value = from->value, last = value;
    for (std::size_t i = 0; value <= to->value + slack && !too_many_ && errors_ < most_errors; ++i) {
      take_range_value(value, from->dimension, raw.mark);
      value = spec_.step ? from->value + static_cast<double>(i + 1) * step->value : value * step->value;
      if (value > last) {
        last = value;
        continue;
      }
      error(raw.mark,
            fmt::format("axis '{}': from {} on, '{}' of {} is too small a step for a number of 15 digits",
                        spec_.name, spec_.from->text, spec_.step ? "step" : "times", raw.text));
      return;
    }
  }

  std::optional<Quantity> bound(const RawValue& raw) {
    if (offer_ != nullptr && offer_->dimension != Dimension::text) {
      const auto number = number_of(raw);
      return number ? std::optional(Quantity{*number, offer_->dimension}) : std::nullopt;
    }
    const auto quantity = parse_quantity(raw.text);
    if (!quantity)
      error(raw.mark, fmt::format("axis '{}': a range needs numbers; found '{}'", spec_.name, raw.text));
    return quantity;
  }

  void take_offered_between(double from, double to) {
    if (offer_ == nullptr) {
      error(spec_.values_mark,
            fmt::format("axis '{}': a range of a workload parameter needs 'step' or 'times'", spec_.name));
      return;
    }
    for (const AxisValue& value : offer_->values) {
      const bool above = *value.number >= from || same_number(*value.number, from, offer_->dimension);
      const bool below = *value.number <= to || same_number(*value.number, to, offer_->dimension);
      if (above && below) add(value, spec_.values_mark);
    }
    if (axis_.values.empty()) {
      error(spec_.values_mark,
            fmt::format("axis '{}': this machine offers nothing from {} to {}; it offers: {}", spec_.name,
                        spec_.from->text, spec_.to->text, list(offer_->values)));
    }
  }

  void take_range_value(double value, Dimension dimension, Mark mark) {
    if (offer_ == nullptr) {
      add({format_quantity(value, dimension, 10), value, dimension}, mark);
    } else {
      take_offered_number(value, {numeric_value(value, dimension).text, mark});
    }
  }

  static std::string list(const std::vector<AxisValue>& values) {
    std::vector<std::string> texts;
    for (const AxisValue& value : values) texts.push_back(value.text);
    if (texts.size() > 12)
      return fmt::format("{} values from {} to {}", texts.size(), texts.front(), texts.back());
    return join(texts, ", ");
  }

  const AxisSpec& spec_;
  const AxisOffer* offer_;
  Diagnostics& diagnostics_;
  PlanAxis axis_;
  bool too_many_ = false;
  int errors_ = 0;
};

}  // namespace

PlanAxis resolve_axis(const AxisSpec& spec, const AxisOffer* offer, Diagnostics& diagnostics) {
  return AxisResolver(spec, offer, diagnostics).resolve();
}

std::optional<AxisValue> match_axis_value(const RawValue& raw, const PlanAxis& axis, std::string_view what,
                                          Diagnostics& diagnostics) {
  std::vector<std::string> words;
  const auto quantity = parse_quantity(raw.text);
  // As it is written, before what only means the same number: "01" and "1" are two values of a parameter.
  const auto as_written = std::find_if(axis.values.begin(), axis.values.end(),
                                       [&](const AxisValue& value) { return value.text == raw.text; });
  if (as_written != axis.values.end()) return *as_written;
  for (const AxisValue& value : axis.values) {
    const bool comparable = quantity && value.number &&
                            (axis.dimension == Dimension::text || quantity->dimension == axis.dimension);
    if (comparable && same_number(quantity->value, *value.number, axis.dimension)) return value;
    words.push_back(value.text);
  }
  // A word among them is neither greater nor less than a number.
  const bool in_order = std::all_of(axis.values.begin(), axis.values.end(), [&](const AxisValue& value) {
    return value.number && value.dimension == axis.values.front().dimension;
  });
  if (!axis.values.empty() && in_order) {
    const auto less = [](const AxisValue& a, const AxisValue& b) { return a.number < b.number; };
    if (raw.text == "min") return *std::min_element(axis.values.begin(), axis.values.end(), less);
    if (raw.text == "max") return *std::max_element(axis.values.begin(), axis.values.end(), less);
  }
  diagnostics.error(
      raw.mark, fmt::format("{}: '{}' is no value of axis '{}'; its values: {}", what, raw.text, axis.name,
                            words.size() > 12 ? fmt::format("{} to {}", words.front(), words.back())
                                              : join(words, ", ")));
  return std::nullopt;
}

}  // namespace dvfs_plan
