// The energy of what counts in a trial, by every sensor, and whether to believe it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "results/energy/sensor_audit.hpp"
#include "results/trial/judge_parts.hpp"
#include "results/trial/several.hpp"

namespace dvfs_plan {
namespace {

// Two sources of the same energy: a difference to tell of, and one that spoils the trial.
constexpr double difference_to_tell = 0.05, difference_too_large = 0.15;
// Fewer fresh values than this in what counts, or a sensor part above 1 %, and the trial says what to do.
constexpr int fresh_wanted = 10;
constexpr double sensor_share_wanted = 0.01;
constexpr double share_of_no_use = 0.15;

Verdict verdict_of(EnergyFault fault) {
  switch (fault) {
    case EnergyFault::none:
      return Verdict::ok;
    case EnergyFault::absent:
      return Verdict::sensor_absent;
    case EnergyFault::denied:
      return Verdict::sensor_denied;
    case EnergyFault::gone:
      return Verdict::sensor_gone;
    case EnergyFault::dead:
      return Verdict::sensor_dead;
    case EnergyFault::frozen:
      return Verdict::sensor_frozen;
    case EnergyFault::gap:
    case EnergyFault::counter_went_back:
    case EnergyFault::too_short:
      return Verdict::sensor_gap;
    case EnergyFault::impossible:
      return Verdict::sensor_impossible;
  }
  return Verdict::sensor_absent;
}

std::string fault_text(EnergyFault fault, const Channel& channel) {
  switch (fault) {
    case EnergyFault::none:
      return {};
    case EnergyFault::absent:
      return fmt::format("{} gave no reading", channel.name);
    case EnergyFault::denied:
      return fmt::format("{} may not be read by this user", channel.name);
    case EnergyFault::gone:
      return fmt::format("{} went away during the trial", channel.name);
    case EnergyFault::dead:
      return channel.kind == ChannelKind::counter
                 ? fmt::format(
                       "{} did not move, or stood still for longer than it ever does while something runs: "
                       "dead, or it hung",
                       channel.name)
                 : fmt::format("{} read 0 W while the workload ran: a dead sensor", channel.name);
    case EnergyFault::frozen:
      return fmt::format(
          "{} read the same value all the time, in the trial or in what counts of it: a frozen sensor",
          channel.name);
    case EnergyFault::gap:
      return fmt::format("{} left too much of the trial unseen", channel.name);
    case EnergyFault::counter_went_back:
      return fmt::format(
          "{} went back, by no range of its own that is known: it was reset, it wrapped, or a value was "
          "wrong",
          channel.name);
    case EnergyFault::impossible:
      return fmt::format("{} gave a value that cannot be", channel.name);
    case EnergyFault::too_short:
      return fmt::format(
          "what counts is shorter than any value of {} stands for: mark one region around the steps, "
          "lengthen it, or "
          "have the command run again within a trial (measure: {{at least: ..}})",
          channel.name);
  }
  return {};
}

SensorModel model_of(const JudgeInput& input, std::uint32_t channel, bool idle) {
  const auto known = input.models.find(channel);
  SensorModel model = known == input.models.end() ? SensorModel{} : known->second;
  model.may_be_flat = idle;
  if (!model.window && input.channels[channel].averages_over_s)
    model.window = Seconds{*input.channels[channel].averages_over_s};
  // What was measured on this board counts, and what is known of its kind where nothing was.
  model.lag = input.channels[channel].kind == ChannelKind::counter && model.latency
                  ? *model.latency
                  : Seconds{input.channels[channel].lags_up_to_s};
  model.told_when_new = input.channels[channel].told_when_new;
  // A gauge that is a mean follows a step as late as it looks back.
  const auto& averages = input.channels[channel].averages_over_s;
  if (averages && (!model.rise || model.rise->value() < *averages)) model.rise = Seconds{*averages};
  return model;
}

// A gauge that is flat through the trial but said something else before it is coarse, not frozen.
bool moved_before(std::span<const Reading> readings, std::uint32_t channel, const JudgeInput& input) {
  const auto before = input.earlier.last.find(channel);
  if (before == input.earlier.last.end() || input.earlier.fine.contains(channel)) return false;
  const auto known =
      std::find_if(readings.begin(), readings.end(), [](const Reading& r) { return r.value.has_value(); });
  return known != readings.end() && *known->value != before->second;
}

// Of a gauge, stretches with less between them than half of what it resolves cannot be told apart.
Nanoseconds joining_gap(const EnergyCurve& curve) {
  constexpr Nanoseconds least = 1'000'000;
  return curve.counter() ? least : std::max(least, nanoseconds(Seconds{curve.resolves() / 2}));
}

void not_known(ChannelEnergy& energy, EnergyFault why) {
  energy.joules.reset();
  energy.half_width_j.reset();
  energy.systematic_j.reset();
  energy.fault = why;
}

// A gauge that told a value of its own at nearly each update hangs where it says the same at so many of them in what counts, whatever it
// says before and behind it.
bool hangs_meanwhile(const EnergyCurve& curve, std::span<const Reading> readings, std::uint32_t channel,
                     const JudgeInput& input, const Regions& regions) {
  constexpr double fewest_updates = 20;
  if (curve.counter() || !input.earlier.fine.contains(channel)) return false;
  const auto spans = counted_spans(regions, joining_gap(curve));
  return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
    if (seconds(span.to - span.from).value() < fewest_updates * curve.resolves()) return false;
    std::optional<double> said;
    for (const Reading& reading : readings) {
      if (!reading.value || reading.time < span.from || reading.time > span.to) continue;
      if (said && *said != *reading.value) return false;
      said = reading.value;
    }
    return said.has_value();
  });
}

