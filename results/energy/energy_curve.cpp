#include "results/energy/energy_curve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/energy/counter_energy.hpp"
#include "results/energy/gauge_rounding.hpp"
#include "results/energy/median.hpp"

namespace dvfs_plan {
namespace {

// No socket draws 2 kW: a longer gap than range / 2 kW could hide two wraps.
constexpr double most_watts_of_a_domain = 2000;
// 1.96 / sqrt 2: differences of independent errors have twice their variance.
constexpr double of_differences = 1.386;

// Looks on a grid meet a load of the same period in the same phase each time; so far from it they do not.
// The quartiles: a few late looks of a busy machine are no random times.
constexpr double least_jitter = 0.15;
bool taken_at_random(const std::vector<Look>& looks) {
  if (looks.size() < 5) return false;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < looks.size(); ++i) gaps.push_back(looks[i].time - looks[i - 1].time);
  std::sort(gaps.begin(), gaps.end());
  return gaps[3 * gaps.size() / 4] - gaps[gaps.size() / 4] >= least_jitter * gaps[gaps.size() / 2];
}

// Whether each rise is some few of the least there is (a plug that counts in Wh): it then stands still until another
// one is full, however long that takes.
bool counts_in_quanta(const std::vector<double>& rises) {
  constexpr double most_at_once = 16, exact = 1e-5;  // a steady load by a steady clock is no quanta
  double least = INFINITY;
  for (const double rise : rises) {
    if (rise > 0) least = std::min(least, rise);
  }
  return std::all_of(rises.begin(), rises.end(), [&](double rise) {
    const double quanta = rise / least;
    return quanta < most_at_once && std::abs(quanta - std::round(quanta)) < exact;
  });
}

// Whether all rises are whole multiples of `step`, and few at once: of many at once what is left out is less than what is presumed anyway.
bool tells_multiples(const std::vector<Look>& looks, double step) {
  constexpr double most_at_once = 1000, exact = 1e-6;
  if (looks.size() < 3 || step <= 0) return false;
  for (std::size_t i = 1; i < looks.size(); ++i) {
    const double steps = (looks[i].value - looks[i - 1].value) / step;
    if (steps > most_at_once || std::abs(steps - std::round(steps)) > exact * std::max(1.0, steps))
      return false;
  }
  return true;
}

// Of a counter: the step that the look at the sensor saw, or, where that was too short to see one, or saw several at once each time (an idle
// machine's), that of which all rises here are multiples. 0: there is none.
double step_of_counts(const std::vector<Look>& looks, std::optional<double> smallest_seen) {
  if (looks.empty() || (smallest_seen && tells_multiples(looks, *smallest_seen)))
    return smallest_seen.value_or(0);
  std::set<double> rises;
  for (const Look& one : looks) rises.insert(one.value - looks.front().value);
  return common_step(rises, std::nullopt);
}

// Whether each renewal is one step more, and happens as that is full (a plug that counts in Wh).
bool fills_up(std::span<const FreshValue> values) {
  double least = INFINITY, most = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    least = std::min(least, values[i].value - values[i - 1].value);
    most = std::max(most, values[i].value - values[i - 1].value);
  }
  constexpr double alike = 1.5;  // of whole steps: the same, or another
  return most < alike * least;
}

// Whether it tells the same again because less than one of its steps was used since: where it moves again it is by a step or two. One that is
// renewed more seldom than it is told stands in front of rises of any size. A load that begins as it stood is no such rise.
bool stands_for_want_of_a_step(const std::vector<Look>& looks, double step) {
  if (!tells_multiples(looks, step)) return false;
  constexpr double one_or_two = 2.5, most_loads = 0.25;
  std::size_t stood = 0, rose_far = 0;
  for (std::size_t i = 2; i < looks.size(); ++i) {
    const double rise = looks[i].value - looks[i - 1].value;
    if (rise == 0 || looks[i - 1].value != looks[i - 2].value) continue;
    ++stood;
    rose_far += rise > one_or_two * step ? 1 : 0;
  }
  return stood > 0 && static_cast<double>(rose_far) <= std::max(1.0, most_loads * static_cast<double>(stood));
}

