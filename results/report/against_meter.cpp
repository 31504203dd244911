#include "results/report/against_meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/text.hpp"
#include "results/energy/energy_source.hpp"
#include "results/report/amounts.hpp"
#include "results/report/side_by_side.hpp"
#include "results/statistics/blocks.hpp"
#include "results/trial/judge.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t fewest_of_line = 3;  // stretches of a block

// One stretch of time in which both were read: mean powers.
struct Stretch {
  int block = 0;
  std::string what;  // ran: scenario and point; empty of an idle window
  double theirs_w = 0, meters_w = 0;
  double theirs_own_w = 0, meters_own_w = 0;  // what they may be off by in all trials alike
  std::optional<double> elsewhere_w =
      {};  // theirs, of the same in the other blocks; nullopt: it ran in no other
};

void look_elsewhere(std::vector<Stretch>& stretches) {
  struct Sum {
    double watts = 0;
    int count = 0;
  };
  std::map<std::string, Sum> all;
  std::map<std::pair<std::string, int>, Sum> own;
  for (const Stretch& one : stretches) {
    for (Sum* sum : {&all[one.what], &own[{one.what, one.block}]}) {
      sum->watts += one.theirs_w;
      ++sum->count;
    }
  }
  for (Stretch& one : stretches) {
    const Sum &every = all[one.what], &mine = own[{one.what, one.block}];
    if (every.count > mine.count) one.elsewhere_w = (every.watts - mine.watts) / (every.count - mine.count);
  }
}

// Of the channels' sum; nullopt: one of them is not known.
std::optional<double> sum_of(const std::map<std::string, double>& of, const std::vector<Channel>& channels,
                             const EnergySource& source) {
  double sum = 0;
  for (const std::uint32_t channel : source.channels) {
    const auto one = of.find(channels[channel].name);
    if (one == of.end()) return std::nullopt;
    sum += one->second;
  }
  return sum;
}

class Comparison {
 public:
  Comparison(const Summary& summary, const std::vector<Channel>& channels,
             const std::vector<ChannelEnergies>& energies, const std::vector<TrialRow>& trials)
      : summary_(summary), channels_(channels), energies_(energies), trials_(trials) {
    for (const TrialRow& trial : trials) {
      if (trial.counts()) counted_[trial.id] = &trial;
    }
  }

  std::optional<AgainstMeter> compare() {
    const auto meter = energy_source_of("system", channels_);
    if (!meter || summary_.experiment.energy_source != meter->name) return std::nullopt;
    if (std::any_of(trials_.begin(), trials_.end(),
                    [](const TrialRow& trial) { return !trial.node.empty(); }))
      return std::nullopt;
    meter_ = *meter;
    std::vector<Channel> others = channels_;
    for (Channel& channel : others) {
      if (channel.domain == "system") channel.unit.clear();  // measures no energy here
    }
    const auto sources = energy_sources(others, {});
    if (sources.empty()) return std::nullopt;
    AgainstMeter against{"system", {}, {}};
    against.fits.push_back(fit(sources.front()));
    if (sources.front().channels.size() > 1) {
      for (const std::uint32_t channel : sources.front().channels)
        against.fits.push_back(fit({channels_[channel].domain, {channel}}));
    }
    std::erase_if(against.fits, [](const MeterFit& one) { return one.trials == 0; });
    if (against.fits.empty()) return std::nullopt;
    against.answers = answers(sources.front());
    return against;
  }