// Of a gauge: what share of these stretches may be of what lies beside. What is shorter than it resolves is smeared with its neighbours.
double smeared_share(const EnergyCurve& curve, std::span<const Window> windows) {
  if (curve.counter()) return 0;
  double whole = 0, smeared = 0;
  for (const Window& window : windows) {
    const double length = seconds(window.to - window.from).value();
    whole += length;
    if (length < 2 * curve.resolves()) smeared += length * std::min(1.0, curve.resolves() / length);
  }
  return whole > 0 ? smeared / whole : 0;
}

ChannelEnergy energy_of_regions(const EnergyCurve& curve, std::uint32_t channel, const Regions& regions) {
  const auto spans = counted_spans(regions, joining_gap(curve));
  std::vector<Window> windows;
  double counted = 0, whole = 0, longest = 0;
  for (const Span& span : spans) {
    windows.push_back({span.from, span.to, !regions.name.empty()});
    const double length = seconds(span.to - span.from).value();
    longest = std::max(longest, length);
    counted += span.counted_s;
    whole += length;
  }
  ChannelEnergy sum = curve.over(windows);
  sum.channel = channel;
  if (sum.readings == 0 && sum.fault == EnergyFault::none) sum.fault = EnergyFault::absent;
  if (!sum.joules) return sum;
  // Each value of the gauge has more in it of what lies beside than of any of the stretches: what these drew may be anything.
  if (!curve.counter() && longest < curve.resolves()) {
    not_known(sum, EnergyFault::too_short);
    return sum;
  }
  // What the gaps inside the joined stretches drew is not known apart.
  const double share = whole > 0 ? counted / whole : 1;
  if (sum.half_width_j) {
    const double smeared = regions.name.empty() ? 0 : smeared_share(curve, windows);
    const double not_apart = *sum.joules * (1 - share) + *sum.joules * smeared;
    *sum.half_width_j = *sum.half_width_j * share + not_apart;
    *sum.systematic_j = *sum.systematic_j * share + not_apart;
  }
  *sum.joules *= share;
  if (sum.as_read_j) *sum.as_read_j *= share;
  return sum;
}

// Half-widths of several sensors together: what differs from trial to trial as the root of the squares; what is the same in each (a gauge is
// late at each edge) is so for all of them, and adds up.
class SummedHalfWidth {
 public:
  void add(double half_width, double systematic) {
    squares_ += std::max(0.0, half_width * half_width - systematic * systematic);
    systematic_ += systematic;
    only_ = ++count_ == 1 ? half_width : 0;
  }
  // Of one sensor its own, to the last bit.
  double half_width() const { return count_ == 1 ? only_ : std::hypot(std::sqrt(squares_), systematic_); }
  double systematic() const { return systematic_; }

 private:
  int count_ = 0;
  double squares_ = 0, systematic_ = 0, only_ = 0;
};

// What one sensor's half-width is short of, J; nullopt: it cannot tell.
using ShortOf = std::function<std::optional<double>(const EnergyCurve&, const ChannelEnergy&)>;

