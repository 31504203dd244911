#include "results/report/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "results/report/of_totals.hpp"
#include "results/report/text_table.hpp"
#include "results/statistics/blocks.hpp"
#include "results/statistics/estimate.hpp"

namespace dvfs_plan {
namespace {

// Logarithms of the objective by machine and block, the points' means taken out, so that what is left is the machine's level.
std::map<std::string, std::map<int, std::vector<double>>> levels_of_nodes(
    const std::vector<const TrialRow*>& trials) {
  // A point's mean of the machines' means: no machine has more to say for having run more blocks.
  std::map<std::string, std::map<std::string, std::pair<double, int>>> sums;
  for (const TrialRow* trial : trials) {
    auto& [sum, count] = sums[trial->point][trial->node];
    sum += std::log(*trial->objective_value);
    ++count;
  }
  std::map<std::string, double> centre;
  std::size_t most = 0;
  for (const auto& [point, nodes] : sums) most = std::max(most, nodes.size());
  for (const auto& [point, nodes] : sums) {
    if (nodes.size() < most) continue;  // not all machines ran it
    double mean = 0;
    for (const auto& [node, sum] : nodes) mean += sum.first / sum.second / static_cast<double>(nodes.size());
    centre[point] = mean;
  }
  std::map<std::string, std::map<int, std::vector<double>>> left;
  for (const TrialRow* trial : trials) {
    const auto at = centre.find(trial->point);
    if (at != centre.end())
      left[trial->node][trial->block].push_back(std::log(*trial->objective_value) - at->second);
  }
  return left;
}

// A difference of logarithms as a share.
double share(double logarithm) {
  return std::exp(logarithm) - 1;
}

// What a machine's own trials deny of what the model says of it, which takes the machines' curves to be alike but for their level and
// slopes: a setting that it is odd at is outside of that. Its own trials are the stronger word where they tell two settings apart.
void correct_by_own_trials(SearchSummary::OnNode& said, const std::string& named,
                           const std::vector<const TrialRow*>& own, double confidence) {
  std::map<std::string, std::vector<double>> points;
  for (const TrialRow* trial : own) {
    if (trial->counts() && trial->objective_value && *trial->objective_value > 0)
      points[trial->point].push_back(std::log(*trial->objective_value));
  }
  double squares = 0;
  int df = 0;
  std::map<std::string, double> means;
  for (const auto& [point, logs] : points) {
    means[point] = mean_of(logs);
    for (const double one : logs) squares += (one - means[point]) * (one - means[point]);
    df += static_cast<int>(logs.size()) - 1;
  }
  if (df < 2) return;
  // At the 5 % level, of all its settings together (Bonferroni).
  const double sure = 1 - 0.05 / std::max(1.0, static_cast<double>(points.size()) - 1);
  const auto error = [&](const std::string& a, const std::string& b) {
    return std::sqrt(
        squares / df *
        (1.0 / static_cast<double>(points[a].size()) + 1.0 / static_cast<double>(points[b].size())));
  };
  // A search runs a setting again when it likes: what a night drifts by need not be in the scatter of its repetitions.
  constexpr double drift = 0.02;
  const auto is_worse = [&](const std::string& point, const std::string& other) {
    return points.contains(point) &&
           means[point] - means[other] > student_t(sure, df) * error(point, other) + drift;
  };
  const auto least = std::min_element(means.begin(), means.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  if (is_worse(said.best, least->first)) said.best = least->first;
  if (!is_worse(named, least->first)) return;
  said.best = least->first;
  said.told_apart = true;
  said.bound = std::max(said.bound, std::expm1(means[named] - means[least->first] +
                                               student_t(confidence, df) * error(named, least->first)));
}

// Returns what is to be said of machines of which no trial counts.
std::string compare_nodes_of(ScenarioSummary& scenario, const ExperimentRow& experiment,
                             const std::vector<TrialRow>& trials) {
  std::vector<const TrialRow*> mine;
  std::map<std::string, std::vector<const TrialRow*>> by_node;
  std::map<std::string, std::set<int>> blocks;
  for (const TrialRow& trial : trials) {
    if (trial.scenario != scenario.scenario || trial.node.empty() || !trial.left_out.empty()) continue;
    by_node[trial.node].push_back(&trial);
    if (!trial.counts()) continue;
    blocks[trial.node].insert(trial.block);
    if (trial.objective_value && *trial.objective_value > 0) mine.push_back(&trial);
  }
  std::vector<std::string> silent, heard;
  for (const auto& [node, own] : by_node) (blocks.contains(node) ? heard : silent).push_back(node);
  std::erase_if(by_node, [&](const auto& one) { return !blocks.contains(one.first); });
  const std::string missing =
      silent.empty() || heard.empty()
          ? std::string()
          : fmt::format("{}: no trial of the machines {} counts: what is said is of {} alone",
                        scenario.scenario, join(silent, ", "), join(heard, ", "));
  if (by_node.size() < 2) return missing;
  NodesSummary all;
  for (const auto& [node, own] : by_node) {
    const std::string named = scenario.best ? scenario.points[*scenario.best].point : "";
    const ScenarioSummary said = summarise_in_brief(experiment, scenario.scenario, own, named);
    NodeSummary one;
    one.node = node;
    one.blocks = static_cast<int>(blocks.at(node).size());
    one.trials = said.counted;
    const auto mean = [](const std::optional<Estimate>& e) {
      return e ? std::optional(e->mean) : std::nullopt;
    };
    for (const PointSummary& point : said.points) {
      one.points.push_back({point.point, mean(point.work_energy), mean(point.work_time), mean(point.power)});
      one.agrees = one.agrees || (point.point == named && point.not_told_apart);
    }
    const auto at = std::find_if(said.points.begin(), said.points.end(),
                                 [&](const PointSummary& point) { return point.point == named; });
    one.not_known = !one.agrees && !scenario.search &&
                    (at == said.points.end() || !at->objective ||
                     std::any_of(at->constraints.begin(), at->constraints.end(),
                                 [](const ConstraintCheck& check) { return !check.holds; }));
    if (scenario.search) {
      // Of a search each machine ran some settings only: the model says what its own best is.
      const auto known = scenario.search->on_nodes.find(node);
      if (known != scenario.search->on_nodes.end()) {
        // With limits the least of the objective need not be the best.
        if (scenario.objective.constraints.empty())
          correct_by_own_trials(known->second, named, own, scenario.search->rule.confidence);
        one.best = known->second.best;
        one.agrees = !known->second.told_apart;
      }
    } else if (said.best) {
      const PointSummary& best = said.points[*said.best];
      one.best = best.point;
      one.best_value = best.objective;
      one.gain_of_best = best.gain;
    }
    all.nodes.push_back(std::move(one));
  }
  std::vector<std::vector<double>> groups;
  const auto left = levels_of_nodes(mine);
  for (const NodeSummary& one : all.nodes) {
    std::vector<double> of_blocks;
    if (const auto at = left.find(one.node); at != left.end()) {
      for (const auto& [block, values] : at->second) of_blocks.push_back(mean_of(values));
    }
    if (!of_blocks.empty()) groups.push_back(std::move(of_blocks));
  }
  if (groups.size() == all.nodes.size()) {
    const auto apart = departures(groups);
    for (std::size_t i = 0; i < apart.size(); ++i) {
      Departure one = apart[i];
      one.value = share(one.value);
      if (one.low) one.low = share(*one.low);
      if (one.high) one.high = share(*one.high);
      all.nodes[i].against_others = one;
    }
  }
  if (scenario.best) {
    std::map<std::string, std::vector<double>> at_best;
    for (const TrialRow* trial : mine) {
      if (trial->point == scenario.points[*scenario.best].point)
        at_best[trial->node].push_back(std::log(*trial->objective_value));
    }
    std::vector<std::vector<double>> values;
    for (auto& [node, logs] : at_best) values.push_back(std::move(logs));
    all.spread_of_best = spread_between(values);
  }
  scenario.nodes = std::move(all);
  return missing;
}

// The same trials, with what a unit took by what each machine's trials of a point did together.
std::vector<TrialRow> by_totals_of_each_machine(const std::vector<TrialRow>& trials,
                                                const ExperimentRow& experiment) {
  std::map<std::string, std::vector<TrialRow>> machines;
  for (const TrialRow& trial : trials) machines[trial.node].push_back(trial);
  std::vector<TrialRow> all;
  for (auto& [node, mine] : machines) {
    set_work_of_totals(mine, experiment);
    std::move(mine.begin(), mine.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

void compare_nodes(Summary& summary, const std::vector<TrialRow>& trials) {
  // Not of one machine's own: it is how each is looked at.
  std::set<std::string> nodes;
  for (const TrialRow& trial : trials) {
    if (!trial.node.empty()) nodes.insert(trial.node);
  }
  if (nodes.size() < 2) return;
  std::vector<TrialRow> by_machine;
  for (ScenarioSummary& scenario : summary.scenarios) {
    if (!scenario.objective.per.empty() && by_machine.empty())
      by_machine = by_totals_of_each_machine(trials, summary.experiment);
    std::string missing =
        compare_nodes_of(scenario, summary.experiment, scenario.objective.per.empty() ? trials : by_machine);
    if (!missing.empty()) summary.warnings.push_back(std::move(missing));
  }
}

std::string against_others_text(const Departure& departure) {
  std::string text =
      fmt::format("{:.1f} % {}", 100 * std::abs(departure.value), departure.value < 0 ? "less" : "more");
  if (departure.low) text += fmt::format(" [{:+.1f}, {:+.1f}]", 100 * *departure.low, 100 * *departure.high);
  return text;
}

namespace {

// The point without what the scenario's name says already: "cpu.frequency=1.8 GHz".
std::string point_in_scenario(const std::string& point, const std::string& scenario) {
  return point.starts_with(scenario + " ") ? point.substr(scenario.size() + 1) : point;
}

}  // namespace

std::string node_lines(const ScenarioSummary& scenario, const TextLook& look) {
  if (!scenario.nodes) return {};
  TextTable table;
  table.row({" ", "node", "blocks", "trials", "its own best", "gain there", "objective against the others"});
  for (const NodeSummary& node : scenario.nodes->nodes) {
    std::string gain = "—";
    if (node.gain_of_best) {
      gain = fmt::format("{:.1f} %", 100 * node.gain_of_best->value);
      if (node.gain_of_best->low)
        gain +=
            fmt::format(" [{:.1f}, {:.1f}]", 100 * *node.gain_of_best->low, 100 * *node.gain_of_best->high);
    }
    table.row({node.against_others && node.against_others->outlying ? "!" : " ", printable(node.node),
               std::to_string(node.blocks), std::to_string(node.trials),
               node.best ? printable(point_in_scenario(*node.best, scenario.scenario)) : "—", gain,
               node.against_others ? against_others_text(*node.against_others) : "—"});
  }
  return fmt::format("\nEach node by itself:\n{}", table.text(look));
}

std::string node_sentence(const ScenarioSummary& scenario) {
  if (!scenario.nodes || !scenario.best) return {};
  const auto& nodes = scenario.nodes->nodes;
  const auto agree = std::count_if(nodes.begin(), nodes.end(), [](const NodeSummary& n) { return n.agrees; });
  std::string text =
      fmt::format(" It is the best, or not told apart from it, on {} of {} nodes", agree, nodes.size());
  const auto unknown =
      std::count_if(nodes.begin(), nodes.end(), [](const NodeSummary& n) { return n.not_known; });
  if (unknown > 0) text += fmt::format(" (of {} it is not known)", unknown);
  if (const auto& spread = scenario.nodes->spread_of_best) {
    text += spread->buried
                ? "; by how much its objective varies from node to node is not known: less than single "
                  "trials scatter"
                : fmt::format("; from node to node its objective varies by {:.1f} % (standard deviation, {})",
                              100 * spread->deviation,
                              spread->low ? fmt::format("95 % interval {:.1f} to {:.1f} %",
                                                        100 * *spread->low, 100 * *spread->high)
                                          : "what single trials scatter included");
  }
  text += ".";
  for (const NodeSummary& node : nodes) {
    if (!node.against_others || !node.against_others->outlying) continue;
    text += fmt::format(" {} takes {} than the others at the same settings.", node.node,
                        against_others_text(*node.against_others));
  }
  return text + fmt::format(" Intervals are of machines of this type: over {} nodes, not over their blocks.",
                            nodes.size());
}

}  // namespace dvfs_plan
