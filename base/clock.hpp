// Time. Everything measured is on CLOCK_MONOTONIC, in nanoseconds; wall time is stored once a trial so
// that people can find it in their logs.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.hpp"

namespace dvfs_plan {

using Nanoseconds = std::int64_t;

constexpr Nanoseconds nanoseconds(Seconds s) {
  return static_cast<Nanoseconds>(s.value() * 1e9);
}
constexpr Seconds seconds(Nanoseconds ns) {
  return Seconds{static_cast<double>(ns) * 1e-9};
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() const = 0;             // CLOCK_MONOTONIC
  virtual void sleep_until(Nanoseconds when) = 0;  // returns at once for a time gone by
  virtual std::string wall_time() const = 0;       // UTC, ISO 8601 with milliseconds
};

// How long this machine has been suspended since it was started: CLOCK_MONOTONIC stands still meanwhile, meters and other machines do not
// (clock_gettime(2)).
Nanoseconds suspended_so_far();

class SystemClock : public Clock {
 public:
  std::string wall_time_in(Seconds from_now) const;  // without the milliseconds
  Nanoseconds now() const override;
  void sleep_until(Nanoseconds when) override;
  std::string wall_time() const override;
};
// One that lives as long as the process, for threads that may.
SystemClock& system_clock();

}  // namespace dvfs_plan
