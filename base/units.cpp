#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

struct KnownUnit {
  std::string_view name;
  double factor;
  Dimension dimension;
};

constexpr std::array known_units{
    KnownUnit{"Hz", 1, Dimension::frequency},
    KnownUnit{"kHz", 1e3, Dimension::frequency},
    KnownUnit{"MHz", 1e6, Dimension::frequency},
    KnownUnit{"GHz", 1e9, Dimension::frequency},
    KnownUnit{"ns", 1e-9, Dimension::time},
    KnownUnit{"us", 1e-6, Dimension::time},
    KnownUnit{"ms", 1e-3, Dimension::time},
    KnownUnit{"s", 1, Dimension::time},
    KnownUnit{"min", 60, Dimension::time},
    KnownUnit{"h", 3600, Dimension::time},
    KnownUnit{"uW", 1e-6, Dimension::power},
    KnownUnit{"mW", 1e-3, Dimension::power},
    KnownUnit{"W", 1, Dimension::power},
    KnownUnit{"kW", 1e3, Dimension::power},
    KnownUnit{"uJ", 1e-6, Dimension::energy},
    KnownUnit{"mJ", 1e-3, Dimension::energy},
    KnownUnit{"J", 1, Dimension::energy},
    KnownUnit{"kJ", 1e3, Dimension::energy},
    KnownUnit{"Wh", 3600, Dimension::energy},
    KnownUnit{"kWh", 3.6e6, Dimension::energy},
    KnownUnit{"%", 0.01, Dimension::ratio},
    KnownUnit{"B", 1, Dimension::bytes},
    KnownUnit{"KiB", 1024, Dimension::bytes},
    KnownUnit{"MiB", 1048576, Dimension::bytes},
    KnownUnit{"GiB", 1073741824, Dimension::bytes},
    KnownUnit{"C", 1, Dimension::temperature},
    KnownUnit{"degC", 1, Dimension::temperature},
    KnownUnit{"mC", 1e-3, Dimension::temperature},
};

struct NumberAndRest {
  double number;
  std::string_view rest;
};

std::optional<NumberAndRest> leading_number(std::string_view text) {
  text = trim(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::general);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  return NumberAndRest{number, trim(text.substr(static_cast<std::size_t>(end - text.data())))};
}

// Without an exponent, which a workload may not read, but for numbers below 1e-30.
std::string plain(double value, int digits) {
  const std::string text = fmt::format("{:.{}g}", value, digits);
  const auto exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  constexpr int least_power = -30;
  const int power = std::atoi(text.c_str() + exponent + 1);
  if (power > 0) return fmt::format("{:.0f}", value);
  const int places = digits - 1 - power;
  if (power < least_power) return text;
  std::string fixed = fmt::format("{:.{}f}", value, places);
  fixed.erase(fixed.find_last_not_of('0') + 1);
  return fixed;
}

}  // namespace

std::string_view describe(Dimension dimension) {
  switch (dimension) {
    case Dimension::text:
      return "a word";
    case Dimension::none:
      return "a plain number";
    case Dimension::frequency:
      return "a frequency such as 1.8 GHz";
    case Dimension::time:
      return "a time such as 500 ms";
    case Dimension::power:
      return "a power such as 250 W";
    case Dimension::energy:
      return "an energy such as 20 J";
    case Dimension::ratio:
      return "a share such as 10 %";
    case Dimension::bytes:
      return "a size such as 1 MiB";
    case Dimension::temperature:
      return "a temperature such as 45 C";
  }
  return "a value";
}

std::optional<Quantity> parse_quantity(std::string_view text) {
  const auto parts = leading_number(text);
  if (!parts) return std::nullopt;
  if (parts->rest.empty()) return Quantity{parts->number, Dimension::none};
  for (const KnownUnit& unit : known_units) {
    if (unit.name == parts->rest) return Quantity{parts->number * unit.factor, unit.dimension};
  }
  return std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  const auto parts = leading_number(text);
  if (!parts || !parts->rest.empty()) return std::nullopt;
  return parts->number;
}

bool is_meant_as_number(const std::string& word) {
  const auto from = word.find_first_not_of("+-.");
  if (from == std::string::npos) return false;
  if (word[from] >= '0' && word[from] <= '9') return true;
  for (const char* name : {"nan", "inf", "infinity"}) {
    if (equal_ignoring_case(word.substr(from), name)) return true;
  }
  return false;
}

std::string plain_unit(const std::string& unit) {
  return unit == "1" ? std::string() : unit;
}

