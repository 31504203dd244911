// What no quantity can be. Apart from reading.cpp, which the extension for SQLite is made of too.
#include <fmt/format.h>

#include <cmath>

#include "base/reading.hpp"

namespace dvfs_plan {

double most_watts(const Channel& channel) {
  constexpr double of_a_part = 5e3, of_a_machine = 1e6;
  for (const char* part : {"gpu-", "package-", "dram-", "core-", "uncore-"}) {
    if (channel.domain.starts_with(part)) return of_a_part;
  }
  return of_a_machine;
}

std::string impossible_because(const Channel& channel, double value) {
  if (std::isnan(value))
    return channel.unit.empty() ? "it is no number" : fmt::format("it tells no number of {}", channel.unit);
  if (std::isinf(value)) return "it is no finite number";
  struct Bounds {
    std::string_view unit, quantity;
    double least, most;
  };
  const Bounds all[] = {
      {"W", "a power", 0, most_watts(channel)}, {"J", "an energy", 0, 1e15}, {"Hz", "a clock", 0, 1e11},
      {"C", "a temperature", -100, 300},        {"%", "a share", 0, 1000},   {"s", "a time", 0, 1e12},
      {"B", "an amount of memory", 0, 1e18}};
  for (const Bounds& bounds : all) {
    if (channel.unit != bounds.unit) continue;
    if (value < bounds.least)
      return fmt::format("{} cannot be below {:g} {}", bounds.quantity, bounds.least, bounds.unit);
    if (value > bounds.most)
      return fmt::format(
          "{}{} cannot be above {:g} {}", bounds.quantity,
          channel.unit == "W" && !channel.domain.empty() ? fmt::format(" of {}", channel.domain) : "",
          bounds.most, bounds.unit);
  }
  return {};
}

}  // namespace dvfs_plan
