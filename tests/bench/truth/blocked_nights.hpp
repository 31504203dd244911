// Nights in blocks whose truth is known: the program's own order, noise, and what a machine does over a
// night.
#pragma once

#include <cstdint>
#include <string>

namespace dvfs_plan::truth {

enum class Drift {
  none,
  linear,         // within each block
  settles_in_3,   // decays over three trials, at each block's start
  settles_in_10,  // over ten
  settles_once,   // over three trials, at the night's start only
  step,           // at a random moment of the night
  walk,           // at random from trial to trial
};
inline constexpr Drift all_drifts[] = {Drift::none,          Drift::linear,       Drift::settles_in_3,
                                       Drift::settles_in_10, Drift::settles_once, Drift::step,
                                       Drift::walk};
std::string to_string(Drift drift);

enum class Noise {
  equal,
  noisy_best,    // ten times the others'
  noisier_best,  // two and a half times the others': too little for a few trials to show it
  half_noisy,    // every other point three times
};
std::string to_string(Noise noise);

struct BlockConditions {
  Drift drift = Drift::none;
  Noise noise = Noise::equal;
  int points = 12, blocks = 3;
  double scatter = 0.005;    // of a trial's logarithm
  double drift_size = 0.02;  // of the logarithm
  bool alike = false;        // all points draw what the reference does (A against A); else a valley,
  bool clear = false;        // or one point that is better than all others by far more than their noise
};

// What one night's statements were: of all points' savings, of the named point's, of the set.
struct BlockOutcome {
  int savings = 0, savings_hold = 0;
  double savings_width = 0;
  bool named = false, named_holds = false, plain_holds = false;
  double named_width = 0, plain_width = 0;
  bool best_in_set = false;
  int set = 0;
};
// `with_set`: the set and the named point too, which take longer.
BlockOutcome state_a_night(const BlockConditions& conditions, std::uint64_t seed, bool with_set);

// The saving of the named point, corrected after the first blocks, and after so many that confirm it.
struct Claim {
  bool stated = false, holds = false;
  double width = 0;
  double worse_than_best = 0;  // what the named point truly draws more than the best, a share
};
struct ConfirmedOutcome {
  Claim corrected, confirmed;
  bool went_by_fresh_blocks = false;
};
ConfirmedOutcome confirm_a_night(const BlockConditions& conditions, int confirming, std::uint64_t seed);

}  // namespace dvfs_plan::truth