 private:
  MeterFit fit(const EnergySource& theirs) const {
    MeterFit result;
    result.sensors = theirs.name;
    std::vector<Stretch> stretches;
    std::map<int, std::pair<double, double>> joules;  // by block, of trials: theirs and the meter's
    double theirs_j = 0, meters_j = 0, theirs_own_j = 0, meters_own_j = 0;
    for (const ChannelEnergies& one : energies_) {
      const bool idle = one.role == TrialRole::idle_before || one.role == TrialRole::idle_after;
      if (!(idle ? one.ok : counted_.contains(one.trial)) || one.seconds <= 0) continue;
      const auto a = sum_of(one.joules, channels_, theirs), b = sum_of(one.joules, channels_, meter_);
      if (!a || !b || *b <= 0) continue;
      const auto a_own = sum_of(one.systematic_j, channels_, theirs),
                 b_own = sum_of(one.systematic_j, channels_, meter_);
      result.own_parts_known = result.own_parts_known && a_own && b_own;
      ++(idle ? result.idle_windows : result.trials);
      stretches.push_back({one.block,
                           {},
                           *a / one.seconds,
                           *b / one.seconds,
                           a_own.value_or(0) / one.seconds,
                           b_own.value_or(0) / one.seconds});
      if (idle) continue;
      const TrialRow& trial = *counted_.at(one.trial);
      stretches.back().what = trial.scenario + '\0' + trial.point;
      if (trial.energy_half_width_j && trial.energy_j.value_or(0) > 0)
        result.meters_own = std::max(result.meters_own, *trial.energy_half_width_j / *trial.energy_j);
      joules[one.block].first += *a;
      joules[one.block].second += *b;
      theirs_j += *a;
      meters_j += *b;
      theirs_own_j += a_own.value_or(0);
      meters_own_j += b_own.value_or(0);
    }
    std::vector<double> shares;
    for (const auto& [block, both] : joules) shares.push_back(both.first / both.second);
    result.share = estimate(shares);
    if (result.share && theirs_j > 0)
      add_own_part(*result.share, result.share->mean * (theirs_own_j / theirs_j + meters_own_j / meters_j));
    look_elsewhere(stretches);
    const auto of_block = [&](int block, bool elsewhere) {
      std::vector<Stretch> mine;
      std::copy_if(stretches.begin(), stretches.end(), std::back_inserter(mine),
                   [&](const Stretch& s) { return s.block == block && (!elsewhere || s.elsewhere_w); });
      return mine;
    };
    // A first block, and another that has hardly begun: by their own watts, without an interval.
    const bool by_others = std::any_of(joules.begin(), joules.end(), [&](const auto& block) {
      return of_block(block.first, true).size() >= fewest_of_line;
    });
    std::vector<Covariances> blocks;
    std::vector<Stretch> of_line;
    for (const auto& [block, both] : joules) {
      const auto mine = of_block(block, by_others);
      if (const auto one = covariances_of(mine, by_others)) {
        blocks.push_back(*one);
        for (const Stretch& stretch : mine)
          ++(stretch.what.empty() ? result.windows_of_line : result.trials_of_line);
        of_line.insert(of_line.end(), mine.begin(), mine.end());
      }
    }
    if (const auto line = line_through(blocks)) std::tie(result.gain, result.offset_w) = *line;
    if (!result.gain) return result;
    add_own_parts(result, of_line, by_others);
    for (const Stretch& one : stretches) {
      const double off =
          std::abs(result.offset_w->mean + result.gain->mean * one.theirs_w - one.meters_w) / one.meters_w;
      result.furthest = std::max(result.furthest, off);
    }
    return result;
  }

  // It has the same sign in all blocks, so it is no scatter: it adds up.
  static void add_own_part(Estimate& value, double own) {
    value.sensor_half_width = value.systematic_half_width = own;
    if (value.half_width) *value.half_width += own;
  }