// Of stretches, by the experiment's source: joules and what the sensors alone add; nullopt if not known.
struct SourceEnergy {
  double joules = 0;
  std::optional<double> half_width_j = {};
};
std::optional<SourceEnergy> source_energy(const std::map<std::uint32_t, EnergyCurve>& curves,
                                          const JudgeInput& input, std::span<const Window> windows,
                                          const ShortOf& short_of = {}) {
  SourceEnergy sum;
  SummedHalfWidth half_width;
  bool resolved = true;
  double more = 0;
  for (const std::uint32_t channel : input.energy_channels) {
    const auto curve = curves.find(channel);
    if (curve == curves.end()) return std::nullopt;
    const ChannelEnergy one = curve->second.over(windows);
    if (!one.joules) return std::nullopt;
    if (short_of) {
      const auto of_one = short_of(curve->second, one);
      if (!of_one) return std::nullopt;
      more += *of_one;
    }
    sum.joules += *one.joules;
    resolved = resolved && one.half_width_j;
    half_width.add(one.half_width_j.value_or(0), one.systematic_j.value_or(0));
  }
  if (resolved) sum.half_width_j = half_width.half_width() + more;
  return sum;
}

// The same of stretches that lie within what runs: nullopt where they are too short for one of the sensors to tell.
// `have_neighbours`: what lies beside draws another power.
std::optional<SourceEnergy> energy_told_apart(const std::map<std::uint32_t, EnergyCurve>& curves,
                                              const JudgeInput& input, std::span<const Window> windows,
                                              bool have_neighbours) {
  constexpr double updates_to_tell = 2;
  double length = 0;
  for (const Window& window : windows) length += seconds(window.to - window.from).value();
  return source_energy(curves, input, windows,
                       [&](const EnergyCurve& curve, const ChannelEnergy& one) -> std::optional<double> {
                         const auto update = curve.update();
                         if (one.fresh < 2 || (update && length < updates_to_tell * update->value()))
                           return std::nullopt;
                         // As where it is what counts (energy_of_regions): each value of a gauge has in it what lies beside.
                         return have_neighbours ? std::abs(*one.joules) * smeared_share(curve, windows) : 0;
                       });
}

// Energy of single stretches by the experiment's source, where they are long enough for the sensors to tell.
void energy_of_each(TrialRecord& trial, const std::map<std::uint32_t, EnergyCurve>& curves,
                    const JudgeInput& input) {
  if (input.energy_channels.empty()) return;
  for (RegionRecord& region : trial.regions) {
    const Window window{region.started, region.ended, !region.name.empty()};
    const auto energy = energy_told_apart(curves, input, {&window, 1}, !region.name.empty());
    if (!energy) continue;
    region.joules = energy->joules;
    region.half_width_j = energy->half_width_j;
  }
}

// What was used while all that ran at once were running.
void energy_of_all_running(TrialRecord& trial, const std::map<std::uint32_t, EnergyCurve>& curves,
                           const JudgeInput& input, const Regions& regions) {
  if (input.energy_channels.empty()) return;
  std::vector<Window> windows;
  for (const Span& span : all_running(trial, regions))
    windows.push_back({span.from, span.to, !regions.name.empty()});
  if (windows.empty()) return;
  const auto energy = energy_told_apart(curves, input, windows, true);
  if (!energy) return;
  trial.all_running_j = energy->joules;
  trial.all_running_half_width_j = energy->half_width_j;
}

// What it took to come to each value of the metric that there is a target for: of what counts, and of what would have counted behind
// the target.
void energy_of_marks(TrialRecord& trial, const std::map<std::uint32_t, EnergyCurve>& curves,
                     const JudgeInput& input, const Regions& regions) {
  if (!input.objective.target) return;
  Regions whole = regions;
  std::set<std::string> names;
  for (const RegionRecord& region : regions.all) {
    if (region.counted) names.insert(region.name);
  }
  for (RegionRecord& region : whole.all) region.counted = names.contains(region.name);
  const auto spans = counted_spans(whole, 0);
  std::vector<MetricRecord*> marks;
  for (MetricRecord& metric : trial.metrics) {
    if (metric.name == input.objective.target->name && metric.time && !spans.empty() &&
        *metric.time > spans.front().from)
      marks.push_back(&metric);
  }
  // Evenly, and always the first that reaches the target.
  constexpr std::size_t most = 1000;
  const std::size_t step = (marks.size() + most - 1) / most;
  bool reached = false;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    MetricRecord& metric = *marks[i];
    const bool reaches =
        !reached && holds(input.objective.target->relation,
                          as_bounded(*input.objective.target, metric.value, metric.unit).value_or(NAN),
                          input.objective.target->limit);
    reached = reached || reaches;
    if (!reaches && i % step != 0 && i + 1 != marks.size()) continue;
    std::vector<Window> windows;
    double counted = 0;
    for (const Span& span : spans) {
      if (span.from >= *metric.time) break;
      windows.push_back({span.from, std::min(span.to, *metric.time), !regions.name.empty()});
      counted += seconds(windows.back().to - windows.back().from).value();
    }
    metric.counted_s = counted;
    const auto energy = source_energy(curves, input, windows);
    if (!energy) continue;
    metric.joules = energy->joules;
    metric.half_width_j = energy->half_width_j;
  }
}