EnergyFault fault_without_values(std::span<const Reading> readings) {
  for (const Reading& reading : readings) {
    if (reading.status == ReadingStatus::denied) return EnergyFault::denied;
    if (reading.status == ReadingStatus::gone) return EnergyFault::gone;
  }
  return EnergyFault::absent;
}

// Of a counter: the times from each change of its value to the next, by how much it rose, and for how long it stood still at most.
struct Moves {
  std::vector<double> steps, rises;
  double longest = 0;
};

Moves moves_of(const std::vector<Look>& known) {
  Moves moves;
  double since = known.front().time;
  for (std::size_t i = 1; i < known.size(); ++i) {
    if (known[i].value == known[i - 1].value) {
      moves.longest = std::max(moves.longest, known[i].time - since);
      continue;
    }
    moves.steps.push_back(known[i].time - since);
    moves.rises.push_back(known[i].value - known[i - 1].value);
    since = known[i].time;
  }
  return moves;
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
    case EnergyFault::too_short:
      return "too_short";
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
  std::vector<Look> looks;
  for (const Reading& reading : readings) {
    if (reading.value)
      looks.push_back({seconds(reading.time - readings.front().time).value(), *reading.value});
  }
  const auto update = seen_update(looks);
  if (!update) return std::nullopt;
  return Seconds{*update};
}

