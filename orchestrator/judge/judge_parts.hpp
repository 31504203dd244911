// What judging is made of; judge.hpp is the way in.
#pragma once

#include "orchestrator/judge/judge.hpp"
#include "orchestrator/judge/regions.hpp"

namespace dvfs_plan {

// The first cause stays.
void set_verdict(TrialRecord& trial, Verdict verdict, std::string text);

// Whether the requested clock was delivered; nullopt if that cannot be told.
std::optional<bool> judge_delivered(TrialRecord& trial, SettingRecord& setting, const JudgeInput& input,
                                    const std::vector<Span>& spans);
void judge_energy(TrialRecord& trial, const JudgeInput& input, const Regions& regions);

}  // namespace dvfs_plan
