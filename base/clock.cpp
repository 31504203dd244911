#include "base/clock.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ctime>

namespace dvfs_plan {

Nanoseconds SystemClock::now() const {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanoseconds>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

void SystemClock::sleep_until(Nanoseconds when) {
  const timespec t{.tv_sec = when / 1'000'000'000, .tv_nsec = when % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) == EINTR) {
  }
}

std::string SystemClock::wall_time() const {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  tm broken_down{};
  gmtime_r(&t.tv_sec, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &broken_down);
  return fmt::format("{}.{:03}Z", text, t.tv_nsec / 1'000'000);
}

std::string SystemClock::wall_time_in(Seconds from_now) const {
  const std::time_t then = std::time(nullptr) + static_cast<std::time_t>(from_now.value());
  tm broken_down{};
  gmtime_r(&then, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &broken_down);
  return text;
}

SystemClock& system_clock() {
  static SystemClock& clock = *new SystemClock;  // never destroyed
  return clock;
}

}  // namespace dvfs_plan
