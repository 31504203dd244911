#include "base/clock.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ctime>

namespace dvfs_plan {

namespace {

std::string to_the_second(std::time_t when) {
  tm broken_down{};
  gmtime_r(&when, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &broken_down);
  return text;
}

}  // namespace

Nanoseconds suspended_so_far() {
  timespec all{}, awake{};
  clock_gettime(CLOCK_MONOTONIC, &awake);
  clock_gettime(CLOCK_BOOTTIME, &all);
  return static_cast<Nanoseconds>(all.tv_sec - awake.tv_sec) * 1'000'000'000 + all.tv_nsec - awake.tv_nsec;
}

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
  return fmt::format("{}.{:03}Z", to_the_second(t.tv_sec), t.tv_nsec / 1'000'000);
}

std::string SystemClock::wall_time_in(Seconds from_now) const {
  return to_the_second(std::time(nullptr) + static_cast<std::time_t>(from_now.value())) + "Z";
}

SystemClock& system_clock() {
  static SystemClock& clock = *new SystemClock;  // never destroyed
  return clock;
}

}  // namespace dvfs_plan
