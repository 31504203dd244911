#include "probes/follow.hpp"

#include <algorithm>

namespace dvfs_plan {
namespace {

constexpr int updates_between_checks = 8;
// A value that does not change is looked at so often an update, not more: it may be steady.
constexpr int looks_at_steady = 2;

}  // namespace

void FollowedUpdates::begin() {
  last_look_ = due_ = 0;
  since_narrow_ = repeats_ = 0;
}

Nanoseconds FollowedUpdates::next(Nanoseconds time, Nanoseconds cost, bool changed) {
  // As near as looks may follow each other: never is a CPU kept busy for long, and finer than some per cent
  // of an update is finer than renewals keep to their grid.
  const Nanoseconds fine = std::max<Nanoseconds>({cost + cost / 2, update_ / 30, 100'000});
  const Nanoseconds since = last_look_ == 0 ? update_ : time - last_look_;
  last_look_ = time;
  if (!changed) {
    ++repeats_;
    // Not within an update and a half: a steady value, or a sensor that stands still.
    if (repeats_ * fine > update_ + update_ / 2) {
      due_ = 0;
      return time + update_ / looks_at_steady;
    }
    // Between two renewals there is nothing to see.
    if (due_ != 0 && time + fine < due_ - 2 * fine) return due_ - 2 * fine;
    return time + fine;
  }
  repeats_ = 0;
  const bool narrow = since <= 3 * fine;
  if (narrow || due_ == 0) {
    due_ = time + update_;
    since_narrow_ = narrow ? 0 : updates_between_checks;
  } else {
    // It was there already; since when is not known.
    due_ = std::min(due_, time) + update_;
    if (due_ < time) due_ = time + update_;
    ++since_narrow_;
  }
  if (since_narrow_ >= updates_between_checks) return std::max(time + fine, due_ - 2 * fine);
  return due_;
}

}  // namespace dvfs_plan