  // Of gain and offset, at its worst: each stretch off in the direction in which it weighs.
  static void add_own_parts(MeterFit& fit, std::span<const Stretch> stretches, bool by_others) {
    struct Means {
      double n = 0, level = 0;
    };
    std::map<int, Means> of_blocks;
    for (const Stretch& one : stretches) {
      Means& block = of_blocks[one.block];
      ++block.n;
      block.level += level_of(one, by_others);
    }
    double all = 0, theirs_w = 0;  // the latter the mean of the blocks' means
    const auto from_mean = [&](const Stretch& one) {
      const Means& block = of_blocks.at(one.block);
      return level_of(one, by_others) - block.level / block.n;
    };
    const auto share_of = [&](const Stretch& one) {
      return 1 / (of_blocks.at(one.block).n * static_cast<double>(of_blocks.size()));
    };
    for (const Stretch& one : stretches) {
      all += from_mean(one) * one.theirs_w;
      theirs_w += share_of(one) * one.theirs_w;
    }
    double of_gain = 0, of_offset = 0;
    for (const Stretch& one : stretches) {
      const double off = one.meters_own_w + std::abs(fit.gain->mean) * one.theirs_own_w;
      const double weight = from_mean(one) / all;
      of_gain += std::abs(weight) * off;
      of_offset += std::abs(share_of(one) - weight * theirs_w) * off;
    }
    add_own_part(*fit.gain, of_gain);
    add_own_part(*fit.offset_w, of_offset);
  }

  static double level_of(const Stretch& one, bool by_others) {
    return by_others ? *one.elsewhere_w : one.theirs_w;
  }

  // Of one block's stretches: mean watts, and both's covariance with the level at which each ran.
  struct Covariances {
    double theirs_w = 0, meters_w = 0, with_theirs = 0, with_meters = 0;
  };

  // The level is what the same took in the other blocks: an instrument (Angrist, Imbens and Krueger, J. Appl. Econometrics 14:57,
  // 1999). By least squares on their own watts the sensors' scatter makes the slope too small, in every block alike, so that no
  // interval of blocks holds it. nullopt: fewer than three, or levels so alike that a slope would be of their scatter.
  static std::optional<Covariances> covariances_of(std::span<const Stretch> stretches, bool by_others) {
    constexpr double least_range = 0.1;  // of the greatest
    if (stretches.size() < fewest_of_line) return std::nullopt;
    Covariances of;
    double level = 0, least = level_of(stretches[0], by_others), most = least;
    const auto n = static_cast<double>(stretches.size());
    for (const Stretch& one : stretches) {
      of.theirs_w += one.theirs_w / n;
      of.meters_w += one.meters_w / n;
      level += level_of(one, by_others) / n;
      least = std::min(least, level_of(one, by_others));
      most = std::max(most, level_of(one, by_others));
    }
    if (most <= 0 || most - least < least_range * most) return std::nullopt;
    for (const Stretch& one : stretches) {
      const double from_mean = level_of(one, by_others) - level;
      of.with_theirs += from_mean * (one.theirs_w - of.theirs_w);
      of.with_meters += from_mean * (one.meters_w - of.meters_w);
    }
    return of;
  }

  // Gain and offset: the ratio of the blocks' sums (the mean of their ratios is too large), intervals by what each block departs from it.
  // nullopt: no block tells, or their watts do not follow what ran.
  static std::optional<std::pair<std::optional<Estimate>, std::optional<Estimate>>> line_through(
      std::span<const Covariances> blocks) {
    Covariances mean;
    const auto n = static_cast<double>(blocks.size());
    for (const Covariances& one : blocks) {
      mean.theirs_w += one.theirs_w / n;
      mean.with_theirs += one.with_theirs / n;
      mean.with_meters += one.with_meters / n;
    }
    if (blocks.empty() || mean.with_theirs <= 0) return std::nullopt;
    const double gain = mean.with_meters / mean.with_theirs;
    std::vector<double> gains, offsets;
    for (const Covariances& one : blocks) {
      const double departs = (one.with_meters - gain * one.with_theirs) / mean.with_theirs;
      gains.push_back(gain + departs);
      offsets.push_back(one.meters_w - gain * one.theirs_w - departs * mean.theirs_w);
    }
    return std::pair(estimate(gains), estimate(offsets));
  }