// Why nothing is stated of how far a gauge may be off; empty: something is.
std::string unresolved_text(const EnergyCurve& curve, const Channel& channel) {
  const Unresolved why = curve.unresolved();
  if (why == Unresolved::no) return {};
  const auto update = curve.update();
  const std::string renewed =
      update ? fmt::format("is renewed every {}", format_duration(*update))
             : fmt::format("is read every {}", format_duration(Seconds{curve.resolves()}));
  return why == Unresolved::window_unknown
             ? fmt::format(
                   "{} {}, and over how long each value is a mean is not known: what a load that comes "
                   "and goes in between makes of it cannot be stated",
                   channel.name, renewed)
             : fmt::format(
                   "{} {}, and each value is a mean over less than that: what a load that comes and "
                   "goes in between makes of it cannot be stated",
                   channel.name, renewed);
}

// The shortest time that a sensor can tell apart from what lies beside it.
struct Resolution {
  double time = 0;   // s
  const char* what;  // it is so long for
};
Resolution resolution_of(const EnergyCurve& curve, const Channel& channel, const SensorModel& model) {
  Resolution resolution{curve.resolves(), "it is renewed every"};
  if (model.rise && model.rise->value() > resolution.time)
    resolution = {model.rise->value(), "it follows within"};
  if (channel.averages_over_s.value_or(0) >= resolution.time)
    resolution = {*channel.averages_over_s, "it is a mean over"};
  return resolution;
}

// Of what counts, the shortest stretch; and the shortest pause between two.
struct Shortest {
  double stretch = INFINITY, pause = INFINITY;
};
Shortest shortest_of(const Regions& regions) {
  Shortest shortest;
  const auto spans = counted_spans(regions, 0);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    shortest.stretch = std::min(shortest.stretch, seconds(spans[i].to - spans[i].from).value());
    if (i > 0) shortest.pause = std::min(shortest.pause, seconds(spans[i].from - spans[i - 1].to).value());
  }
  return shortest;
}

// Two sensors tell the same domain's energy. A difference spoils the trial only where both can resolve what
// counts, and never a counter by the word of a gauge: that samples the power now and then or smooths it, the
// counter sums it.
class SourceComparison {
 public:
  SourceComparison(TrialRecord& trial, const JudgeInput& input,
                   const std::map<std::uint32_t, EnergyCurve>& curves, const Regions& regions)
      : trial_(trial), input_(input), curves_(curves), shortest_(shortest_of(regions)) {}

  void compare_all() {
    for (const ChannelEnergy& mine : trial_.energies) {
      for (const ChannelEnergy& other : trial_.energies) {
        const Channel &a = input_.channels[mine.channel], &b = input_.channels[other.channel];
        const bool reference = b.kind == ChannelKind::counter
                                   ? a.kind == ChannelKind::gauge || other.channel < mine.channel
                                   : a.kind == ChannelKind::gauge && other.channel < mine.channel;
        if (mine.channel != other.channel && a.domain == b.domain && reference && mine.joules &&
            other.joules && *other.joules > 0)
          compare(mine, other);
      }
    }
  }

 private:
  bool used(std::uint32_t channel) const {
    return std::find(input_.energy_channels.begin(), input_.energy_channels.end(), channel) !=
           input_.energy_channels.end();
  }

  // Why a sensor cannot tell what counts; empty: it can.
  std::string too_coarse(std::uint32_t channel) const {
    const Channel& of = input_.channels[channel];
    const Resolution resolution =
        resolution_of(curves_.at(channel), of, model_of(input_, channel, is_idle(trial_.role)));
    constexpr double times = 3;
    const double shortest = std::min(shortest_.stretch, shortest_.pause);
    if (shortest >= times * resolution.time) return {};
    return fmt::format("{} cannot tell {} of {} apart, as {} {}", of.name,
                       shortest_.stretch <= shortest_.pause ? "stretches" : "pauses",
                       format_duration(Seconds{shortest}), resolution.what,
                       format_duration(Seconds{resolution.time}));
  }

