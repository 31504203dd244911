// What judging is made of; judge.hpp is the way in.
#pragma once

#include <set>

#include "results/trial/judge.hpp"
#include "results/trial/regions.hpp"

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
// The power limit that was in force at a board, W; nullopt: not known.
std::optional<double> power_limit_of(const TrialRecord& trial, const std::string& domain);
// Tells what limits held down, board by board, but for those that were `told` of already; heat spoils the
// trial.
void judge_boards(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans,
                  const std::set<std::string>& told);
// Whether a domain is a CPU package: "package-0".
inline bool is_package(const std::string& domain) {
  return domain.starts_with("package");
}
// The same of CPU packages whose limit was set (cpu.power_limit), by what they drew.
void judge_packages(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans);

// Whether the clocks that were requested were delivered, target by target.
struct Delivered {
  bool all = true;  // known, and as requested
  std::set<std::string>
      boards;  // that delivered another one, which has been told together with what held it down
};
Delivered judge_clocks(TrialRecord& trial, const JudgeInput& input, const std::vector<Span>& spans);
void judge_energy(TrialRecord& trial, const JudgeInput& input, const Regions& regions);

}  // namespace dvfs_plan