  // The same trials with the sensors' joules in place of the meter's.
  std::vector<TrialRow> by_sensors(const EnergySource& theirs) const {
    std::map<std::int64_t, std::pair<std::optional<double>, std::optional<double>>> known;
    for (const ChannelEnergies& one : energies_)
      known[one.trial] = {sum_of(one.joules, channels_, theirs), sum_of(one.joules, channels_, meter_)};
    std::vector<TrialRow> rows = trials_;
    for (TrialRow& row : rows) {
      const auto found = known.find(row.id);
      const auto a = found == known.end() ? std::nullopt : found->second.first,
                 b = found == known.end() ? std::nullopt : found->second.second;
      const bool both = a && b && *b > 0;
      const double ratio = both ? *a / *b : 0;
      for (std::optional<double>* joules : {&row.energy_j, &row.energy_per_unit_j, &row.mean_power_w}) {
        if (!both) joules->reset();
        if (*joules) **joules *= ratio;
      }
      // How well each trial is known by the sensors is no part of which setting they name.
      row.energy_half_width_j.reset();
      row.energy_systematic_j.reset();
      row.above_idle_j = std::nullopt;
      if (!row.objective_value && !row.more_than) continue;
      const auto time = row.work_time();
      const auto value =
          time ? objective_value(summary_.experiment.objective_for(row.workload), row.work_energy(), *time)
               : std::nullopt;
      (row.more_than ? row.more_than : row.objective_value) = value;
    }
    return rows;
  }

  std::vector<MeterAnswer> answers(const EnergySource& theirs) const {
    std::vector<MeterAnswer> all;
    if (summary_.experiment.search) return all;
    const Summary other = summarise(summary_.experiment, by_sensors(theirs));
    for (const ScenarioSummary& mine : summary_.scenarios) {
      const auto found = std::find_if(other.scenarios.begin(), other.scenarios.end(),
                                      [&](const ScenarioSummary& s) { return s.scenario == mine.scenario; });
      if (found == other.scenarios.end() || !found->best || !mine.best || mine.planned_points < 2 ||
          mine.objective.minimise == Objective::time)
        continue;
      const std::string& named = found->points[*found->best].point;
      MeterAnswer answer{mine.scenario,
                         found->points[*found->best].settings,
                         named == mine.points[*mine.best].point,
                         false,
                         {}};
      const auto point = std::find_if(mine.points.begin(), mine.points.end(),
                                      [&](const PointSummary& p) { return p.point == named; });
      if (!answer.same && point != mine.points.end()) {
        for (const ConstraintCheck& check : point->constraints) {
          if (check.holds == true) continue;
          answer.breaks.push_back(fmt::format(
              "{} ({})", check.text, check.value ? "it has " + value_text(check) : value_text(check)));
        }
        if (answer.breaks.empty()) {
          answer.told_apart = mine.spread_known && !point->not_told_apart;
          answer.gain = gain_against(mine, *point);
        }
      }
      all.push_back(std::move(answer));
    }
    return all;
  }

  // Of the meter's best, by the meter, among the settings that hold the limits: those are not judged anew, against another reference.
  std::optional<Change> gain_against(const ScenarioSummary& mine, const PointSummary& point) const {
    std::set<std::string> feasible;
    for (const PointSummary& one : mine.points) {
      if (one.feasible) feasible.insert(one.point);
    }
    std::vector<TrialRow> rows;
    std::copy_if(trials_.begin(), trials_.end(), std::back_inserter(rows), [&](const TrialRow& row) {
      return row.scenario == mine.scenario && feasible.contains(row.point);
    });
    for (TrialRow& row : rows) row.is_reference = row.point == point.point;
    ExperimentRow unlimited = summary_.experiment;
    unlimited.objective.constraints.clear();
    for (auto& [workload, own] : unlimited.own_objectives) own.constraints.clear();
    const Summary answer = summarise(unlimited, rows);
    if (answer.scenarios.size() != 1) return std::nullopt;
    const ScenarioSummary& one = answer.scenarios.front();
    const bool same_best = one.best && one.points[*one.best].point == mine.points[*mine.best].point;
    return same_best ? one.gain_of_best : std::nullopt;
  }

