#include "results/compare/broken_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "results/compare/failures.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

struct OfNights {
  int known = 0, held = 0, broken = 0;  // the latter two with their whole interval
  std::vector<double> held_at, broken_at;
  std::optional<std::string> why_unknown;  // of a night that is asked for it and cannot say
};

OfNights of_nights(const std::vector<const PointSummary*>& nights, const std::string& text) {
  OfNights all;
  for (const PointSummary* night : nights) {
    const auto found = std::find_if(night->constraints.begin(), night->constraints.end(),
                                    [&](const ConstraintCheck& one) { return one.text == text; });
    if (found == night->constraints.end() || night->counted == 0) continue;
    if (!found->holds) {
      all.why_unknown = found->why_not.empty() ? "no trial that counts tells it" : found->why_not;
      continue;
    }
    ++all.known;
    if (found->certain != true) continue;
    ++(*found->holds ? all.held : all.broken);
    (*found->holds ? all.held_at : all.broken_at).push_back(found->value.value_or(NAN));
  }
  return all;
}

// Calls `with`(text, then, now) for each that the nights before held which know it. Slowdown and power are judged as changes of their own.
void each_held_before(const std::vector<const PointSummary*>& before,
                      const std::vector<const PointSummary*>& after, auto with) {
  std::set<std::string> seen;
  for (const PointSummary* night : before) {
    for (const ConstraintCheck& one : night->constraints) {
      if (is_measured(one.name) || !seen.insert(one.text).second) continue;
      const OfNights then = of_nights(before, one.text);
      if (then.held > 0 && then.held == then.known) with(one.text, then, of_nights(after, one.text));
    }
  }
}

}  // namespace

std::vector<BrokenLimit> broken_limits(const std::vector<const PointSummary*>& before,
                                       const std::vector<const PointSummary*>& after) {
  std::vector<BrokenLimit> found;
  each_held_before(before, after, [&](const std::string& text, const OfNights& then, const OfNights& now) {
    if (now.broken == 0) return;
    found.push_back({text, estimate(then.held_at)->mean, estimate(now.broken_at)->mean, then.held, now.broken,
                     now.known, chance_of({0, then.known, {}}, {now.broken, now.known, {}})});
  });
  return found;
}

std::vector<UnknownLimit> unknown_limits(const std::vector<const PointSummary*>& before,
                                         const std::vector<const PointSummary*>& after) {
  std::vector<UnknownLimit> found;
  each_held_before(before, after, [&](const std::string& text, const OfNights& then, const OfNights& now) {
    if (now.known == 0 && now.why_unknown)
      found.push_back({text, estimate(then.held_at)->mean, *now.why_unknown});
  });
  return found;
}

std::string unknown_limit_text(const UnknownLimit& limit) {
  return fmt::format("{} held before ({:.4g}), and whether it does after is not known: {}", limit.text,
                     limit.before, limit.why);
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
