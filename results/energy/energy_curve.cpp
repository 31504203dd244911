#include "results/energy/energy_curve.hpp"

#include <algorithm>
#include <cmath>

namespace dvfs_plan {
namespace {

// No socket draws 2 kW: a longer gap than range / 2 kW could hide two wraps.
constexpr double most_watts_of_a_domain = 2000;
// A time uniform within +-u is within 0.95 u at 95 %; two edges of it add up to 1.55 u, which 1.1 u an edge
// gives as the root of the squares.
constexpr double of_uniform = 1.1;
// 1.96 / sqrt 2: differences of independent errors have twice their variance.
constexpr double of_differences = 1.386;
// Values change so seldom on a steady load that fewer changes tell nothing about how often they could.
constexpr std::size_t changes_to_tell = 5;

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Seen {
  double time, value;
};

// Spacings of the first sights of new values.
std::vector<double> change_spacings(const std::vector<Seen>& seen) {
  std::vector<double> spacings;
  std::optional<double> last;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    if (seen[i].value == seen[i - 1].value) continue;
    if (last) spacings.push_back(seen[i].time - *last);
    last = seen[i].time;
  }
  return spacings;
}

// The typical spacing: those near the lower quartile. Longer ones are updates that happened to repeat the
// value.
std::optional<double> typical_update(const std::vector<Seen>& seen) {
  auto spacings = change_spacings(seen);
  if (spacings.size() < changes_to_tell) return std::nullopt;
  std::sort(spacings.begin(), spacings.end());
  const double most = 1.5 * spacings[spacings.size() / 4];
  spacings.erase(std::upper_bound(spacings.begin(), spacings.end(), most), spacings.end());
  return median_of(spacings);
}

std::optional<double> typical_look(const std::vector<Seen>& seen) {
  if (seen.size() < 4) return std::nullopt;
  std::vector<double> spacings;
  for (std::size_t i = 1; i < seen.size(); ++i) spacings.push_back(seen[i].time - seen[i - 1].time);
  return median_of(spacings);
}

// Looks must be well denser than the updates, or each look is an update of its own.
constexpr double denser = 1.5;

EnergyFault fault_without_values(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.status == ReadingStatus::denied) return EnergyFault::denied;
    if (reading.status == ReadingStatus::gone) return EnergyFault::gone;
  }
  return EnergyFault::absent;
}

}  // namespace

std::string_view to_string(EnergyFault fault) {
  switch (fault) {
    case EnergyFault::none:
      return "none";
    case EnergyFault::absent:
      return "absent";
    case EnergyFault::denied:
      return "denied";
    case EnergyFault::gone:
      return "gone";
    case EnergyFault::dead:
      return "dead";
    case EnergyFault::frozen:
      return "frozen";
    case EnergyFault::gap:
      return "gap";
    case EnergyFault::counter_went_back:
      return "counter_went_back";
    case EnergyFault::impossible:
      return "impossible";
  }
  return "?";
}

bool measures_energy(const Channel& channel) {
  return (channel.unit == "J" && channel.kind == ChannelKind::counter) ||
         (channel.unit == "W" && channel.kind == ChannelKind::gauge);
}

std::vector<Reading> of_channel(std::span<const Reading> readings, std::uint32_t channel) {
  std::vector<Reading> found;
  for (const Reading& reading : readings) {
    if (reading.channel == channel) found.push_back(reading);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Reading& a, const Reading& b) { return a.time < b.time; });
  return found;
}

std::optional<Seconds> update_period(std::span<const Reading> readings) {
  std::vector<Seen> seen;
  for (const Reading& reading : readings) {
    if (reading.value)
      seen.push_back({seconds(reading.time - readings.front().time).value(), *reading.value});
  }
  const auto update = typical_update(seen);
  const auto look = typical_look(seen);
  if (!update || !look || *update < denser * *look) return std::nullopt;
  return Seconds{*update};
}

EnergyCurve::EnergyCurve(const Channel& channel, std::span<const Reading> readings, const SensorModel& model)
    : counter_(channel.kind == ChannelKind::counter),
      wraps_at_(channel.wraps_at),
      most_watts_(most_watts(channel)),
      model_(model) {
  std::vector<Point> known;
  if (!readings.empty()) origin_ = readings.front().time;
  for (const Reading& reading : readings) {
    if (reading.value) known.push_back({seconds_of(reading.time), *reading.value, 0});
  }
  readings_ = static_cast<int>(known.size());
  for (const Reading& reading : readings) {
    if (reading.status == ReadingStatus::impossible) impossible_.push_back(seconds_of(reading.time));
  }
  if (known.empty()) {
    fault_ = impossible_.empty() ? fault_without_values(readings) : EnergyFault::impossible;
    return;
  }
  if (readings.back().status == ReadingStatus::gone) {
    fault_ = EnergyFault::gone;
    return;
  }
  first_read_ = known.front().time;
  last_read_ = known.back().time;
  fault_ = find_fault(known);
  if (fault_ == EnergyFault::none && counter_) fault_ = unwrap(known);
  if (fault_ != EnergyFault::none) return;
  if (fault_without_values(readings) == EnergyFault::denied) fault_ = EnergyFault::denied;
  find_fresh(known);
  sum_up();
}

