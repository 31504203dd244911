#include "results/energy/fresh_values.hpp"

#include <algorithm>
#include <cmath>

#include "results/energy/median.hpp"
#include "results/energy/told_pace.hpp"

namespace dvfs_plan {
namespace {

// Values change so seldom on a steady load that fewer changes tell nothing about how often they could.
constexpr std::size_t changes_to_tell = 5;
// Looks must be well denser than the updates, or each look is an update of its own.
constexpr double denser = 1.5;
// How far a renewal may lie off its grid, in updates: an H200's lie within 2 % (recorded), and a look
// knows its own moment no better.
constexpr double off_the_grid = 0.04;
// Looks closer together than this, in updates, miss no renewal.
constexpr double misses_none = 0.97;
// Renewals on either side that help to place one.
constexpr std::size_t neighbours = 20;
// Of a period that few renewals told, a share.
constexpr double period_known_to = 0.003;

// The typical spacing of the first sights of new values: those near the lower quartile. Longer ones are
// updates that happened to repeat the value.
std::optional<double> typical_update(std::span<const Look> looks) {
  std::vector<double> spacings;
  std::optional<double> last;
  for (std::size_t i = 1; i < looks.size(); ++i) {
    if (looks[i].value == looks[i - 1].value) continue;
    if (last) spacings.push_back(looks[i].time - *last);
    last = looks[i].time;
  }
  if (spacings.size() < changes_to_tell) return std::nullopt;
  std::sort(spacings.begin(), spacings.end());
  const double most = 1.5 * spacings[spacings.size() / 4];
  spacings.erase(std::upper_bound(spacings.begin(), spacings.end(), most), spacings.end());
  return upper_median(spacings);
}

std::optional<double> typical_look(std::span<const Look> looks) {
  if (looks.size() < 4) return std::nullopt;
  std::vector<double> spacings;
  for (std::size_t i = 1; i < looks.size(); ++i) spacings.push_back(looks[i].time - looks[i - 1].time);
  return upper_median(spacings);
}

FreshValues begin_with(std::span<const Look> looks, std::optional<double> known_update) {
  FreshValues fresh;
  const auto look = typical_look(looks);
  if (looks.size() > 1)
    fresh.spacing =
        look.value_or((looks.back().time - looks.front().time) / static_cast<double>(looks.size() - 1));
  fresh.slack = 2 * look.value_or(0);
  // What the audit found by fast looks is better than what slower ones suggest.
  fresh.update = known_update ? known_update : seen_update(looks);
  fresh.repeats = fresh.update && look && *fresh.update >= denser * *look;
  if (look) {
    const double long_for_it = 2 * std::max(*look, fresh.update.value_or(0));
    for (std::size_t i = 1; i < looks.size(); ++i) {
      if (looks[i].time - looks[i - 1].time > long_for_it)
        fresh.pauses.emplace_back(looks[i - 1].time, looks[i].time);
    }
  }
  return fresh;
}

// A renewal that some look found: it lies within (low, high].
struct Found {
  double low = 0, high = 0, value = 0;
  std::size_t grid = 0;  // which point of its grid; counted within `segment`
  int segment = -1;      // grids that hang together; -1: on none
  double width() const { return high - low; }
  double middle() const { return (low + high) / 2; }
};

// Places renewals by each other.
class Grid {
 public:
  Grid(std::span<const Look> looks, double update) : update_(update) {
    double furthest = 0;  // between looks since the renewal before
    for (std::size_t i = 1; i < looks.size(); ++i) {
      const double before = looks[i].time - looks[i - 1].time;
      furthest = std::max(furthest, before);
      if (looks[i].value == looks[i - 1].value) continue;
      Found one{std::max(looks[i - 1].time, looks[i].time - update), looks[i].time, looks[i].value, 0, -1};
      if (before < misses_none * update) join(one, furthest);
      found_.push_back(one);
      furthest = 0;
    }
    follow_to_the_end(looks);
    for (int segment = 0; segment < segments_; ++segment) place(segment);
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].segment < 0) place_by_neighbours(i);
    }
  }

  std::vector<FreshValue> values() const {
    std::vector<FreshValue> values;
    for (const Found& one : found_) values.push_back({(one.low + one.high) / 2, one.value, one.width() / 2});
    return values;
  }

 private:
  // On the grid of the narrow one before, if it is known how many renewals lie between.
  void join(Found& one, double furthest) {
    one.segment = segments_;
    double low = one.low, high = one.high;
    if (last_narrow_) {
      const Found before = found_[*last_narrow_];
      const std::size_t between = found_.size() - *last_narrow_ - 1;
      std::optional<std::size_t> steps;
      if (between == 0 && furthest < misses_none * update_) {
        steps = 1;
      } else {
        // Each value that was found in between was one renewal at least; the grid must meet what is known of
        // this one, and do so for one count only.
        const double middle = (narrow_low_ + narrow_high_) / 2;
        for (std::size_t s = between + 1;; ++s) {
          const auto n = static_cast<double>(s);
          const double at = middle + n * update_, half = (narrow_high_ - narrow_low_) / 2 +
                                                         (off_the_grid + period_known_to * n) * update_;
          if (at - half > one.high) break;
          if (at + half < one.low) continue;
          if (steps) {
            steps.reset();
            break;
          }
          steps = s;
          low = std::max(low, at - half);
          high = std::min(high, at + half);
        }
        if (!steps) {
          low = one.low;
          high = one.high;
        }
      }
      if (steps) {
        one.segment = before.segment;
        one.grid = before.grid + *steps;
        // As many as there were renewals: each look between found one.
        if (*steps == between + 1) follow_on(found_.size());
      }
    }
    if (one.segment == segments_) ++segments_;
    last_narrow_ = found_.size();
    narrow_low_ = low;
    narrow_high_ = high;
  }

  // Behind the last narrow one, where no look was so late that it may have missed a renewal.
  void follow_to_the_end(std::span<const Look> looks) {
    if (!last_narrow_) return;
    constexpr double on_time = 1.05;
    for (std::size_t i = 1; i < looks.size(); ++i) {
      if (looks[i].time > found_[*last_narrow_].high && looks[i].time - looks[i - 1].time > on_time * update_)
        return;
    }
    follow_on(found_.size());
  }

  // Those behind the last narrow one, up to `end`, are one renewal each.
  void follow_on(std::size_t end) {
    const Found before = found_[*last_narrow_];
    for (std::size_t i = *last_narrow_ + 1; i < end; ++i) {
      found_[i].segment = before.segment;
      found_[i].grid = before.grid + (i - *last_narrow_);
    }
  }

  // By least squares over the narrowest, as far as they tell it better than the audit did.
  double period_of(const std::vector<std::size_t>& members) const {
    double narrowest = INFINITY;
    for (const std::size_t i : members) narrowest = std::min(narrowest, found_[i].width());
    const double limit = std::max(2 * narrowest, off_the_grid * update_);
    double n = 0, k = 0, t = 0;
    for (const std::size_t i : members) {
      if (found_[i].width() > limit) continue;
      ++n;
      k += static_cast<double>(found_[i].grid);
      t += found_[i].middle();
    }
    constexpr double enough = 4;
    if (n < enough) return update_;
    k /= n;
    t /= n;
    double over = 0, under = 0, widest = 0;
    for (const std::size_t i : members) {
      if (found_[i].width() > limit) continue;
      widest = std::max(widest, found_[i].width());
      const double dk = static_cast<double>(found_[i].grid) - k;
      over += dk * (found_[i].middle() - t);
      under += dk * dk;
    }
    if (!(under > 0)) return update_;
    constexpr double plausible = 0.03, of_uniform = 1.0 / 12;
    const double by_these = of_uniform * widest * widest / under,
                 by_audit = period_known_to * period_known_to * update_ * update_;
    const double period = (over / under * by_audit + update_ * by_these) / (by_audit + by_these);
    return std::clamp(period, (1 - plausible) * update_, (1 + plausible) * update_);
  }

  // What the neighbours on the grid leave of each one's own bracket.
  void place(int segment) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (found_[i].segment == segment) members.push_back(i);
    }
    const double period = period_of(members);
    periods_.push_back(period);
    const double slack = off_the_grid * update_;
    std::vector<std::pair<double, double>> placed;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const Found& mine = found_[members[m]];
      double low = mine.low, high = mine.high;
      const std::size_t first = m > neighbours ? m - neighbours : 0,
                        last = std::min(members.size(), m + neighbours + 1);
      if (mine.width() > 2 * slack) {
        double from_others_low = -INFINITY, from_others_high = INFINITY;
        for (std::size_t n = first; n < last; ++n) {
          const Found& other = found_[members[n]];
          const double shift = (static_cast<double>(mine.grid) - static_cast<double>(other.grid)) * period;
          from_others_low = std::max(from_others_low, other.low + shift);
          from_others_high = std::min(from_others_high, other.high + shift);
        }
        if (from_others_low > from_others_high) std::swap(from_others_low, from_others_high);
        low = std::clamp(from_others_low - slack, mine.low, mine.high);
        high = std::clamp(from_others_high + slack, mine.low, mine.high);
        // Far off the grid: its own bracket is all that is known.
        if (high - low < slack) {
          low = std::max(mine.low, low - slack);
          high = std::min(mine.high, high + slack);
        }
      }
      placed.emplace_back(low, high);
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      found_[members[m]].low = placed[m].first;
      found_[members[m]].high = placed[m].second;
    }
  }

  // One that slow looks found: the grid's last renewal before the look.
  void place_by_neighbours(std::size_t i) {
    Found& mine = found_[i];
    const double slack = off_the_grid * update_;
    std::optional<std::pair<double, double>> best;  // low, high
    const auto by = [&](const Found& other) {
      const double period = periods_[static_cast<std::size_t>(other.segment)];
      const double centre = other.middle();
      const double steps = std::floor((mine.high - centre) / period);
      const double at = centre + steps * period;
      const double half = other.width() / 2 + slack + period_known_to * std::abs(steps) * update_;
      // It may be the one before, if this one came just after the look.
      const bool clear = mine.high - at > half && at + period - mine.high > half;
      if (!clear || 2 * half >= mine.width()) return;
      const double low = std::max(mine.low, at - half), high = std::min(mine.high, at + half);
      if (low < high && (!best || high - low < best->second - best->first)) best = {low, high};
    };
    for (std::size_t k = i; k-- > 0;) {
      if (found_[k].segment < 0) continue;
      by(found_[k]);
      break;
    }
    for (std::size_t k = i + 1; k < found_.size(); ++k) {
      if (found_[k].segment < 0) continue;
      by(found_[k]);
      break;
    }
    if (!best) return;
    mine.low = best->first;
    mine.high = best->second;
  }

  double update_;
  std::vector<Found> found_;
  std::optional<std::size_t> last_narrow_;
  double narrow_low_ = 0, narrow_high_ = 0;  // between which it lies, by its own bracket and the grid
  std::vector<double> periods_;              // of each segment
  int segments_ = 0;
};

}  // namespace

