// When a sensor renewed its value, from looks that were faster or slower than it. Pure.
//
// A sensor renews its value every `update`; looking faster only repeats it, looking slower skips some. A look
// that found a new value knows no more than that the last renewal lies within the shorter of the time since
// the look before and one update. Renewals come on a grid, so looks that caught some of them narrowly place
// the others as well.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace dvfs_plan {

// One look: when, s; and what it said.
struct Look {
  double time = 0, value = 0;
};

struct FreshValue {
  double time = 0;       // s
  double value = 0;      // J without wraps, or W
  double uncertain = 0;  // s: it became visible within +- this of `time`
  // Of one that is told (told_pace.hpp): s, it was so within +- this of when it was told; and whether that was behind a silence.
  double off = 0;
  bool after_silence = false;
};

struct FreshValues {
  std::vector<FreshValue> values;
  std::optional<double> update;  // s between renewals, as seen or as known before; nullopt: neither
  bool repeats = false;          // looks were so fast that values repeat
  double spacing = 0;            // s: median between looks
  double slack = 0;              // s: how late an edge may be read by a sensor that speaks when it likes
  std::vector<std::pair<double, double>> pauses;  // stretches in which nobody looked for two updates
};

// `looks` in time order. `known_update`: from the audit.
// A counter: each renewal changes the value.
FreshValues fresh_counts(std::span<const Look> looks, std::optional<double> known_update);
// A gauge on a steady load says the same value again at each of its updates.
FreshValues fresh_levels(std::span<const Look> looks, std::optional<double> known_update);

// Of a source that speaks when it has something new: each reading is as new as its time.
FreshValues told_values(std::span<const Look> looks);
// Of a counter: nothing that runs draws 0 W, so one that tells the same number again hangs, or counts coarsely.
// What it tells behind that was drawn all the while, and not in the moment before.
FreshValues told_counts(std::span<const Look> looks);

// Whether a counter is looked at, or told, more often than it is renewed: the same number again is no news.
bool says_it_again(std::span<const Look> looks);

// The typical time between new values, where looks were frequent enough to see it.
std::optional<double> seen_update(std::span<const Look> looks);

}  // namespace dvfs_plan