  const Summary& summary_;
  const std::vector<Channel>& channels_;
  const std::vector<ChannelEnergies>& energies_;
  const std::vector<TrialRow>& trials_;
  std::map<std::int64_t, const TrialRow*> counted_;
  EnergySource meter_;
};

std::string with_half_width(const Estimate& value, std::string_view unit) {
  return amount(value, unit) + (value.half_width ? "" : " (of one block: ± is not known)");
}

Estimate in_percent(Estimate share) {
  share.mean *= 100;
  if (share.half_width) *share.half_width *= 100;
  return share;
}

}  // namespace

std::optional<AgainstMeter> against_meter(const Summary& summary, const std::vector<Channel>& channels,
                                          const std::vector<ChannelEnergies>& energies,
                                          const std::vector<TrialRow>& trials) {
  return Comparison(summary, channels, energies, trials).compare();
}

std::vector<std::string> fit_lines(const AgainstMeter& against) {
  std::vector<std::string> lines;
  for (const MeterFit& fit : against.fits) {
    std::string line = fmt::format("{} against the meter of {}: ", fit.sensors, against.meter);
    if (fit.share)
      line += fmt::format("{} of its joules over {}", with_half_width(in_percent(*fit.share), "%"),
                          counted(fit.trials, "trial"));
    if (fit.gain)
      line += fmt::format(
          "; its watts are {} + {} times theirs ({} and {}, in blocks; a single one is up to {:.1f} % off "
          "that)",
          with_half_width(*fit.offset_w, "W"), with_half_width(*fit.gain, ""),
          counted(fit.trials_of_line, "trial"), counted(fit.windows_of_line, "idle window"),
          100 * fit.furthest);
    else
      line += "; their powers differ too little to tell an offset from a gain";
    if (!fit.own_parts_known)
      line += "; by what the meter or the sensors are off by themselves is not known, and in none of this";
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> warnings_of_meter(const AgainstMeter& against) {
  std::vector<std::string> sentences;
  // As Agreement::impossible() has it, beside what the meter may be off by itself, and what blocks differ by (of one block that is not known).
  constexpr double may_exceed = 0.05;
  for (const MeterFit& fit : against.fits) {
    if (!fit.share || fit.share->mean - fit.share->half_width.value_or(fit.meters_own) <= 1 + may_exceed)
      continue;
    sentences.push_back(fmt::format(
        "WARNING: {} took {:.1f} % of what the meter of {} counted, which holds it: one of them is wrong (a "
        "meter of one "
        "of several supplies?), and no joule of this night is to be trusted before it is known which",
        fit.sensors, 100 * fit.share->mean, against.meter));
  }
  return sentences;
}

std::vector<std::string> meter_sentences(const AgainstMeter& against) {
  std::vector<std::string> sentences;
  for (const MeterAnswer& answer : against.answers) {
    std::string text =
        fmt::format("{}: by {} alone, without the meter, ", answer.scenario, against.fits.front().sensors);
    PointSummary named;
    named.settings = answer.by_sensors;
    if (answer.same) {
      text += "the answer is the same setting";
    } else {
      text += fmt::format("{} would be named", settings_text(named));
      const auto& gain = answer.gain;
      if (!answer.breaks.empty())
        text += ", which by the meter is not known to hold " + join(answer.breaks, " and ");
      else if (!answer.told_apart)
        text += ", which the meter does not tell apart from its own";
      else if (gain && gain->low && gain->high && !is_beyond_zero(*gain))
        text += ", whose difference to its own the meter does not show";
      else if (gain)
        text += fmt::format("; by the meter its own is {:.1f} % better than that{}", 100 * gain->value,
                            gain->low && gain->high ? fmt::format(" (95 % interval {:.1f} to {:.1f} %)",
                                                                  100 * *gain->low, 100 * *gain->high)
                                                    : "");
    }
    sentences.push_back(std::move(text));
  }
  return sentences;
}

}  // namespace dvfs_plan
