// Channels and readings for tests of what becomes of them.
#pragma once

#include "base/reading.hpp"

namespace dvfs_plan {

inline constexpr Nanoseconds ms = 1'000'000, s = 1'000'000'000;

inline Channel gauge(const std::string& domain = "system", const std::string& within = "") {
  return {.name = "g:" + domain,
          .probe = "g",
          .unit = "W",
          .kind = ChannelKind::gauge,
          .domain = domain,
          .within = within,
          .wraps_at = {},
          .source = "file"};
}
inline Channel counter(const std::string& domain, std::optional<double> wraps_at = {},
                       const std::string& within = "") {
  return {.name = "c:" + domain,
          .probe = "c",
          .unit = "J",
          .kind = ChannelKind::counter,
          .domain = domain,
          .within = within,
          .wraps_at = wraps_at,
          .source = "file"};
}
inline Reading at(Nanoseconds time, double value, std::uint32_t channel = 0) {
  return {channel, time, value, ReadingStatus::ok};
}
inline Reading without(Nanoseconds time, ReadingStatus status, std::uint32_t channel = 0) {
  return {channel, time, std::nullopt, status};
}

}  // namespace dvfs_plan
