#include "results/compare/broken_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "results/compare/failures.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

struct OfNights {
  int known = 0, held = 0, broken = 0;  // the latter two with their whole interval
  std::vector<double> held_at, broken_at;
};

OfNights of_nights(const std::vector<const PointSummary*>& nights, const std::string& text) {
  OfNights all;
  for (const PointSummary* night : nights) {
    const auto found = std::find_if(night->constraints.begin(), night->constraints.end(),
                                    [&](const ConstraintCheck& one) { return one.text == text; });
    if (found == night->constraints.end() || !found->holds) continue;
    ++all.known;
    if (found->certain != true) continue;
    ++(*found->holds ? all.held : all.broken);
    (*found->holds ? all.held_at : all.broken_at).push_back(found->value.value_or(NAN));
  }
  return all;
}

}  // namespace

std::vector<BrokenLimit> broken_limits(const std::vector<const PointSummary*>& before,
                                       const std::vector<const PointSummary*>& after) {
  std::vector<BrokenLimit> found;
  for (const PointSummary* night : before) {
    for (const ConstraintCheck& one : night->constraints) {
      // Slowdown and power are judged as changes of their own.
      if (is_measured(one.name) || std::any_of(found.begin(), found.end(), [&](const BrokenLimit& known) {
            return known.text == one.text;
          }))
        continue;
      const OfNights then = of_nights(before, one.text), now = of_nights(after, one.text);
      if (then.held == 0 || then.held < then.known || now.broken == 0) continue;
      found.push_back({one.text, estimate(then.held_at)->mean, estimate(now.broken_at)->mean, then.held,
                       now.broken, now.known, chance_of({0, then.known, {}}, {now.broken, now.known, {}})});
    }
  }
  return found;
}

std::string broken_limit_text(const BrokenLimit& limit, bool of_several_nights) {
  if (!of_several_nights)
    return fmt::format(
        "{} held before ({:.4g}) and does not after ({:.4g}); whether that is the setting or the night, "
        "several "
        "nights a side tell",
        limit.text, limit.before, limit.after);
  return fmt::format(
      "{} held before in {} ({:.4g}) and does not after in {} of {} ({:.4g}); by chance that is {:.2g} %",
      limit.text, counted(limit.held, "night"), limit.before, limit.broken, limit.of, limit.after,
      100 * limit.chance);
}

}  // namespace dvfs_plan