// What is wrong with the sensor as a whole, whatever the window.
EnergyFault EnergyCurve::find_fault(const std::vector<Point>& known) const {
  const bool flat =
      std::all_of(known.begin(), known.end(), [&](const Point& k) { return k.value == known.front().value; });
  const double span = last_read_ - first_read_;
  if (!counter_) {
    // Nothing that runs draws 0 W: a meter that says so for a while has died, and its trial must not win.
    const auto zeros = std::count_if(known.begin(), known.end(), [](const Point& k) { return k.value == 0; });
    if (20 * static_cast<std::size_t>(zeros) > known.size()) return EnergyFault::dead;
    if (flat && known.size() >= 10 && !model_.may_be_flat) return EnergyFault::frozen;
    return EnergyFault::none;
  }
  // A counter may stand still for one update period, not for a trial of many.
  if (flat && (span >= 0.5 || known.size() >= 10)) return EnergyFault::dead;
  // Too short to tell a dead one from a slow one: in either case nothing is known.
  if (flat && known.size() > 1) return EnergyFault::gap;
  // One that moved and then did not for half a second and five of its own steps died midway.
  std::vector<double> steps;
  double since = known.front().time, longest = 0;
  for (std::size_t i = 1; i < known.size(); ++i) {
    if (known[i].value == known[i - 1].value) {
      longest = std::max(longest, known[i].time - since);
      continue;
    }
    steps.push_back(known[i].time - since);
    since = known[i].time;
  }
  if (!steps.empty() && longest >= 0.5 && longest > 5 * median_of(steps)) return EnergyFault::dead;
  return EnergyFault::none;
}

// Makes a counter's values only grow. Not possible if it went back without a range to explain it, or if a
// gap is so long that the number of wraps is not known.
EnergyFault EnergyCurve::unwrap(std::vector<Point>& known) const {
  double offset = 0;
  double before = known.front().value;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const double raw = known[i].value;
    if (wraps_at_ && known[i].time - known[i - 1].time > *wraps_at_ / most_watts_of_a_domain)
      return EnergyFault::gap;
    if (raw < before) {
      // A step that no machine draws is no wrap but a reset (suspend, a module loaded anew).
      constexpr double longest_update = 1;
      const double most =
          most_watts_of_a_domain * std::max(longest_update, known[i].time - known[i - 1].time);
      if (!wraps_at_ || raw + *wraps_at_ - before > most) return EnergyFault::counter_went_back;
      offset += *wraps_at_;
    }
    constexpr double longest_update = 60;  // of meters that speak once a minute
    if (raw > before &&
        raw - before > most_watts_ * std::max(longest_update, known[i].time - known[i - 1].time))
      return EnergyFault::impossible;
    before = raw;
    known[i].value = raw + offset;
  }
  return EnergyFault::none;
}

// Keeps what is fresh and places it in time.
void EnergyCurve::find_fresh(const std::vector<Point>& known) {
  std::vector<Seen> seen;
  for (const Point& point : known) seen.push_back({point.time, point.value});
  const auto look = typical_look(seen);
  spacing_ = look               ? *look
             : known.size() > 1 ? (last_read_ - first_read_) / static_cast<double>(known.size() - 1)
                                : 0;
  slack_ = 2 * look.value_or(0);
  auto update = typical_update(seen);
  const bool seen_update = update && look && *update >= denser * *look;
  if (!seen_update) update = model_.update ? std::optional(model_.update->value()) : std::nullopt;
  if (update) update_ = Seconds{*update};
  const bool repeats = update && look && *update >= denser * *look;

  if (look) {
    for (std::size_t i = 1; i < known.size(); ++i) {
      if (known[i].time - known[i - 1].time > 2 * std::max(*look, repeats ? *update : 0))
        pauses_.emplace_back(known[i - 1].time, known[i].time);
    }
  }
  if (!repeats) {
    points_ = known;
    return;
  }
  points_.push_back(known.front());
  bool first_is_placed = false;
  for (std::size_t i = 1; i < known.size(); ++i) {
    const double look_before = known[i - 1].time;
    if (known[i].value != known[i - 1].value) {
      const double half = (known[i].time - look_before) / 2;
      // The first value was there already when it was first read: it became so one update before the next.
      if (!first_is_placed && points_.size() == 1)
        points_[0].time = std::min(points_[0].time, look_before + half - *update);
      first_is_placed = true;
      // After a stall of the reader only the last update lies close to the look.
      const double uncertain = std::min(half, *update / 2);
      const double time = known[i].time - uncertain;
      repeat_until(time, *update, std::round((time - points_.back().time) / *update) - 1);
      points_.push_back({time, known[i].value, uncertain});
    }
  }
  const double rest = known.back().time - points_.back().time;
  repeat_until(points_.back().time + (std::floor(rest / *update) + 1) * *update, *update,
               std::floor(rest / *update));
}

