#include "results/energy/counter_energy.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace dvfs_plan {
namespace {

constexpr double normal_95 = 1.96;
constexpr double negligible = 1e-9;  // s
// Neighbouring intervals that tell what a side draws beside an edge, and how much that varies.
constexpr std::size_t nearest = 4;
// What power varies by from one interval to the next, a share, where too few were seen to tell; weighs as
// much as one difference seen.
constexpr double presumed_variation = 0.04;
// Known from a single interval only.
constexpr double variation_of_one = 0.1;
// Standard deviation of a uniform distribution, of its range.
constexpr double of_uniform = 0.2887;

// An interval of so many updates or more holds several renewals.
constexpr double several_renewals = 1.15;
// A renewal that is known to no less than this, in updates, to either side was not placed by its grid.
constexpr double unplaced = 0.4;
// Of the shape's half-width, how much the same workload repeats in each trial: each trial begins at another
// phase of the sensor, and what is left of it on the average over phases is less than this in 95 % of random
// loads. Where looks do not resolve the intervals all of it may repeat.
constexpr double same_in_all = 0.45;
// Standard deviation of what a load that came before its mark, or went on behind it, may have drawn there, of the most that it may; and of what one
// that comes behind its mark did not draw. Both edges of a stretch are off the same way: theirs add up.
constexpr double of_a_lead = 0.6;
// A rest between stretches may well draw next to nothing, or as much as the stretches: the half-width reaches a little beyond.
constexpr double of_rests_between = 1.2;
// How alike the errors at the edges of several stretches are: the same load begins and ends at each.
constexpr double alike = 0.2;

struct Interval {
  double from = 0, to = 0, joules = 0;
  double from_uncertain = 0, to_uncertain = 0;
  bool silence = false;  // of one that tells by itself: it left out a value
  bool seen = true;      // false: beyond the first or last value; goes on as it went
  double inside = 0;     // s of it that count
  std::size_t gap = 0;   // the first gap or stretch that it touches: gap g lies before stretch g
  bool begins_inside = false, ends_inside = false;
  bool marked = false;  // a mark of the workload's own divides it
  double length() const { return to - from; }
  double outside() const { return length() - inside; }
  double power() const { return joules / length(); }
};

// What a side drew beside an edge, W; no variance: it may be anything. `shared`: of the variance, what is of all edges alike that are
// guessed so, as what is learnt from other stretches is.
struct Guess {
  double watts = 0;
  std::optional<double> variance;
  double shared = 0;
};

// Intervals of one side, by index.
using Side = std::vector<std::size_t>;

class Counted {
 public:
  Counted(std::span<const FreshValue> values, std::span<const Stretch> stretches, double lag, double update)
      : stretches_(stretches), lag_(lag), update_(update) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      const FreshValue &a = values[i - 1], &b = values[i];
      if (b.time - a.time <= negligible) continue;
      intervals_.push_back({.from = a.time - lag / 2,
                            .to = b.time - lag / 2,
                            .joules = b.value - a.value,
                            .from_uncertain = a.uncertain + a.off,
                            .to_uncertain = b.uncertain + b.off,
                            .silence = b.after_silence});
    }
    go_on_beyond_the_ends();
    find_what_counts();
  }

  CountedEnergy sum() const {
    CountedEnergy energy;
    Variances of;
    double added_up = 0;
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      const double before = of.shape;
      const Interval& one = intervals_[i];
      if (one.inside == 0) continue;
      if (!one.seen) {
        const double joules = one.power() * one.inside;
        energy.joules += joules;
        // It may draw nothing there, or twice that; what begins before the first value and ends behind the last is the same load.
        of.leads[one.gap] += joules / normal_95;
      } else if (one.outside() == 0) {
        energy.joules += one.joules;
      } else {
        divide(i, energy.joules, of);
      }
      added_up += std::sqrt(of.shape - before);
    }
    for (const auto& [stretch, deviation] : of.leads) {
      // The same in each trial, wherever its edges lie.
      of.shape += deviation * deviation;
      of.unresolved += deviation * deviation;
      added_up += deviation;
    }
    for (std::size_t i = 1; i < intervals_.size(); ++i) of.timing += beside_an_edge(i);
    if (stretches_.size() > 1) of.shape += alike * std::max(0.0, added_up * added_up - of.shape);
    of.shape += of.shared * of.shared;
    of.unresolved += of.shared * of.shared;
    energy.shape = normal_95 * std::sqrt(of.shape);
    energy.systematic =
        normal_95 * std::sqrt(same_in_all * same_in_all * (of.shape - of.unresolved) + of.unresolved);
    energy.guessed = normal_95 * of.guessed;
    energy.timing = normal_95 * std::sqrt(of.timing);
    return energy;
  }

 private:
  // J^2; `unresolved` is that part of the shape's where looks are slower than the sensor.
  struct Variances {
    double shape = 0, timing = 0, unresolved = 0;
    std::map<std::size_t, double> leads;  // by stretch: J, standard deviation
    double shared =
        0;  // J, standard deviation: what guesses that are of all stretches alike may be off by, with one sign
    double guessed =
        0;  // the same, with what lies in intervals of several renewals, where looks are slower than the sensor
  };

  // Beyond its first and last value a counter goes on as it went.
  void go_on_beyond_the_ends() {
    if (intervals_.empty() || stretches_.empty()) return;
    const Interval first = intervals_.front(), last = intervals_.back();
    const double from = stretches_.front().from, to = stretches_.back().to;
    if (from < first.from)
      intervals_.insert(
          intervals_.begin(),
          {.from = from, .to = first.from, .joules = first.power() * (first.from - from), .seen = false});
    if (to > last.to)
      intervals_.push_back(
          {.from = last.to, .to = to, .joules = last.power() * (to - last.to), .seen = false});
  }

  void find_what_counts() {
    gaps_.resize(stretches_.size() + 1);
    wholes_.resize(stretches_.size());
    std::size_t s = 0;
    for (std::size_t i = 0; i < intervals_.size(); ++i) {
      Interval& one = intervals_[i];
      while (s < stretches_.size() && stretches_[s].to <= one.from + negligible) ++s;
      one.gap = s;
      for (std::size_t k = s; k < stretches_.size() && stretches_[k].from < one.to; ++k) {
        one.inside +=
            std::max(0.0, std::min(one.to, stretches_[k].to) - std::max(one.from, stretches_[k].from));
        one.marked = one.marked || stretches_[k].marked;
        one.begins_inside = one.begins_inside || stretches_[k].from <= one.from + negligible;
        one.ends_inside = one.ends_inside || stretches_[k].to >= one.to - negligible;
      }
      if (one.outside() < negligible) one.inside = one.length();
      if (one.inside < negligible) one.inside = 0;
      if (!one.seen) continue;
      if (one.outside() == 0) wholes_[s].push_back(i);
      if (one.inside == 0) gaps_[s].push_back(i);
    }
  }

  // A renewal that lies so near to an edge that it may have come on its other side: what was drawn between
  // the two is then counted on the wrong one. Variance, J^2.
  double beside_an_edge(std::size_t i) const {
    const double at = intervals_[i].from, uncertain = intervals_[i].from_uncertain;
    if (uncertain <= negligible) return 0;
    double most = 0, least = INFINITY;
    for (std::size_t k = i > 1 ? i - 2 : 0; k < std::min(intervals_.size(), i + 2); ++k) {
      most = std::max(most, intervals_[k].power());
      least = std::min(least, intervals_[k].power());
    }
    double variance = 0;
    const auto add = [&](double edge) {
      const double over = uncertain - std::abs(at - edge);
      if (over > 0) variance += std::pow(most - least, 2) * over * over * over / (6 * uncertain);
    };
    const std::size_t first = intervals_[i].gap > 0 ? intervals_[i].gap - 1 : 0;
    for (std::size_t k = first; k < stretches_.size() && stretches_[k].from < at + uncertain; ++k) {
      add(stretches_[k].from);
      add(stretches_[k].to);
    }
    return variance;
  }

  // An interval that an edge divides.
  void divide(std::size_t i, double& joules, Variances& of) const {
    const Interval& one = intervals_[i];
    const Guess in = inside_of(i), out = outside_of(i, in);
    const double a = one.inside, o = one.outside();
    // Looks slower than the sensor see intervals of several renewals: what neighbours drew says little of it.
    // So do those whose own renewals could not be placed.
    const bool several =
        one.silence || (update_ > 0 && (one.length() > several_renewals * update_ ||
                                        std::max(one.from_uncertain, one.to_uncertain) > unplaced * update_));
    double in_watts = in.watts, out_watts = out.watts;
    double share = a / one.length();  // of what the guesses leave unexplained, the inside's
    double mine = share * one.joules, variance = 0, of_lead = 0, shared = 0;
    if (in.variance && out.variance) {
      const double of_in = a * a * *in.variance, of_out = o * o * *out.variance;
      if (of_in + of_out > 0) share = of_in / (of_in + of_out);
      const double unexplained = one.joules - a * in_watts - o * out_watts;
      mine = a * in_watts + share * unexplained;
      if (!one.marked) {
        // What neither guess allows is of a program as it starts or ends: the machine beside it does not know when it does.
        const double allowed = normal_95 * std::sqrt(of_in + of_out),
                     beyond = unexplained - std::clamp(unexplained, -allowed, allowed);
        mine += (1 - share) * beyond;
        of_lead = of_a_lead * std::abs(beyond) / 2;
      } else {
        // Towards the load, and away from it: a load before its mark, or one that only begins behind it.
        const double told = in_watts > out_watts ? unexplained : -unexplained,
                     all = std::abs(mine - one.joules * a / one.length());
        of_lead = of_a_lead * std::max(share * lead_of(told, std::sqrt(of_in), all),
                                       (1 - share) * lead_of(-told, std::sqrt(of_out), all));
      }
      // More than the guesses allow: they were worth less than thought.
      if (of_in + of_out > 0)
        variance =
            of_in * of_out / (of_in + of_out) * std::max(1.0, unexplained * unexplained / (of_in + of_out));
      if (of_in + of_out > 0) shared = (a * a * in.shared + o * o * out.shared) / (of_in + of_out);
    } else if (out.variance && several) {
      // All that is beyond the outside's power may be the inside's, or of something else that was not
      // resolved.
      const double all = std::max(0.0, one.joules - o * out_watts);
      variance = std::pow((all - mine) / 2, 2);
      mine = (all + mine) / 2;
    } else if (out.variance) {
      share = 1;
      // The same load before the mark and behind it would be the inside's by its length alone.
      const double alike_beside = mine;
      mine = one.joules - o * out_watts;
      variance = o * o * *out.variance;
      shared = out.shared / *out.variance;
      if (one.marked) of_lead = of_a_lead * std::max(0.0, mine - alike_beside);
      in_watts = std::max(0.0, mine) / a;
    } else if (in.variance) {
      share = 0;
      // Beside it, of which nothing is known, is drawn from nothing to as much as inside: what is more is of a phase of its own at the
      // begin or the end of what counts, and so may be all that is left.
      const double as_inside = a * in_watts;
      mine = std::clamp(as_inside, std::max(0.0, one.joules - o * in_watts), std::max(as_inside, one.joules));
      variance = a * a * *in.variance;
      shared = in.shared / *in.variance;
      of_lead = of_a_lead * std::max(one.joules - mine, mine - as_inside);
      if (one.marked) of_lead = std::max(of_lead, of_a_lead * (mine - one.joules * a / one.length()));
      out_watts = std::max(0.0, one.joules - mine) / o;
    } else {
      // Nothing is known of either side.
      in_watts = out_watts = one.power();
      shared = 1;
      variance = std::pow(std::max(mine, one.joules - mine) / normal_95, 2);
      const bool between = one.from >= stretches_.front().from && one.to <= stretches_.back().to;
      if (between && !several) {
        // But that a rest between stretches drew something from nothing to what the stretches do.
        variance = std::pow(of_rests_between * (one.joules - mine) / 2 / normal_95, 2);
        mine = (mine + one.joules) / 2;
      }
    }
    const double alike_everywhere = std::sqrt(variance * shared);
    of.shared += alike_everywhere;
    of.guessed += alike_everywhere;
    variance *= 1 - shared;
    if (several) {
      variance += std::pow(of_uniform * one.joules * std::min(1.0, 3 * std::min(a, o) / one.length()), 2);
      of.unresolved += variance;
      // Where each side has intervals of its own that tell what it draws, each edge lies anywhere by itself.
      if (shared > 0 || is_beside_a_short_one(one)) of.guessed += std::sqrt(variance);
    }
    if (of_lead > 0) of.leads[one.gap] += of_lead;
    joules += std::clamp(mine, 0.0, one.joules);
    of.shape += variance;
    // A renewal that was earlier or later than placed moves power from one interval to the next.
    const auto moment = [&](double uncertain) { return (uncertain * uncertain + lag_ * lag_ / 4) / 3; };
    const double left = one.begins_inside ? (1 - share) * in_watts : share * out_watts,
                 right = one.ends_inside ? (1 - share) * in_watts : share * out_watts;
    of.timing += left * left * moment(one.from_uncertain) + right * right * moment(one.to_uncertain);
  }

  // Whether a stretch that it touches, or a rest between two, holds hardly an interval of its own.
  bool is_beside_a_short_one(const Interval& one) const {
    constexpr std::size_t enough = 2;
    for (std::size_t k = one.gap; k < stretches_.size() && stretches_[k].from < one.to; ++k) {
      if (wholes_[k].size() < enough) return true;
    }
    for (std::size_t g = std::max<std::size_t>(one.gap, 1); g < stretches_.size(); ++g) {
      if (stretches_[g - 1].to >= one.to) break;
      if (gaps_[g].size() < enough) return true;
    }
    return false;
  }

  // What of a divided interval the load may have drawn outside of its mark, or not drawn inside, J: as much as speaks for it (`told`, of what the
  // guesses leave unexplained), and by how much that may be off where the side that it counts to varies itself (`unsure`), up to what it is
  // where the same was drawn on both sides of the mark (`all`).
  static double lead_of(double told, double unsure, double all) {
    const double least = std::max(0.0, told);
    return std::max(least, std::min(all, least + unsure));
  }

  // What neighbouring whole intervals of one side drew together.
  struct Run {
    double joules = 0, length = 0, uncertain = 0;  // s: of its two ends together, standard deviation
    double power() const { return joules / length; }
    double timing_variance() const { return std::pow(power() * uncertain / length, 2); }
  };

  // Whole intervals of one side from `at` on, away from interval i: so many that it matters little when the
  // ends were renewed.
  Run take_run(const Side& side, std::size_t& low, std::size_t& high, std::size_t i) const {
    const bool downwards = low > 0 && (high >= side.size() || i - side[low - 1] <= side[high] - i);
    Run run;
    constexpr double known_well = 0.1;
    std::optional<std::size_t> before;
    double near_end = 0;
    while (downwards ? low > 0 : high < side.size()) {
      const std::size_t next = downwards ? side[low - 1] : side[high];
      if (before && next + 1 != *before && *before + 1 != next) break;
      const Interval& one = intervals_[next];
      if (!before) near_end = downwards ? one.to_uncertain : one.from_uncertain;
      before = next;
      downwards ? --low : ++high;
      run.joules += one.joules;
      run.length += one.length();
      const double far_end = downwards ? one.from_uncertain : one.to_uncertain;
      run.uncertain = std::sqrt((near_end * near_end + far_end * far_end) / 3);
      if (run.uncertain <= known_well * run.length) break;
    }
    return run;
  }

  // From the intervals of one side, by how near they are to interval i.
  Guess guess(const Side& side, std::size_t i) const {
    if (side.empty()) return {};
    std::size_t high = static_cast<std::size_t>(std::lower_bound(side.begin(), side.end(), i) - side.begin());
    std::size_t low = high;
    std::vector<Run> runs;  // the nearest first
    while (runs.size() < nearest && (low > 0 || high < side.size()))
      runs.push_back(take_run(side, low, high, i));
    const double first = runs[0].power();
    if (runs.size() == 1) return {first, std::pow(variation_of_one * first, 2) + runs[0].timing_variance()};
    double squares = std::pow(presumed_variation * first, 2);
    for (std::size_t k = 1; k < runs.size(); ++k)
      squares += std::pow(runs[k].power() - runs[k - 1].power(), 2);
    return {(2 * first + runs[1].power()) / 3,
            squares / static_cast<double>(runs.size()) + runs[0].timing_variance()};
  }

  // Of several stretches or gaps together: all intervals, in time order.
  static Side all_of(const std::vector<Side>& sides, std::size_t from, std::size_t to) {
    Side all;
    for (std::size_t k = from; k < to; ++k) all.insert(all.end(), sides[k].begin(), sides[k].end());
    return all;
  }
  // Their mean and how they scatter about it.
  Guess mean_of(const Side& side) const {
    if (side.empty()) return {};
    double sum = 0, squares = 0;
    for (const std::size_t i : side) sum += intervals_[i].power();
    const double mean = sum / static_cast<double>(side.size());
    for (const std::size_t i : side) squares += std::pow(intervals_[i].power() - mean, 2);
    const double presumed = std::pow(variation_of_one * mean, 2);
    const double n = static_cast<double>(side.size()), shared = squares / (n * n) + presumed;
    return {mean, squares / n + presumed, shared};
  }

  Guess inside_of(std::size_t i) const {
    const Interval& one = intervals_[i];
    double length = 0, watts = 0, variance = 0, shared = 0;
    for (std::size_t k = one.gap; k < stretches_.size() && stretches_[k].from < one.to; ++k) {
      const double part = std::min(one.to, stretches_[k].to) - std::max(one.from, stretches_[k].from);
      // A stretch without a whole interval of its own is like the others.
      Guess mine = guess(wholes_[k], i);
      if (!mine.variance) mine = mean_of_all_stretches();
      if (!mine.variance) return {};
      length += part;
      watts += part * mine.watts;
      variance += part * part * *mine.variance;
      shared += part * part * mine.shared;
    }
    if (length <= 0) return {};
    return {watts / length, variance / (length * length), shared / (length * length)};
  }

  Guess outside_of(std::size_t i, const Guess& in) const {
    const Interval& one = intervals_[i];
    double length = 0, watts = 0, variance = 0, shared = 0;
    for (std::size_t g = one.gap; g <= stretches_.size(); ++g) {
      const double from = g == 0 ? one.from : std::max(one.from, stretches_[g - 1].to),
                   to = g == stretches_.size() ? one.to : std::min(one.to, stretches_[g].from);
      if (g > 0 && stretches_[g - 1].to >= one.to) break;
      if (to <= from) continue;
      Guess mine = guess(gaps_[g], i);
      if (!mine.variance && g > 0 && g < stretches_.size()) mine = inner_gap(in);
      if (!mine.variance) return {};
      length += to - from;
      watts += (to - from) * mine.watts;
      variance += (to - from) * (to - from) * *mine.variance;
      shared += (to - from) * (to - from) * mine.shared;
    }
    if (length <= 0) return {};
    return {watts / length, variance / (length * length), shared / (length * length)};
  }

  const Guess& mean_of_all_stretches() const {
    if (!all_stretches_) all_stretches_ = mean_of(all_of(wholes_, 0, wholes_.size()));
    return *all_stretches_;
  }

  // A gap too short for a whole interval of its own: like other gaps between stretches; if none holds one, somewhere from nothing to what the
  // stretches draw. (Not from what the machine draws outside of all: it may work there too.)
  Guess inner_gap(const Guess& in) const {
    if (!inner_gaps_) inner_gaps_ = mean_of(all_of(gaps_, 1, gaps_.size() - 1));
    if (inner_gaps_->variance) return *inner_gaps_;
    if (!in.variance) return {};
    const double anything = std::pow(of_uniform * in.watts, 2);
    return {in.watts / 2, anything, anything};
  }

  std::span<const Stretch> stretches_;
  double lag_, update_;
  std::vector<Interval> intervals_;
  std::vector<Side> gaps_;    // whole intervals in the gap before each stretch, and behind the last
  std::vector<Side> wholes_;  // whole intervals in each stretch
  mutable std::optional<Guess> all_stretches_, inner_gaps_;
};

}  // namespace

double CountedEnergy::half_width() const {
  return std::hypot(shape, timing);
}

CountedEnergy counted_energy(std::span<const FreshValue> values, std::span<const Stretch> stretches,
                             double lag, double update) {
  return Counted(values, stretches, lag, update).sum();
}

}  // namespace dvfs_plan
