#include "results/report/amounts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace dvfs_plan {
namespace {

struct Prefix {
  double factor = 1;
  std::string_view symbol;
};

Prefix prefix_for(double size, std::string_view unit) {
  constexpr std::array takes{"J", "W", "Hz", "B", "s"};
  if (std::find(takes.begin(), takes.end(), unit) == takes.end()) return {};
  if (!std::isfinite(size) || size == 0 || (size >= 0.1 && size < 10000)) return {};
  constexpr std::array<Prefix, 4> large{{{1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};
  constexpr std::array<Prefix, 5> small{{{1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}, {1e-12, "p"}, {1e-15, "f"}}};
  if (size >= 10000) {
    if (unit == "s") return {};
    for (const Prefix& scale : large) {
      if (size < 1000 * scale.factor) return scale;
    }
    return large.back();
  }
  for (const Prefix& scale : small) {
    if (size >= scale.factor) return scale;
  }
  return small.back();
}

// Of the first significant digit: 0 for 1 to 9.99.., -1 for 0.1.
int place_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value))));
}

// Rounded to that many decimals; below zero to tens, hundreds.
std::string rounded(double value, int decimals) {
  if (decimals >= 0) return fmt::format("{:.{}f}", value, decimals);
  const double step = std::pow(10, -decimals), shown = std::round(value / step) * step;
  return fmt::format("{:.0f}", shown == 0 ? 0 : shown);  // no minus before a zero
}

// So that `value` has that many significant digits.
int decimals_for(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  // 9.9996 with four digits is 10.00.
  const int first = digits - 1 - place_of(value);
  const double shown = std::round(value * std::pow(10, first)) / std::pow(10, first);
  return digits - 1 - place_of(shown);
}

std::string with_unit(std::string number, std::string_view prefix, std::string_view unit) {
  return unit.empty() ? std::move(number) : fmt::format("{} {}{}", number, prefix, unit);
}

// A plain number of any size, or one that a unit without prefixes has.
std::string plain_number(double value, int digits) {
  const double size = std::abs(value);
  if (value != 0 && (size < 1e-4 || size >= 1e9)) return fmt::format("{:.{}e}", value, digits - 1);
  return rounded(value, std::max(0, decimals_for(value, digits)));
}

}  // namespace

std::string amount(double value, std::string_view unit) {
  const Prefix scale = prefix_for(std::abs(value), unit);
  return with_unit(plain_number(value / scale.factor, 4), scale.symbol, unit);
}

std::string amount(const Estimate& estimate, std::string_view unit) {
  if (!estimate.half_width || !std::isfinite(*estimate.half_width)) return amount(estimate.mean, unit);
  const double size = std::abs(estimate.mean);
  const Prefix scale = prefix_for(std::max(size, *estimate.half_width), unit);
  const double mean = estimate.mean / scale.factor, half = *estimate.half_width / scale.factor;
  const bool by_powers = size != 0 && (std::abs(mean) < 1e-4 || std::abs(mean) >= 1e9);
  if (by_powers) return with_unit(fmt::format("{:.3e} ± {:.1e}", mean, half), scale.symbol, unit);
  // No more than six digits of the mean: what repeats to a millionth is not known to a billionth.
  constexpr int most = 6, of_half = 2;
  int decimals = mean == 0 ? 4 : half == 0 ? std::max(0, decimals_for(mean, 4)) : decimals_for(mean, most);
  if (half > 0) decimals = std::min(decimals, decimals_for(half, of_half));
  const std::string width = rounded(half, decimals);
  const bool none_shown = half > 0 && std::strtod(width.c_str(), nullptr) == 0;
  return with_unit(fmt::format("{} ± {}{}", rounded(mean, decimals), none_shown ? "<" : "",
                               none_shown ? rounded(std::pow(10, -decimals), decimals) : width),
                   scale.symbol, unit);
}

std::string amounts_from_to(double low, double high, std::string_view unit) {
  const Prefix scale = prefix_for(std::max(std::abs(low), std::abs(high)), unit);
  return with_unit(
      fmt::format("{} to {}", plain_number(low / scale.factor, 4), plain_number(high / scale.factor, 4)),
      scale.symbol, unit);
}

std::string one_of(std::string_view plural) {
  if (plural.empty()) return "unit";
  const auto without = [&](std::size_t n) { return std::string(plural.substr(0, plural.size() - n)); };
  if (plural.size() > 4 && plural.ends_with("ies")) return without(3) + "y";
  for (const std::string_view ending : {"ches", "shes", "sses", "xes"}) {
    if (plural.size() > ending.size() + 1 && plural.ends_with(ending)) return without(2);
  }
  if (plural.size() > 2 && plural.ends_with("s") && !plural.ends_with("ss")) return without(1);
  return std::string(plural);
}

}  // namespace dvfs_plan