std::optional<double> seen_update(std::span<const Look> looks) {
  const auto update = typical_update(looks);
  const auto look = typical_look(looks);
  if (!update || !look || *update < denser * *look) return std::nullopt;
  return update;
}

bool says_it_again(std::span<const Look> looks) {
  constexpr double few = 0.1;
  std::size_t again = 0;
  for (std::size_t i = 1; i < looks.size(); ++i) again += looks[i].value == looks[i - 1].value ? 1 : 0;
  return static_cast<double>(again) > few * static_cast<double>(looks.size());
}

FreshValues fresh_counts(std::span<const Look> looks, std::optional<double> known_update) {
  FreshValues fresh = begin_with(looks, known_update);
  if (looks.empty()) return fresh;
  fresh.values.push_back({looks.front().time, looks.front().value, 0});
  std::vector<FreshValue> values;
  if (fresh.update) {
    values = Grid(looks, *fresh.update).values();
  } else {
    // A look knows no more than that the value is newer than the look before.
    for (std::size_t i = 1; i < looks.size(); ++i) {
      const double half = (looks[i].time - looks[i - 1].time) / 2;
      if (looks[i].value != looks[i - 1].value)
        values.push_back({looks[i].time - half, looks[i].value, half});
    }
  }
  fresh.values.insert(fresh.values.end(), values.begin(), values.end());
  // Where it is not known how often values are renewed, and many looks found the same one again, the first may have been there for any time.
  if (!fresh.update && says_it_again(looks)) {
    fresh.values.erase(fresh.values.begin());
    return fresh;
  }
  // The first value was there already when it was first read: it became so within the update before, one
  // update before the next where that one was not missed.
  FreshValue& first = fresh.values.front();
  const double reach = fresh.update ? *fresh.update : fresh.spacing;
  first.uncertain = reach / 2;
  first.time -= reach / 2;
  if (!values.empty() && fresh.update) {
    const double one_before = values[0].time - *fresh.update;
    if (one_before > looks.front().time - *fresh.update && one_before <= looks.front().time)
      first = {one_before, first.value,
               std::min(*fresh.update / 2, values[0].uncertain + off_the_grid * *fresh.update)};
  }
  return fresh;
}