  void compare(const ChannelEnergy& mine, const ChannelEnergy& other) {
    const Channel &a = input_.channels[mine.channel], &b = input_.channels[other.channel];
    const double difference = *mine.joules / *other.joules - 1;
    const double explained = (mine.half_width_j.value_or(0) + other.half_width_j.value_or(0)) / *other.joules;
    if (std::abs(difference) <= std::max(difference_to_tell, explained)) return;
    const std::string text = fmt::format("{} and {} differ by {:+.1f} %", a.name, b.name, 100 * difference);
    std::string because = too_coarse(mine.channel);
    if (because.empty()) because = too_coarse(other.channel);
    const bool of_a_gauge = a.kind != b.kind && used(other.channel);
    if (because.empty() && of_a_gauge)
      because = fmt::format("the counter is used, which sums what {} samples now and then", a.name);
    for (const std::uint32_t channel : {mine.channel, other.channel}) {
      if (because.empty()) because = unresolved_text(curves_.at(channel), input_.channels[channel]);
    }
    const bool matters = used(mine.channel) || used(other.channel);
    if (because.empty() && matters && input_.energy_needed && std::abs(difference) > difference_too_large) {
      set_verdict(trial_, Verdict::sensors_disagree, text + ": one of them is wrong");
      return;
    }
    trial_.events.push_back({"sensors_disagree", because.empty() ? text : text + ": " + because});
  }

  TrialRecord& trial_;
  const JudgeInput& input_;
  const std::map<std::uint32_t, EnergyCurve>& curves_;
  Shortest shortest_;
};

void say_if_too_short(TrialRecord& trial) {
  if (!trial.energy_j || !trial.region_s || trial.runs.empty()) return;
  if (!trial.energy_half_width_j) {
    if (trial.fresh_readings < fresh_wanted)
      trial.events.push_back(
          {"short_region", fmt::format("{} fresh readings in {:.3g} s: a longer region is known better",
                                       trial.fresh_readings, *trial.region_s)});
    return;
  }
  const double share = trial.energy_half_width_j.value_or(0) / std::max(1e-12, *trial.energy_j);
  if (trial.fresh_readings >= fresh_wanted && share <= sensor_share_wanted) return;
  std::string text = fmt::format("{} fresh readings in {:.3g} s: the sensor alone adds ±{:.2g} %",
                                 trial.fresh_readings, *trial.region_s, 100 * share);
  if (share > share_of_no_use)
    text = fmt::format(
        "what counts is too short for the sensor, which is then known to ±{:.2g} % only; mark one region "
        "around the "
        "steps, or lengthen it",
        100 * share);
  else if (share > sensor_share_wanted)
    // What the edges add is the same however long the region is.
    text += fmt::format("; run it {:.0f} times inside one region or lengthen it",
                        std::ceil(2 * share / sensor_share_wanted));
  else
    text += "; a longer region is known better";
  trial.events.push_back({"short_region", text});
}

// A machine that has just worked still draws more for a while: half of what changed within the window may be
// of that.
void judge_idle(TrialRecord& trial, const JudgeInput& input) {
  const auto power = idle_power(trial, input);
  if (!power || power->change == 0) return;
  const double length = seconds(trial.child.ended - trial.child.started).value();
  if (trial.energy_half_width_j)
    trial.energy_half_width_j = *trial.energy_half_width_j + std::abs(power->change) / 2 * length;
  trial.events.push_back(
      {"idle_unsteady",
       fmt::format("the machine was not all at rest: its power changed by {:+.3g} W within the idle window{}",
                   power->change,
                   trial.energy_half_width_j ? ", half of which is added to its half-width" : "")});
}

}  // namespace

std::optional<IdlePower> idle_power(const TrialRecord& trial, const JudgeInput& input) {
  const Nanoseconds middle = (trial.child.started + trial.child.ended) / 2;
  const double half = seconds(middle - trial.child.started).value();
  double change = 0, allowed = 0, watts = 0;
  for (const std::uint32_t channel : input.energy_channels) {
    const EnergyCurve curve(input.channels[channel], of_channel(trial.readings, channel),
                            model_of(input, channel, true));
    const auto first = curve.between(trial.child.started, middle),
               second = curve.between(middle, trial.child.ended);
    if (!first.joules || !second.joules || half <= 0) return std::nullopt;
    // What such a gauge may be off by by itself is not known, and so is whether a difference means anything.
    if (!first.half_width_j || !second.half_width_j) return std::nullopt;
    change += (*second.joules - *first.joules) / half;
    watts += *first.joules / half;
    allowed = std::hypot(allowed, *first.half_width_j / half, *second.half_width_j / half);
  }
  // A machine at rest wanders by some per cent; it is not cooling down then.
  constexpr double wanders = 0.02;
  const bool held = std::abs(change) <= std::max(allowed, wanders * watts);
  return IdlePower{watts + change / 2, held ? 0 : change};
}

