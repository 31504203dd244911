// What judging is made of; judge.hpp is the way in.
#pragma once

#include "orchestrator/judge/judge.hpp"
#include "orchestrator/judge/regions.hpp"

namespace dvfs_plan {

// The first cause stays.
void set_verdict(TrialRecord& trial, Verdict verdict, std::string text);

// The share of the region in which each of a board's limits held its clocks down; nullopt: not counted.
struct BoardLimits {
  std::optional<double> power, thermal, brake, other;
};
BoardLimits board_limits(const TrialRecord& trial, const JudgeInput& input, const std::string& domain,
                         const std::vector<Span>& spans);
// ", 92 % of the region at the 700 W limit"; empty if none is worth saying.
std::string limits_text(const BoardLimits& limits, std::optional<double> power_limit_w);
// Tells what limits held down, board by board; heat spoils the trial.
void judge_boards(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans);

// Whether the requested clock was delivered; nullopt if that cannot be told.
std::optional<bool> judge_delivered(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input,
                                    const std::vector<Span>& spans);
void judge_energy(TrialRecord& trial, const JudgeInput& input, const Regions& regions);

}  // namespace dvfs_plan
