// Quantities with units: what users write ("1.8 GHz"), what the code holds (Hertz), what reports print.
//
// Strong types keep joules from being added to watts. Everything is held in SI base units; conversion
// happens once, at the edge (sysfs says kHz and microwatts, the experiment file says GHz).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace dvfs_plan {

template <class Tag>
class Unit {
 public:
  constexpr Unit() = default;
  constexpr explicit Unit(double value) : value_(value) {}
  constexpr double value() const { return value_; }
  constexpr auto operator<=>(const Unit&) const = default;
  constexpr Unit operator+(Unit other) const { return Unit{value_ + other.value_}; }
  constexpr Unit operator-(Unit other) const { return Unit{value_ - other.value_}; }
  constexpr Unit operator*(double factor) const { return Unit{value_ * factor}; }
  constexpr double operator/(Unit other) const { return value_ / other.value_; }

 private:
  double value_ = 0;
};

using Hertz = Unit<struct HertzTag>;
using Joules = Unit<struct JoulesTag>;
using Watts = Unit<struct WattsTag>;
using Seconds = Unit<struct SecondsTag>;

constexpr Joules operator*(Watts power, Seconds time) {
  return Joules{power.value() * time.value()};
}
constexpr Watts operator/(Joules energy, Seconds time) {
  return Watts{energy.value() / time.value()};
}

// What a number measures. `none` is a plain number, `text` no number at all.
enum class Dimension { text, none, frequency, time, power, energy, ratio, bytes, temperature };

// A user's word for a dimension, for error messages: "a frequency such as 1.8 GHz".
std::string_view describe(Dimension dimension);

struct Quantity {
  double value = 0;  // Hz, s, W, J, 1 (a ratio: 5 % is 0.05), bytes, degrees Celsius
  Dimension dimension = Dimension::none;
};

// Reads "1.8 GHz", "500ms", "10 %", "3". Units are case-sensitive as SI writes them (mW is not MW).
// std::nullopt when the text is no number with an optional known unit.
std::optional<Quantity> parse_quantity(std::string_view text);

// The plain number in `text`, all of it; no locale, no hex, no "inf" or "nan".
std::optional<double> parse_number(std::string_view text);

// How many `to` one `from` is, "ms" in "s": 0.001; a unit that is not known here (GB/s) is only itself. "1" is no unit.
// std::nullopt: they do not compare.
std::optional<double> unit_factor(std::string_view from, std::string_view to);
// What was meant as a number, and is none: "1,234", "nan", "5e".
bool is_meant_as_number(const std::string& word);
// As it is compared: "1" is none.
std::string plain_unit(const std::string& unit);
// "'ms'", "no unit".
std::string unit_in_words(const std::string& unit);

// Whether `text` begins as a number does and so was probably meant as a quantity ("1.8 Ghz").
bool looks_like_quantity(std::string_view text);

// The nearest known unit to one that is not known ("Ghz" -> "GHz"); empty if none is near.
std::string suggest_unit(std::string_view text);
// " (did you mean the unit 'GHz'?)" where `wanted` has units like the one written: of another case, that begin with it ("5 m" is
// min or ms) or that it begins with ("10 sec"), or one letter away; empty: none is near.
std::string unit_hint(std::string_view text, Dimension wanted);

// "1.8 GHz", "100 MHz", "52.8 J": at most `digits` significant digits, no trailing zeros.
std::string format_quantity(double value, Dimension dimension, int digits = 4);
std::string format(Hertz frequency);

// A measured clock written as the requested one is: "1395 MHz" beside "1980 MHz", "1.395 GHz" beside "1.98
// GHz".
std::string format_clock(double hertz, std::string_view like);

// "1 h 05 min", "12 min 30 s", "3.2 s", "80 ms".
std::string format_duration(Seconds duration);

}  // namespace dvfs_plan