// A gauge on a steady load says the same value again at each of its updates.
void EnergyCurve::repeat_until(double time, double update, double times) {
  if (counter_ || times < 1) return;
  const Point last = points_.back();
  const double step = std::max((time - last.time) / (times + 1), update / 2);
  for (double n = 1; n <= times; ++n) points_.push_back({last.time + n * step, last.value, last.uncertain});
}

void EnergyCurve::sum_up() {
  lowest_ = highest_ = points_.front().value;
  for (const Point& point : points_) {
    lowest_ = std::min(lowest_, point.value);
    highest_ = std::max(highest_, point.value);
  }
  for (std::size_t i = 1; i < points_.size(); ++i) {
    const double step = points_[i].value - points_[i - 1].value;
    points_[i].joules = points_[i - 1].joules + 0.5 * (points_[i].value + points_[i - 1].value) *
                                                    (points_[i].time - points_[i - 1].time);
    points_[i].squares = points_[i - 1].squares + step * step;
  }
}

std::size_t EnergyCurve::interval_of(double time) const {
  return static_cast<std::size_t>(std::lower_bound(points_.begin(), points_.end(), time,
                                                   [](const Point& p, double t) { return p.time < t; }) -
                                  points_.begin());
}

double EnergyCurve::slope(std::size_t interval) const {
  const Point &a = points_[interval - 1], &b = points_[interval];
  return b.time > a.time ? (b.value - a.value) / (b.time - a.time) : 0;
}

EnergyCurve::Edge EnergyCurve::counter_edge(double time) const {
  const std::size_t last = points_.size() - 1;
  std::size_t i = interval_of(time);
  if (i == 0 || i > last) {
    // Beyond its ends a counter goes on as it went; how it really went on is not known.
    if (i == 0 && time == points_[0].time)
      return {points_[0].value, of_uniform * points_[0].uncertain * slope(1)};
    const double power = i == 0 ? slope(1) : slope(last);
    const Point& end = i == 0 ? points_[0] : points_[last];
    return {end.value + power * (time - end.time),
            power * (std::abs(time - end.time) + of_uniform * end.uncertain)};
  }
  const Point &a = points_[i - 1], &b = points_[i];
  const double length = b.time - a.time, x = time - a.time, sum = b.value - a.value, mean = slope(i);
  if (length <= 0) return {b.value, 0};
  const double before = i > 1 ? slope(i - 1) : mean, after = i < last ? slope(i + 1) : mean;
  const double unexplained = sum - before * x - after * (length - x);
  const double joules = std::clamp(before * x + unexplained * x / length, 0.0, sum);
  // At the point itself the sum is known whatever the shape.
  const bool on_point = x <= 0 || x >= length;
  const double shape = on_point ? 0 : std::abs(unexplained) * std::max(x, length - x) / length;
  const double timing = of_uniform * std::max(a.uncertain, b.uncertain) * std::max({before, after, mean});
  return {a.value + joules, std::hypot(shape, timing)};
}

double EnergyCurve::power_at(double time) const {
  const std::size_t i = interval_of(time);
  if (i == 0) return points_.front().value;
  if (i == points_.size()) return points_.back().value;
  const Point &a = points_[i - 1], &b = points_[i];
  return b.time > a.time ? a.value + (b.value - a.value) * (time - a.time) / (b.time - a.time) : b.value;
}

EnergyCurve::Edge EnergyCurve::gauge_edge(double time) const {
  const std::size_t i = interval_of(time);
  const Point& nearest = i < points_.size() ? points_[i] : points_.back();
  const double power = power_at(time);
  // The trapezoid up to `time`, counted back from the point behind it.
  const double joules = nearest.joules - 0.5 * (nearest.value + power) * (nearest.time - time);
  const double reach =
      std::max({update_ ? update_->value() : spacing_, model_.rise ? model_.rise->value() : 0});
  double low = power, high = power;
  for (std::size_t k = i; k-- > 0 && points_[k].time >= time - reach;) {
    low = std::min(low, points_[k].value);
    high = std::max(high, points_[k].value);
  }
  for (std::size_t k = i; k < points_.size(); ++k) {
    low = std::min(low, points_[k].value);
    high = std::max(high, points_[k].value);
    if (points_[k].time > time + reach) break;  // the first behind the reach still ends the step
  }
  return {joules, (high - low) * reach / 2};
}