void judge_energy(TrialRecord& trial, const JudgeInput& input, const Regions& regions) {
  std::map<std::uint32_t, EnergyCurve> curves;
  const bool idle = is_idle(trial.role);
  for (std::uint32_t i = 0; i < input.channels.size(); ++i) {
    if (!measures_energy(input.channels[i])) continue;
    const auto readings = of_channel(trial.readings, i);
    const bool may_be_flat = idle || moved_before(readings, i, input);
    const EnergyCurve curve(input.channels[i], readings, model_of(input, i, may_be_flat));
    trial.energies.push_back(energy_of_regions(curve, i, regions));
    if (ChannelEnergy& energy = trial.energies.back();
        energy.joules && !idle && hangs_meanwhile(curve, readings, i, input, regions)) {
      not_known(energy, EnergyFault::frozen);
    }
    curves.emplace(i, curve);
  }
  double total = 0;
  SummedHalfWidth half_width;
  bool resolved = true;
  bool known = !input.energy_channels.empty();
  trial.fresh_readings = known ? INT32_MAX : 0;
  for (const std::uint32_t channel : input.energy_channels) {
    const auto energy = std::find_if(trial.energies.begin(), trial.energies.end(),
                                     [&](const ChannelEnergy& e) { return e.channel == channel; });
    if (energy != trial.energies.end() && energy->joules) {
      total += *energy->joules;
      if (energy->half_width_j) {
        half_width.add(*energy->half_width_j, *energy->systematic_j);
      } else {
        resolved = false;
        if (counts_for_its_point(trial.role))
          trial.events.push_back(
              {"sensor_unresolved", unresolved_text(curves.at(channel), input.channels[channel])});
      }
      trial.fresh_readings = std::min(trial.fresh_readings, energy->fresh);
      continue;
    }
    known = false;
    const EnergyFault fault = energy == trial.energies.end() ? EnergyFault::absent : energy->fault;
    // Nothing counts (no_region): the verdict says so already.
    if (fault == EnergyFault::none && !(trial.region_s && *trial.region_s > 0)) continue;
    const auto said = input.impossible.find(channel);
    const std::string text = fault == EnergyFault::impossible && said != input.impossible.end()
                                 ? said->second
                                 : fault_text(fault, input.channels[channel]);
    if (input.energy_needed)
      set_verdict(trial, verdict_of(fault), text);
    else
      trial.events.push_back({std::string(to_string(verdict_of(fault))), text});
  }
  // Nothing that runs draws 0 J, and of what is in doubt by several times itself nothing is known: it is far shorter than what its sensors tell.
  constexpr double most_in_doubt = 3;
  const double in_doubt = resolved ? half_width.half_width() : 0;
  if (known && !idle && (total <= 0 || in_doubt > most_in_doubt * total)) {
    known = false;
    const std::string text =
        fault_text(EnergyFault::too_short, input.channels[input.energy_channels.front()]);
    if (input.energy_needed)
      set_verdict(trial, verdict_of(EnergyFault::too_short), text);
    else
      trial.events.push_back({std::string(to_string(verdict_of(EnergyFault::too_short))), text});
  }
  if (known) {
    trial.energy_j = total;
    if (resolved) {
      trial.energy_half_width_j = half_width.half_width();
      trial.energy_systematic_j = std::min(half_width.systematic(), half_width.half_width());
    }
    // What one of several used by itself is not to be had: all of them drew it.
    if (trial.instances.empty()) energy_of_each(trial, curves, input);
    energy_of_all_running(trial, curves, input, regions);
    energy_of_marks(trial, curves, input, regions);
    SourceComparison(trial, input, curves, regions).compare_all();
    if (counts_for_its_point(trial.role)) say_if_too_short(trial);
    if (idle) judge_idle(trial, input);
    return;
  }
  trial.fresh_readings = 0;
  if (input.energy_channels.empty() && input.energy_needed)
    set_verdict(trial, Verdict::sensor_absent, "this machine has no energy sensor that works");
}

}  // namespace dvfs_plan
