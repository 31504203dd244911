#include "orchestrator/commands/own_meters.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "orchestrator/commands/chosen_probes.hpp"

namespace dvfs_plan {
namespace {

constexpr Seconds listened{1}, between_readings{0.05};
constexpr std::size_t shown = 3;

// Of one channel, while it was listened to.
struct Heard {
  int values = 0;
  std::string first;
};

std::string line_of(const Channel& channel, const Heard& heard) {
  if (heard.values == 0)
    return fmt::format("{}: no value within {:g} s (a night waits 10 s for the first)", channel.name,
                       listened.value());
  return fmt::format("{}: {} in {:g} s, first {}", channel.name, counted(heard.values, "value"),
                     listened.value(), heard.first);
}

struct MeterListener {
  explicit MeterListener(Probe& probe)
      : meter(probe), heard(probe.channels().size()), samples(heard.size()) {}

  Probe& meter;
  std::vector<Heard> heard;
  std::vector<Sample> samples;
  bool gone = false;

  void look() {
    if (gone) return;
    do {
      meter.read(samples);
      for (std::size_t i = 0; i < samples.size(); ++i) {
        gone = gone || samples[i].status == ReadingStatus::gone;
        if (!samples[i].value) continue;
        if (static_cast<std::size_t>(heard[i].values++) < shown)
          heard[i].first += fmt::format("{}{:g} {}", heard[i].first.empty() ? "" : ", ", *samples[i].value,
                                        meter.channels()[i].unit);
      }
    } while (meter.has_more());
  }

  void tell(OwnMeters& all) {
    std::vector<std::string>& lines = all.lines;
    for (const Heard& one : heard) all.told_a_value = all.told_a_value || one.values > 0;
    for (std::size_t i = 0; i < heard.size(); ++i) lines.push_back(line_of(meter.channels()[i], heard[i]));
    // What it says that is no value of a channel is told where a trial begins; one that has ended would be started again there.
    if (gone)
      lines.push_back(meter.name() + ": it ended; a night starts it again, 5 times without a value between");
    else if (const std::string told = meter.begin(); !told.empty())
      lines.push_back(meter.name() + ": " + told);
    if (const std::string words = meter.last_words(); !words.empty())
      lines.push_back(fmt::format("{}: on stderr it said '{}'", meter.name(), words));
  }
};

}  // namespace

OwnMeters hear_own_meters(const Experiment& experiment, const GuardClient& guard) {
  SystemClock clock;
  Launcher launcher;
  launcher.group().has_only_marked({});
  guard.keep_from(launcher.group());
  OwnMeters all;
  const auto meters = start_own_meters(experiment, launcher, clock);
  std::vector<MeterListener> listeners;
  for (const auto& meter : meters) listeners.emplace_back(*meter);
  // All of them in the same second: what one says while another is listened to would be counted as of its own.
  const Nanoseconds until = clock.now() + nanoseconds(listened);
  const auto some_speak = [&] {
    return std::any_of(listeners.begin(), listeners.end(),
                       [](const MeterListener& one) { return !one.gone; });
  };
  while (clock.now() < until && some_speak()) {
    clock.sleep_until(std::min(until, clock.now() + nanoseconds(between_readings)));
    for (MeterListener& one : listeners) one.look();
  }
  for (MeterListener& one : listeners) one.tell(all);
  return all;
}

}  // namespace dvfs_plan