// What a look at this time showed: the last value that had become visible.
double EnergyCurve::visible_at(double time) const {
  const auto hidden = std::find_if(points_.begin(), points_.end(),
                                   [&](const Point& p) { return p.time + p.uncertain > time + 1e-9; });
  return hidden == points_.begin() ? points_.front().value : std::prev(hidden)->value;
}

// A meter that speaks when it likes may be up to two of its periods late at an edge.
bool EnergyCurve::encloses(double from, double to) const {
  if (readings_ < 2) return false;
  return first_read_ <= from + slack_ && last_read_ >= to - slack_;
}

// A stretch without readings that is long for the window and long for the sensor. A counter bridges it: its
// sum is kept whatever happened, unless an edge lies in it, where the half-width says so.
bool EnergyCurve::has_gap(double from, double to) const {
  if (counter_) return false;
  return std::any_of(pauses_.begin(), pauses_.end(), [&](const auto& pause) {
    const double inside = std::min(pause.second, to) - std::max(pause.first, from);
    const bool long_for_the_sensor = pause.second - pause.first > 5 * spacing_;
    return long_for_the_sensor && inside > (to - from) / 5;
  });
}

// One value that cannot be makes those beside it doubtful: inside the window, or so near that its edges stand
// on it.
bool EnergyCurve::has_impossible(double from, double to) const {
  const double beside = std::max(spacing_, update_ ? update_->value() : 0.0);
  return std::any_of(impossible_.begin(), impossible_.end(),
                     [&](double time) { return time >= from - beside && time <= to + beside; });
}

ChannelEnergy EnergyCurve::between(Nanoseconds from_ns, Nanoseconds to_ns) const {
  ChannelEnergy energy;
  energy.readings = readings_;
  energy.fault = fault_;
  if (to_ns <= from_ns && fault_ == EnergyFault::none) energy.fault = EnergyFault::absent;
  if (energy.fault != EnergyFault::none && energy.fault != EnergyFault::denied) return energy;
  if (points_.empty()) return energy;
  const double from = seconds_of(from_ns), to = seconds_of(to_ns);
  if (!encloses(from, to) || points_.size() < 2) {
    if (energy.fault == EnergyFault::none) energy.fault = EnergyFault::gap;
    return energy;
  }
  energy.fault = has_impossible(from, to) ? EnergyFault::impossible
                 : has_gap(from, to)      ? EnergyFault::gap
                                          : EnergyFault::none;
  if (energy.fault != EnergyFault::none) return energy;
  energy.fresh = static_cast<int>(interval_of(to) - interval_of(from));
  const Edge begin = counter_ ? counter_edge(from) : gauge_edge(from);
  const Edge end = counter_ ? counter_edge(to) : gauge_edge(to);
  energy.joules = end.joules - begin.joules;
  if (counter_) energy.as_read_j = visible_at(to) - visible_at(from);
  double square = begin.half_width * begin.half_width + end.half_width * end.half_width;
  if (!counter_) {
    const double update = update_ ? update_->value() : spacing_;
    const std::size_t first = std::min(interval_of(from), points_.size() - 1),
                      last = std::max<std::size_t>(interval_of(to), 1) - 1;
    double squares = 0;
    if (last > first) {
      // One difference more than was seen, as large as any inside: a few looks may well miss one.
      const auto [low, high] =
          std::minmax_element(points_.begin() + static_cast<std::ptrdiff_t>(first),
                              points_.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                              [](const Point& a, const Point& b) { return a.value < b.value; });
      const double range = high->value - low->value;
      squares = points_[last].squares - points_[first].squares + range * range;
    }
    square += of_differences * of_differences * update * update * squares;
    // While nobody looked the power may have been any of those seen around.
    for (const auto& [begins, ends] : pauses_) {
      const double unseen = (std::min(ends, to) - std::max(begins, from)) * (highest_ - lowest_) / 2;
      if (unseen > 0) square += unseen * unseen;
    }
  }
  energy.half_width_j = std::sqrt(square);
  // A sum that overflows is not known, and neither is what is made of it.
  if (!std::isfinite(*energy.joules) || !std::isfinite(*energy.half_width_j)) {
    energy.joules = energy.half_width_j = energy.as_read_j = std::nullopt;
    energy.fault = EnergyFault::impossible;
  }
  return energy;
}

ChannelEnergy energy_between(const Channel& channel, std::span<const Reading> readings, Nanoseconds from,
                             Nanoseconds to, const SensorModel& model) {
  return EnergyCurve(channel, readings, model).between(from, to);
}

}  // namespace dvfs_plan
