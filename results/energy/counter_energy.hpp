// The energy of some stretches of time by a counter that is renewed now and then. Pure.
//
// Within an interval between two renewals that lies inside what counts, or outside, the sum is known. Of an
// interval that an edge divides only the sum of both parts is known. What each part drew is estimated from
// the nearest whole intervals of its own side, and the sum's remainder goes to the side whose power is less
// certain: an idle machine's power before a process is known well, what the process drew in its first moments
// is not. Beside a mark of the workload's own the load may also have come before the mark, as a load that draws more at its begin would
// look: what would then be the outside's is in the half-width.
//
// The half-width (95 %) has two parts. That of the shape: what of a divided interval either side may have
// drawn, by how much power varies from interval to interval on that side. It may be the same in all trials of
// a workload. That of the timing: when each renewal happened, by the looks and by how late the counter is, and the unit that it counts in.
#pragma once

#include <span>
#include <vector>

#include "results/energy/fresh_values.hpp"

namespace dvfs_plan {

struct Stretch {
  double from = 0, to = 0;  // s
  // Its ends are marks that the workload made in the midst of its work: what it draws may change a moment before one of them.
  bool marked = false;
};

struct CountedEnergy {
  double joules = 0;
  double shape = 0, timing = 0;  // 95 % half-widths, J
  double systematic = 0;         // of the shape's, what may be the same in all trials, J
  double guessed =
      0;  // of the systematic, what guesses of all stretches alike may be off by: each load's own, J
  double half_width() const;
};

// `values` in time order, at least two, that enclose the stretches or nearly so. `stretches` are disjoint and
// in time order. `lag`: the value is the sum up to a moment that lies up to so long before it became visible,
// s. `update`: between renewals, s; 0: not known.
CountedEnergy counted_energy(std::span<const FreshValue> values, std::span<const Stretch> stretches,
                             double lag, double update);

}  // namespace dvfs_plan
