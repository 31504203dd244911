// When to look at a sensor that renews its value on a grid of its own: just after each renewal, so that each
// is seen as soon as it can be, and as seldom as that allows. Pure.
//
// From the start it looks as fast as it may until it sees a renewal; from then on once an update, at the
// phase of that sight. Every few updates, and whenever a renewal is late, it looks a little before and then
// again until the value is new, so that some renewals are always known narrowly.
#pragma once

#include "base/clock.hpp"

namespace dvfs_plan {

class FollowedUpdates {
 public:
  // No update: follows nothing.
  FollowedUpdates() = default;
  explicit FollowedUpdates(Nanoseconds update) : update_(update) {}
  bool follows() const { return update_ > 0; }

  void begin();
  // After a look at `time` that took `cost`; `changed`: it showed another value than the look before. Returns
  // when to look next.
  Nanoseconds next(Nanoseconds time, Nanoseconds cost, bool changed);

 private:
  Nanoseconds update_ = 0;
  Nanoseconds last_look_ = 0;
  Nanoseconds due_ = 0;  // when the next renewal should be visible; 0: not known
  int since_narrow_ = 0, repeats_ = 0;
};

}  // namespace dvfs_plan