std::string unit_in_words(const std::string& unit) {
  return plain_unit(unit).empty() ? "no unit" : "'" + printable(unit) + "'";
}

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  if (plain_unit(std::string(from)) == plain_unit(std::string(to))) return 1;
  const auto known = [](std::string_view name) {
    return std::find_if(known_units.begin(), known_units.end(),
                        [&](const KnownUnit& unit) { return unit.name == name; });
  };
  const auto one = known(from), other = known(to);
  if (one == known_units.end() || other == known_units.end() || one->dimension != other->dimension)
    return std::nullopt;
  return one->factor / other->factor;
}

bool looks_like_quantity(std::string_view text) {
  return leading_number(text).has_value();
}

std::string suggest_unit(std::string_view text) {
  const auto parts = leading_number(text);
  if (!parts) return {};
  std::vector<std::string> names;
  for (const KnownUnit& unit : known_units) {
    if (equal_ignoring_case(unit.name, parts->rest)) return std::string(unit.name);
    names.emplace_back(unit.name);
  }
  return nearest_word(parts->rest, names);
}

std::string unit_hint(std::string_view text, Dimension wanted) {
  const auto parts = leading_number(text);
  if (!parts || parts->rest.empty()) return {};
  const bool is_right = std::any_of(known_units.begin(), known_units.end(), [&](const KnownUnit& unit) {
    return unit.dimension == wanted && unit.name == parts->rest;
  });
  if (is_right) return {};  // the number is not
  std::vector<std::string> near, all;
  const auto begins_with = [&](std::string_view name) {
    return name.size() > parts->rest.size() &&
           equal_ignoring_case(name.substr(0, parts->rest.size()), parts->rest);
  };
  for (const KnownUnit& unit : known_units) {
    if (unit.dimension != wanted) continue;
    if (equal_ignoring_case(unit.name, parts->rest))
      return fmt::format(" (did you mean the unit '{}'?)", unit.name);
    if (begins_with(unit.name)) near.emplace_back(unit.name);
    // Of one letter any other is one edit away.
    if (unit.name.size() > 1) all.emplace_back(unit.name);
  }
  // "sec", "minutes", "hours".
  std::string_view longest;
  for (const KnownUnit& unit : known_units) {
    const bool starts = unit.dimension == wanted && parts->rest.size() > unit.name.size() &&
                        equal_ignoring_case(parts->rest.substr(0, unit.name.size()), unit.name);
    if (starts && unit.name.size() > longest.size()) longest = unit.name;
  }
  if (near.empty() && !longest.empty()) near.emplace_back(longest);
  if (near.empty() && parts->rest.size() > 1) {
    if (auto nearest = nearest_word(parts->rest, all); !nearest.empty()) near.push_back(std::move(nearest));
  }
  return near.empty() ? std::string{} : fmt::format(" (did you mean the unit '{}'?)", join(near, "' or '"));
}

std::string format_quantity(double value, Dimension dimension, int digits) {
  const double size = std::abs(value);
  switch (dimension) {
    case Dimension::frequency:
      if (size >= 1e9) return plain(value / 1e9, std::max(digits, 4)) + " GHz";
      if (size >= 1e6) return plain(value / 1e6, std::max(digits, 4)) + " MHz";
      if (size >= 1e3) return plain(value / 1e3, digits) + " kHz";
      return plain(value, digits) + " Hz";
    case Dimension::time:
      return plain(value, digits) + " s";
    case Dimension::power:
      return plain(value, digits) + " W";
    case Dimension::energy:
      return plain(value, digits) + " J";
    case Dimension::ratio:
      return plain(value * 100, digits) + " %";
    case Dimension::bytes:
      return plain(value, 15) + " B";
    case Dimension::temperature:
      return plain(value, digits) + " C";
    case Dimension::text:
    case Dimension::none:
      break;
  }
  return plain(value, 15);
}

std::string format(Hertz frequency) {
  return format_quantity(frequency.value(), Dimension::frequency, 7);
}

std::string format_clock(double hertz, std::string_view like) {
  constexpr double whole_from = 100e6;  // clocks below are told with their fractions
  if (like.ends_with(" MHz"))
    return hertz >= whole_from ? fmt::format("{:.0f} MHz", hertz * 1e-6)
                               : fmt::format("{:.4g} MHz", hertz * 1e-6);
  return format_quantity(hertz, Dimension::frequency);
}

std::string format_duration(Seconds duration) {
  const double seconds = duration.value();
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = std::llround(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace dvfs_plan
