// A clock that goes as it is told.
#pragma once

#include <algorithm>
#include <string>

#include "base/clock.hpp"

namespace dvfs_plan {

class VirtualClock : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  void sleep_until(Nanoseconds when) override { now_ = std::max(now_, when); }
  std::string wall_time() const override { return {}; }

 private:
  Nanoseconds now_ = 0;
};

}  // namespace dvfs_plan
