// Trials of a setting that ran into their own end (a wrong exit code, a signal, a time limit), and whether they do so more often than
// before.
#pragma once

#include <string>

#include "results/report/summary.hpp"

namespace dvfs_plan {

struct Failures {
  int failed = 0, of = 0;  // of those that failed, count, or did not reach their target
  std::string causes;      // "3 exited, 1 timed_out"
};

// What others did, or a meter, is none.
Failures failures_of(const PointSummary& point);
// "3 did not run to their end (3 exited)"
std::string failures_text(const Failures& failures);
// A larger share.
bool fails_more_often(const Failures& then, const Failures& now);
// The probability that so many of those that failed, or more, are among the later ones by chance (Fisher's exact test, one-sided).
double chance_of(const Failures& then, const Failures& now);

}  // namespace dvfs_plan