FreshValues told_values(std::span<const Look> looks) {
  FreshValues fresh = begin_with(looks, std::nullopt);
  for (const Look& look : looks) fresh.values.push_back({look.time, look.value, 0});
  return fresh;
}

FreshValues told_counts(std::span<const Look> looks) {
  FreshValues fresh = begin_with(looks, std::nullopt);
  const ToldPace pace = told_pace(looks);
  bool silence = false;  // since the value before
  for (std::size_t i = 0; i < looks.size(); ++i) {
    silence = silence || pace.after_silence[i];
    const bool again = i > 0 && looks[i].value == looks[i - 1].value;
    // The first one that is told again may have been told for any time.
    const bool stale = i == 0 && looks.size() > 1 && looks[1].value == looks[0].value;
    if (again || stale) continue;
    fresh.values.push_back({looks[i].time, looks[i].value, 0, pace.off[i], silence});
    silence = false;
  }
  return fresh;
}

FreshValues fresh_levels(std::span<const Look> looks, std::optional<double> known_update) {
  FreshValues fresh = begin_with(looks, known_update);
  if (looks.empty()) return fresh;
  if (!fresh.repeats) {
    // Each look may have found a value that is up to one update old.
    const double reach = fresh.update ? std::min(*fresh.update, fresh.spacing) : 0;
    for (const Look& look : looks) fresh.values.push_back({look.time - reach / 2, look.value, reach / 2});
    return fresh;
  }
  const double update = *fresh.update;
  auto& values = fresh.values;
  // The same value again at each update between.
  const auto repeat_until = [&](double time, double times) {
    if (times < 1) return;
    const FreshValue last = values.back();
    const double step = std::max((time - last.time) / (times + 1), update / 2);
    for (double n = 1; n <= times; ++n) values.push_back({last.time + n * step, last.value, last.uncertain});
  };
  values.push_back({looks.front().time, looks.front().value, 0});
  bool first_is_placed = false;
  for (std::size_t i = 1; i < looks.size(); ++i) {
    if (looks[i].value == looks[i - 1].value) continue;
    const double half = (looks[i].time - looks[i - 1].time) / 2;
    // The first value was there already when it was first read: it became so one update before the next.
    if (!first_is_placed && values.size() == 1)
      values[0].time = std::min(values[0].time, looks[i - 1].time + half - update);
    first_is_placed = true;
    // After a stall of the reader only the last update lies close to the look.
    const double uncertain = std::min(half, update / 2);
    const double time = looks[i].time - uncertain;
    repeat_until(time, std::round((time - values.back().time) / update) - 1);
    values.push_back({time, looks[i].value, uncertain});
  }
  const double rest = looks.back().time - values.back().time;
  repeat_until(values.back().time + (std::floor(rest / update) + 1) * update, std::floor(rest / update));
  return fresh;
}

}  // namespace dvfs_plan
