#include "results/report/long_ones.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "results/statistics/estimate.hpp"
#include "results/trial/trial_record.hpp"

namespace dvfs_plan {
namespace {

// Of one that is shorter still than what leaves a gap there may be no reading at all.
bool is_untold(const TrialRow& trial) {
  return trial.left_out.empty() && (trial.verdict == to_string(Verdict::sensor_gap) ||
                                    trial.verdict == to_string(Verdict::sensor_absent));
}

// Whether the told ones are the longer by more than chance makes them: ranks (H. B. Mann and D. R. Whitney 1947; normal approximation, one-sided
// at 1 %). A few short ones may have been told too.
bool are_longer_than_by_chance(const std::vector<double>& told, const std::vector<double>& not_told) {
  double wins = 0;
  for (const double long_one : told) {
    for (const double short_one : not_told)
      wins += long_one > short_one ? 1 : long_one == short_one ? 0.5 : 0;
  }
  const double m = static_cast<double>(told.size()), n = static_cast<double>(not_told.size());
  constexpr double one_percent = 2.326;
  return wins - m * n / 2 > one_percent * std::sqrt(m * n * (m + n + 1) / 12);
}

// A reader that is held up leaves out any trial; where those that were left out are shorter, and by more than trials commonly scatter, it
// was their length. Of few it is said where each is shorter than all that were told.
bool were_chosen_by_length(const std::vector<double>& told, const std::vector<double>& not_told) {
  constexpr double by_more_than_scatter = 0.9;
  if (told.empty() || not_told.empty() || average_of(not_told) >= by_more_than_scatter * average_of(told))
    return false;
  return *std::max_element(not_told.begin(), not_told.end()) < *std::min_element(told.begin(), told.end()) ||
         are_longer_than_by_chance(told, not_told);
}

std::string settings_words(const TrialRow& trial) {
  std::vector<std::string> settings;
  for (const AxisSetting& setting : trial.settings) settings.push_back(setting.axis + " = " + setting.text);
  return settings.empty() ? "the machine as it is" : join(settings, ", ");
}

}  // namespace

LongOnes::LongOnes(const std::vector<TrialRow>& trials) {
  for (const TrialRow& trial : trials) {
    const bool counts = trial.counts();
    if (trial.role == TrialRole::warm_up || !trial.time_s || (!counts && !is_untold(trial))) continue;
    Lengths& lengths = found_[{trial.scenario, trial.point}];
    const bool told = counts && trial.energy_j;
    (told ? lengths.told : lengths.not_told).push_back(*trial.time_s);
    lengths.short_ones_count = lengths.short_ones_count || (counts && !told);
    lengths.one = &trial;
  }
  std::erase_if(found_,
                [](const auto& one) { return !were_chosen_by_length(one.second.told, one.second.not_told); });
}

const TrialRow* LongOnes::of(const TrialRow& trial) {
  if (found_.empty() || !trial.counts()) return &trial;
  const auto found = found_.find({trial.scenario, trial.point});
  if (found == found_.end()) return &trial;
  TrialRow& copy = taken_out_.emplace_back(trial);
  if (!found->second.short_ones_count) {
    copy.verdict = "chosen_by_length";
    return &copy;
  }
  for (auto amount : {&TrialRow::energy_j, &TrialRow::energy_half_width_j, &TrialRow::energy_systematic_j,
                      &TrialRow::above_idle_j, &TrialRow::energy_per_unit_j, &TrialRow::mean_power_w})
    (copy.*amount).reset();
  return &copy;
}

std::vector<std::string> LongOnes::warnings() const {
  std::vector<std::string> lines;
  for (const auto& [key, lengths] : found_)
    lines.push_back(fmt::format(
        "{}: {}: {} of about {:.3g} s {} too short for the sensor, and it told {} that lasted {:.3g} s: the "
        "longer ones alone are not what the setting takes, and {}; have the command run again within a "
        "trial (measure: {{at least: ..}})",
        key.first, settings_words(*lengths.one), counted(static_cast<int>(lengths.not_told.size()), "trial"),
        average_of(lengths.not_told), lengths.not_told.size() == 1 ? "was" : "were", lengths.told.size(),
        average_of(lengths.told),
        lengths.short_ones_count ? "no energy is stated of it" : "none of them counts"));
  return lines;
}

}  // namespace dvfs_plan
