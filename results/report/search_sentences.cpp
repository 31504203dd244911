// What an adaptive search claims, in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "results/report/summary.hpp"

namespace dvfs_plan {

// Rounded to a tenth of a percent so that a bound that is said is never tighter than the one found.
// The bound is by how much this one is above the least: of little trials it may be some 100 %, and nothing is 400 % better.
std::string at_most_better(double bound) {
  if (!std::isfinite(bound)) return "is known well enough yet to be judged";
  if (bound >= 1)
    return fmt::format("takes less than {:.1f} % of what it takes", std::floor(1000 / (1 + bound)) / 10);
  const double tenths = std::ceil(bound * 1000 - 1e-9);
  return tenths < 1 ? "is better" : fmt::format("is more than {:.1f} % better", tenths / 10);
}

namespace {

std::string settings_of_point(const SearchSummary& search, const std::string& key) {
  const auto point = std::find_if(search.points.begin(), search.points.end(),
                                  [&](const SearchPoint& p) { return p.point == key; });
  std::vector<std::string> texts;
  for (const AxisSetting& setting : point->settings) texts.push_back(setting.axis + " = " + setting.text);
  return join(texts, ", ");
}

}  // namespace

std::string bound_sentences(const SearchSummary& search, bool certainly_holds) {
  const auto settings = search.points.size();
  if (settings < 2) return {};
  if (!search.scatter_known)
    return fmt::format(
        "No setting ran often enough to tell how trials scatter: no bound is stated, savings have no "
        "interval, and none is told apart from another; "
        "{} of {} settings run, {}. `recheck` runs the best again, and `repeat` with another search tells "
        "more.",
        search.settings_run, settings, counted(search.trials, "trial"));
  std::string text = fmt::format(
      "With {:g} % confidence no other of the {} settings{} {}; {} of {} settings run, {} trial{}.",
      100 * search.rule.confidence, settings, search.constrained ? " that holds the constraints" : "",
      at_most_better(search.bound), search.settings_run, settings, search.trials,
      search.trials == 1 ? "" : "s");
  if (static_cast<std::size_t>(search.settings_run) < settings)
    text +=
        " That takes those not run to go on as those beside them: they may bend, step or scatter as these "
        "do, "
        "but no dip may hide between two that were run.";
  if (!search.on_nodes.empty()) {
    const auto worst =
        std::max_element(search.on_nodes.begin(), search.on_nodes.end(),
                         [](const auto& a, const auto& b) { return a.second.bound < b.second.bound; });
    text += fmt::format(
        " That is of the {} machines that took part, together; for each of them by itself none {} (each with "
        "{:g} % "
        "confidence; the widest is that of {}).",
        search.on_nodes.size(), at_most_better(worst->second.bound), 100 * search.rule.confidence,
        printable(worst->first));
  }
  if (search.hopeless > 0)
    text += fmt::format(" {} setting{} failed{} or {} disturbed each time {} tried, and {} left out.",
                        search.hopeless, search.hopeless == 1 ? "" : "s",
                        search.per_unit ? ", did no work" : "", search.hopeless == 1 ? "was" : "were",
                        search.hopeless == 1 ? "it was" : "they were", search.hopeless == 1 ? "is" : "are");
  if (search.constraints_hold < search.rule.confidence && !certainly_holds)
    text += fmt::format(
        " That it holds the constraints is only {:.0f} % sure, and the bound is for the case that it does.",
        100 * search.constraints_hold);
  if (search.doubtful)
    text +=
        " The surface is not as the model expects; the bound is widened by how far the model misses its own "
        "trials.";
  const auto others = std::count_if(search.points.begin(), search.points.end(), [&](const SearchPoint& p) {
    return p.not_told_apart && p.point != search.best;
  });
  if (others > 0)
    text += fmt::format(" {} other{} may be as good, at the 5 % level.", others, others == 1 ? "" : "s");
  if (search.rule.regret > 0 && search.bound > search.rule.regret && search.next_best) {
    text +=
        fmt::format(" That is wider than the {:g} % asked for; the trial that would help most is one at {}.",
                    100 * search.rule.regret, settings_of_point(search, *search.next_best));
  }
  if (search.broke_off)
    text += " The search was given up: too many trials in a row failed or were disturbed.";
  if (search.used_prior) text += " Earlier results helped.";
  if (search.shared) text += " The workloads learnt from each other.";
  return text;
}

}  // namespace dvfs_plan
