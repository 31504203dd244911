#include "results/compare/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/text.hpp"
#include "results/report/causes.hpp"

namespace dvfs_plan {

Failures failures_of(const PointSummary& point) {
  static const std::set<std::string> own{"exited", "signalled", "timed_out", "instance_failed"};
  Failures failures{0, point.counted + point.censored, {}};
  std::map<std::string, int> causes;
  for (const auto& [verdict, count] : point.not_counted) {
    if (!own.contains(verdict)) continue;
    failures.failed += count;
    causes.emplace(verdict, count);
  }
  failures.of += failures.failed;
  failures.causes = causes_text(causes);
  return failures;
}

std::string failures_text(const Failures& failures) {
  return fmt::format("{} did not run to {} end ({})", failures.failed, failures.failed == 1 ? "its" : "their",
                     failures.causes);
}

bool fails_more_often(const Failures& then, const Failures& now) {
  return now.failed > 0 && now.failed * then.of > then.failed * now.of;
}

double chance_of(const Failures& then, const Failures& now) {
  const int all = then.of + now.of, failed = then.failed + now.failed;
  const auto log_choose = [](int n, int k) {
    return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0);
  };
  double sum = 0;
  for (int k = now.failed; k <= std::min(failed, now.of); ++k) {
    if (failed - k > then.of) continue;
    sum += std::exp(log_choose(now.of, k) + log_choose(then.of, failed - k) - log_choose(all, failed));
  }
  return sum;
}

}  // namespace dvfs_plan
