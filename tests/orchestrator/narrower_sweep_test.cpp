// The sweep that goes on from a setting that was found: its axes, its exclusions, its question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/commands/narrower_sweep.hpp"
#include "orchestrator/commands/yaml_word.hpp"

namespace dvfs_plan {
namespace {

using testing::ElementsAre;

// A night of set.f [10, 20, 40, 80] and set.g [slow, quick], the best at 40, quick, the reference at 80, slow.
struct SweptTwo {
  ScenarioSummary scenario;
  std::size_t best = 0;

  explicit SweptTwo(const std::vector<std::string>& left_out = {}) {
    for (const double f : {10.0, 20.0, 40.0, 80.0}) {
      for (const std::string g : {"slow", "quick"}) {
        PointSummary one;
        one.point = one.workload = "w";
        one.settings = {{"set.f", std::to_string(static_cast<int>(f)), f},
                        {"set.g", g, std::nullopt},
                        {"batch", "8", 8.0}};
        const std::string name = one.settings[0].text + g;
        if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
        if (name == "40quick") best = scenario.points.size();
        if (name == "80slow") scenario.reference = scenario.points.size();
        scenario.points.push_back(one);
      }
    }
  }
  ChosenAnswer answer() const { return {scenario, scenario.points[best]}; }
};

ExcludeRule rule(const std::vector<std::pair<std::string, std::vector<std::string>>>& conditions) {
  ExcludeRule one;
  for (const auto& [axis, texts] : conditions) {
    std::vector<RawValue> values;
    for (const std::string& text : texts) values.push_back({text, {}});
    one.conditions.push_back({axis, {}, values});
  }
  return one;
}

std::optional<std::string> kept(const SweptTwo& night, const std::vector<ExcludeRule>& rules) {
  std::map<std::string, NarrowAxis> axes;
  for (const std::string axis : {"set.f", "set.g", "batch"})
    axes[axis] = narrowed(axis, night.answer(), rules);
  return narrowed_rules(rules, axes, night.answer());
}

YamlPointer tree(const std::string& text) {
  Diagnostics diagnostics("test");
  const YamlPointer root = parse_yaml(text, diagnostics);
  EXPECT_TRUE(diagnostics.all().empty()) << text;
  return root;
}

TEST(NarrowerSweep, LiesBetweenTheNeighboursAndHoldsTheSettingAndTheReference) {
  const SweptTwo night;
  const NarrowAxis f = narrowed("set.f", night.answer(), {});
  EXPECT_TRUE(f.nearest);
  EXPECT_THAT(f.values, ElementsAre("20", "27.5", "35", "40", "42.5", "50", "57.5", "65", "72.5", "80"));
  EXPECT_EQ(yaml_text(f), "{values: [20, 27.5, 35, 40, 42.5, 50, 57.5, 65, 72.5, 80], nearest: true}");
}

TEST(NarrowerSweep, HoldsOfWordsTheSettingAndTheReference) {
  EXPECT_EQ(yaml_text(narrowed("set.g", SweptTwo().answer(), {})), "[slow, quick]");
  EXPECT_EQ(yaml_text(narrowed("batch", SweptTwo().answer(), {})), "[8]");
}

TEST(NarrowerSweep, NamesTheReferenceThatTheAnswerIsAgainst) {
  const SweptTwo night;
  std::map<std::string, NarrowAxis> axes;
  for (const std::string axis : {"set.f", "set.g", "batch"}) axes[axis] = narrowed(axis, night.answer(), {});
  const auto named = [&](const ExcludeRule& written) {
    return narrowed_reference(written.conditions, axes, night.answer());
  };
  EXPECT_EQ(named({}), "{set.f: 80, set.g: slow}");
  EXPECT_EQ(named(rule({{"set.f", {"80"}}})), "{set.f: 80, set.g: slow}");
  EXPECT_EQ(named(rule({{"set.f", {"80"}}, {"set.g", {"slow"}}})), std::nullopt);
}

TEST(NarrowerSweep, LeavesRulesAsTheyAreWrittenThatStillHold) {
  EXPECT_EQ(kept(SweptTwo({"20slow"}), {rule({{"set.f", {"20"}}, {"set.g", {"slow"}}})}), std::nullopt);
  EXPECT_EQ(kept(SweptTwo(), {}), std::nullopt);
}

TEST(NarrowerSweep, DropsRulesOfValuesThatItDoesNotHave) {
  const ExcludeRule gone = rule({{"set.f", {"10"}}, {"set.g", {"slow"}}}),
                    half = rule({{"set.f", {"10", "20"}}, {"set.g", {"slow"}}});
  EXPECT_EQ(kept(SweptTwo({"10slow"}), {gone}), "");
  EXPECT_EQ(kept(SweptTwo({"10slow", "20slow"}), {gone, half}), "- {set.f: 20, set.g: slow}\n");
  // Of a batch that this answer is not of.
  EXPECT_EQ(kept(SweptTwo(), {rule({{"batch", {"16"}}, {"set.f", {"20"}}})}), "");
}

TEST(NarrowerSweep, LeavesOutWhatWasLeftOutAltogetherBetweenItsValues) {
  const SweptTwo night;
  const std::vector<ExcludeRule> rules{rule({{"set.f", {"30", "90"}}})};
  EXPECT_THAT(narrowed("set.f", night.answer(), rules).values,
              ElementsAre("20", "27.5", "30", "35", "40", "42.5", "50", "57.5", "65", "72.5", "80"));
  EXPECT_EQ(kept(night, rules), "- {set.f: 30}\n");
}

TEST(NarrowerSweep, KnowsClocksByAllOfTheirDigits) {
  ScenarioSummary scenario;
  for (const auto& [text, hertz] :
       {std::pair{"1.1904 GHz", 1.1904e9}, {"1.2672 GHz", 1.2672e9}, {"1.3824 GHz", 1.3824e9}}) {
    PointSummary one;
    one.settings = {{"cpu.frequency", text, hertz}};
    scenario.points.push_back(one);
  }
  const ChosenAnswer answer{scenario, scenario.points[1]};
  const std::vector<ExcludeRule> rules{rule({{"cpu.frequency", {"1.2288 GHz"}}})};
  const NarrowAxis axis = narrowed("cpu.frequency", answer, rules);
  for (const char* text : {"1.1904 GHz", "1.2288 GHz", "1.2672 GHz", "1.3824 GHz"})
    EXPECT_THAT(axis.values, testing::Contains(text));
  EXPECT_EQ(narrowed_rules(rules, {{"cpu.frequency", axis}}, answer), std::nullopt);
}

TEST(NarrowerSweep, ExcludesTheSameByTheWordForTheHighestValue) {
  // 80 is the highest here and there; written as the number it was, not as what is the highest then.
  EXPECT_EQ(kept(SweptTwo({"80quick"}), {rule({{"set.f", {"max"}}, {"set.g", {"quick"}}})}),
            "- {set.f: 80, set.g: quick}\n");
  // The lowest of the narrower sweep is not the lowest that was meant.
  EXPECT_EQ(kept(SweptTwo({"10quick"}), {rule({{"set.f", {"min"}}, {"set.g", {"quick"}}})}), "");
  // Left out altogether, no point tells which value it was: the next one ran and stays.
  EXPECT_EQ(kept(SweptTwo({"80slow", "80quick"}), {rule({{"set.f", {"max"}}})}), "");
}

TEST(NarrowerSweep, AsksForTheLeastEnergyWithinTheSlowdownThatWasAskedFor) {
  const auto asked = [](const char* text) {
    const YamlPointer root = tree(std::string("objective: ") + text);
    return yaml_flow(within_slowdown(root->find("objective"), 0.05));
  };
  EXPECT_EQ(yaml_flow(within_slowdown(nullptr, 0.05)),
            "{minimise: energy, subject to: {slowdown: '<= 5 %'}}");
  EXPECT_EQ(asked("time"), "{minimise: energy, subject to: {slowdown: '<= 5 %'}}");
  EXPECT_EQ(asked("{subject to: {slowdown: <= 20 %, lat: <= 6 ms}, minimise: edp, per: items}"),
            "{minimise: energy, per: items, subject to: {lat: <= 6 ms, slowdown: '<= 5 %'}}");
}

TEST(NarrowerSweep, AsksAWorkloadThatHasAQuestionOfItsOwn) {
  const auto asked = [](const std::string& text) {
    const YamlPointer root = tree("workloads: " + text);
    const auto changed = within_slowdown(*root->find("workloads"), "w", 0.1);
    return changed ? yaml_flow(*changed) : "as it is";
  };
  EXPECT_EQ(asked("[{name: w, command: [a]}, {name: v, command: [b], objective: time}]"), "as it is");
  EXPECT_EQ(
      asked("[{name: w, command: [a, '5', \"x\\ny\"], objective: time}, {name: v, objective: time}]"),
      "[{name: w, command: [a, '5', \"x\\ny\"], objective: {minimise: energy}}, {name: v, objective: time}]");
  EXPECT_EQ(asked("[{name: w, objective: {minimise: edp, subject to: {lat: <= 1 s}}}]"),
            "[{name: w, objective: {minimise: energy, subject to: {lat: <= 1 s, slowdown: '<= 10 %'}}}]");
  EXPECT_EQ(asked("[{name: w, subject to: {slowdown: <= 50 %}}]"),
            "[{name: w, subject to: {slowdown: '<= 10 %'}}]");
}

}  // namespace
}  // namespace dvfs_plan