EnergyCurve::EnergyCurve(const Channel& channel, std::span<const Reading> readings, const SensorModel& model)
    : counter_(channel.kind == ChannelKind::counter),
      wraps_at_(channel.wraps_at),
      most_watts_(most_watts(channel)),
      model_(model) {
  std::vector<Look> known;
  if (!readings.empty()) origin_ = readings.front().time;
  for (const Reading& reading : readings) {
    if (reading.value) known.push_back({seconds_of(reading.time), *reading.value});
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
  keep_fresh(known);
}

// What is wrong with the sensor as a whole, whatever the window.
EnergyFault EnergyCurve::find_fault(const std::vector<Look>& known) const {
  const bool flat =
      std::all_of(known.begin(), known.end(), [&](const Look& k) { return k.value == known.front().value; });
  const double span = last_read_ - first_read_;
  if (!counter_) {
    // Nothing that runs draws 0 W: a meter that says so for a while has died, and its trial must not win.
    const auto zeros = std::count_if(known.begin(), known.end(), [](const Look& k) { return k.value == 0; });
    if (20 * static_cast<std::size_t>(zeros) > known.size()) return EnergyFault::dead;
    if (flat && known.size() >= 10 && !model_.may_be_flat) return EnergyFault::frozen;
    return EnergyFault::none;
  }
  // A counter may stand still for one update period, not for a trial of many.
  if (flat && (span >= 0.5 || known.size() >= 10)) return EnergyFault::dead;
  // Too short to tell a dead one from a slow one: in either case nothing is known.
  if (flat && known.size() > 1) return EnergyFault::gap;
  // One that moved and then did not for half a second and five of its own steps died midway.
  const auto [steps, rises, longest] = moves_of(known);
  if (steps.empty()) return EnergyFault::none;
  const double step = upper_median(steps);
  if (longest >= 0.5 && longest > 5 * step) return EnergyFault::dead;
  // One that counts finely stands still for no longer than its update: nothing that runs draws 0 W.
  constexpr double shortest = 0.15, updates = 4;
  if (longest >= shortest && longest > updates * step && !counts_in_quanta(rises)) return EnergyFault::dead;
  return EnergyFault::none;
}

// Makes a counter's values only grow. Not possible if it went back without a range to explain it, or if a
// gap is so long that the number of wraps is not known.
EnergyFault EnergyCurve::unwrap(std::vector<Look>& known) const {
  // Meters may speak once a minute; a counter that wraps is a processor's, which counts a thousand times a second. One that was seen to
  // count on and on has no minute's joules to tell at once.
  constexpr double slowest_update = 60, updates_at_once = 10;
  constexpr std::size_t fewest_steps = 5;
  const auto steps = moves_of(known).steps;
  const double longest_rise = wraps_at_ ? 1
                              : steps.size() < fewest_steps
                                  ? slowest_update
                                  : std::clamp(updates_at_once * upper_median(steps), 0.1, slowest_update);
  double offset = 0;
  double before = known.front().value;
  for (std::size_t i = 1; i < known.size(); ++i) {
    // What a meter tells now in one unit and now in another differs in its last bit.
    constexpr double of_units = 4 * std::numeric_limits<double>::epsilon();
    const bool same = std::abs(known[i].value - before) <= of_units * std::abs(before);
    const double raw = same ? before : known[i].value;
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
    if (raw > before &&
        raw - before > most_watts_ * std::max(longest_rise, known[i].time - known[i - 1].time))
      return EnergyFault::impossible;
    before = raw;
    known[i].value = raw + offset;
  }
  return EnergyFault::none;
}

void EnergyCurve::keep_fresh(const std::vector<Look>& looks) {
  const auto known_update = model_.update ? std::optional(model_.update->value()) : std::nullopt;
  const double step = counter_ ? step_of_counts(looks, model_.resolution) : 0;
  const bool stands = counter_ && says_it_again(looks) && !stands_for_want_of_a_step(looks, step);
  const bool told = model_.told_when_new && !stands;
  FreshValues fresh = told       ? (counter_ ? told_counts(looks) : told_values(looks))
                      : counter_ ? fresh_counts(looks, known_update)
                                 : fresh_levels(looks, known_update);
  if (fresh.update) update_ = Seconds{*fresh.update};
  spacing_ = fresh.spacing;
  slack_ = fresh.slack;
  pauses_ = std::move(fresh.pauses);
  if (counter_) {
    counts_ = std::move(fresh.values);
    // One that is looked at until it moves had just come to a whole multiple then, where it moves when that is full; one that tells or is renewed at
    // its own times (Cray's pm_counters tell whole joules ten times a second) lies anywhere above it.
    if (tells_multiples(looks, step) && (told || !fills_up(counts_))) quantum_ = step;
    return;
  }
  at_random_times_ = taken_at_random(looks);
  // A mean is one over the time before it is told, and its middle is what it is of; of one whose latency no load showed, at least that.
  const double back =
      model_.window ? (model_.latency ? model_.latency->value() : 0) + model_.window->value() / 2 : 0;
  for (const FreshValue& value : fresh.values) points_.push_back({value.time - back, value.value});
  step_ = told_in_steps_of(looks, model_.resolution);
  sum_up();
}

Unresolved EnergyCurve::unresolved() const {
  if (counter_) return Unresolved::no;
  constexpr double covers = 0.75;  // of the time between two values
  const double update = update_ ? update_->value() : spacing_;
  const double window = model_.window ? model_.window->value() : 0;
  if (window > 0 && window >= covers * update && (at_random_times_ || window >= covers * spacing_))
    return Unresolved::no;
  // Each look finds a value of its own, taken when it was asked for.
  constexpr double times_faster = 2;
  const bool of_now =
      model_.window && model_.at_least && model_.update && model_.update->value() * times_faster <= spacing_;
  if (of_now && at_random_times_) return Unresolved::no;
  return model_.window ? Unresolved::window_short : Unresolved::window_unknown;
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
  const double window = measured_window();
  // Looks at random times may lie twice as far apart here as on the average.
  const double apart = i > 0 && i < points_.size() ? points_[i].time - points_[i - 1].time : 0;
  const double between = std::max(between_values(), at_random_times_ ? apart : 0);
  const double reach =
      window > 0 ? between + window / 2 : std::max(between, model_.rise ? model_.rise->value() : 0);
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
  // Behind the last value, and before the first, the power is not seen.
  const double unseen =
      std::max({0.0, time - points_.back().time, points_.front().time - time}) * (highest_ - lowest_);
  const double smeared = window > 0 ? between / 2 + window / 8 : reach / 2;
  return {joules, (high - low) * smeared + unseen};
}

// What a look at this time showed: the last value that had become visible.
double EnergyCurve::visible_at(double time) const {
  const auto hidden = std::find_if(counts_.begin() + 1, counts_.end(), [&](const FreshValue& count) {
    return count.time + count.uncertain > time + 1e-9;
  });
  return std::prev(hidden)->value;
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
  // Of one that tells by itself the session's look knows its pace: a trial in which it was silent most of the time has another.
  const double usual =
      model_.told_when_new && model_.update ? std::min(spacing_, model_.update->value()) : spacing_;
  return std::any_of(pauses_.begin(), pauses_.end(), [&](const auto& pause) {
    const double inside = std::min(pause.second, to) - std::max(pause.first, from);
    const bool long_for_the_sensor = pause.second - pause.first > 5 * usual;
    return long_for_the_sensor && inside > (to - from) / 5;
  });
}

// Before its first new value and behind its last a counter is taken to go on as it went beside: nothing is known by that of most of what counts.
bool EnergyCurve::counts_most_of(std::span<const Stretch> stretches) const {
  constexpr double enough = 0.5;
  double seen = 0, all = 0;
  for (const Stretch& one : stretches) {
    all += one.to - one.from;
    seen += std::max(0.0, std::min(one.to, counts_.back().time) - std::max(one.from, counts_.front().time));
  }
  return seen >= enough * all;
}

// One value that cannot be makes those beside it doubtful: inside the window, or so near that its edges stand
// on it.
bool EnergyCurve::has_impossible(double from, double to) const {
  const double beside = std::max(spacing_, update_ ? update_->value() : 0.0);
  return std::any_of(impossible_.begin(), impossible_.end(),
                     [&](double time) { return time >= from - beside && time <= to + beside; });
}

EnergyFault EnergyCurve::fault_between(double from, double to) const {
  if (!encloses(from, to) || (counter_ ? counts_.size() : points_.size()) < 2)
    return fault_ == EnergyFault::none ? EnergyFault::gap : fault_;
  if (has_impossible(from, to)) return EnergyFault::impossible;
  return has_gap(from, to) ? EnergyFault::gap : EnergyFault::none;
}

// Of a gauge, between its edges.
double EnergyCurve::gauge_square(double from, double to) const {
  const double update = between_values();
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
  if (measured_window() > 0 && last > first) {
    // Means that follow on each other, or overlap, leave nothing out between them: their sum is the energy.
    // What remains of large differences is the window's own uncertainty; of those that are always there, the
    // sensor's noise.
    constexpr double of_a_window = 0.25, deviation_of_median = 1.4826;
    const double left_out = std::max(of_a_window, 1 - measured_window() / update);
    std::vector<double> differences;
    for (std::size_t k = first + 1; k <= last; ++k)
      differences.push_back(std::abs(points_[k].value - points_[k - 1].value));
    const double usual = deviation_of_median * upper_median(differences);
    squares = std::min(
        squares, left_out * left_out * squares + usual * usual * static_cast<double>(differences.size()));
  }
  double square = of_differences * of_differences * update * update * squares;
  // While nobody looked the power may have been any of those seen around.
  for (const auto& [begins, ends] : pauses_) {
    const double unseen = (std::min(ends, to) - std::max(begins, from)) * (highest_ - lowest_) / 2;
    if (unseen > 0) square += unseen * unseen;
  }
  return square;
}

// Of a gauge: what its steps leave out, J.
double EnergyCurve::rounding(std::span<const Stretch> stretches) const {
  if (step_ == 0) return 0;
  TimesOfLevels levels;
  for (const auto& [from, to, marked] : stretches) {
    const std::size_t first = std::max<std::size_t>(interval_of(from), 1);
    levels[points_.front().value] += std::max(0.0, std::min(to, points_.front().time) - from);
    levels[points_.back().value] += std::max(0.0, to - std::max(from, points_.back().time));
    for (std::size_t i = first; i < points_.size() && points_[i - 1].time < to; ++i) {
      const double inside = std::min(to, points_[i].time) - std::max(from, points_[i - 1].time);
      levels[points_[i - 1].value] += inside / 2;
      levels[points_[i].value] += inside / 2;
    }
  }
  return rounding_half_width(levels, step_);
}

ChannelEnergy EnergyCurve::between(Nanoseconds from, Nanoseconds to) const {
  const Window window{from, to};
  return over({&window, 1});
}

ChannelEnergy EnergyCurve::over(std::span<const Window> windows) const {
  ChannelEnergy energy;
  energy.readings = readings_;
  energy.fault = fault_;
  // Of nothing there is no energy, and that is no fault of the sensor's.
  if (windows.empty()) return energy;
  std::vector<Stretch> stretches;
  for (const Window& window : windows) {
    if (window.to <= window.from) return energy;
    stretches.push_back({seconds_of(window.from), seconds_of(window.to), window.marked});
  }
  if (energy.fault != EnergyFault::none && energy.fault != EnergyFault::denied) return energy;
  if (counts_.empty() && points_.empty()) return energy;
  for (const Stretch& stretch : stretches) {
    energy.fault = fault_between(stretch.from, stretch.to);
    if (energy.fault != EnergyFault::none) return energy;
  }
  if (counter_ && !counts_most_of(stretches)) {
    energy.fault = EnergyFault::gap;
    return energy;
  }
  double joules = 0, half_width = 0, systematic = 0, sums = 0;
  if (counter_) {
    const CountedEnergy counted =
        counted_energy(counts_, stretches, model_.lag.value(), update_ ? update_->value() : 0);
    joules = counted.joules;
    // What is mostly guessed, by what loads seldom do, is not measured.
    constexpr double mostly = 0.15;
    if (stretches.size() > 1 && counted.guessed > mostly * joules) {
      energy.fault = EnergyFault::too_short;
      return energy;
    }
    half_width = counted.half_width();
    systematic = std::min(half_width, counted.systematic);
    // Each value may lie up to a quantum below what was used by then: at both ends of each stretch, evenly.
    constexpr double of_uniform = 0.2887, normal_95 = 1.96;
    half_width = std::hypot(
        half_width, normal_95 * of_uniform * quantum_ * std::sqrt(2 * static_cast<double>(stretches.size())));
    energy.as_read_j = 0;
  }
  for (const auto& [from, to, marked] : stretches) {
    if (counter_) {
      *energy.as_read_j += visible_at(to) - visible_at(from);
      const auto until = [&](double time) {
        return std::lower_bound(counts_.begin(), counts_.end(), time,
                                [](const FreshValue& count, double t) { return count.time < t; }) -
               counts_.begin();
      };
      energy.fresh += static_cast<int>(until(to) - until(from));
      continue;
    }
    energy.fresh += static_cast<int>(interval_of(to) - interval_of(from));
    const Edge begin = gauge_edge(from), end = gauge_edge(to);
    joules += end.joules - begin.joules;
    sums = std::max({sums, std::abs(end.joules), std::abs(begin.joules)});
    // Errors of many stretches have the same sign (the same load ends and begins at each), so they add up.
    // A gauge is late at each of them, in all trials.
    // What a window smears over its edges it takes out at both of them, or brings in at both; one that is only said to be so long too.
    const bool smears = model_.window && model_.window->value() > 0;
    const double edges =
        smears ? begin.half_width + end.half_width : std::hypot(begin.half_width, end.half_width);
    systematic += edges;
    half_width += std::sqrt(edges * edges + gauge_square(from, to));
  }
  if (!counter_) {
    // A gauge that cuts off reads low, as one that is late at an edge may: what is the same in all trials adds up.
    const double scatter = std::sqrt(std::max(0.0, half_width * half_width - systematic * systematic));
    systematic += rounding(stretches);
    half_width = std::hypot(scatter, systematic);
  }
  // What said 0 W all through what counts leaves the rounding of two sums. Nothing that runs draws 0 W: it had died.
  constexpr double rounding = 1e-12;
  if (!counter_ && joules >= 0 && joules <= rounding * sums) {
    energy.fault = EnergyFault::dead;
    return energy;
  }
  // A sum that overflows is not known, and neither is what is made of it.
  if (!std::isfinite(joules) || !std::isfinite(half_width)) {
    energy.as_read_j = std::nullopt;
    energy.fault = EnergyFault::impossible;
    return energy;
  }
  energy.joules = joules;
  energy.unresolved = unresolved();
  if (energy.unresolved != Unresolved::no) return energy;
  energy.half_width_j = half_width;
  energy.systematic_j = systematic;
  return energy;
}

ChannelEnergy energy_between(const Channel& channel, std::span<const Reading> readings, Nanoseconds from,
                             Nanoseconds to, const SensorModel& model) {
  return EnergyCurve(channel, readings, model).between(from, to);
}

}  // namespace dvfs_plan
