// libFuzzer target: whatever the experiment file holds, the parser and the planner answer with a plan or
// with errors; they neither crash nor hang nor eat the machine.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "experiments/plan/plan.hpp"

namespace {

dvfs_plan::ResolveWorld machine() {
  using namespace dvfs_plan;
  ResolveWorld world;
  AxisOffer clocks;
  clocks.dimension = Dimension::frequency;
  for (const double ghz : {1.0, 1.8, 3.0}) clocks.values.push_back({format(Hertz{ghz * 1e9}), ghz * 1e9});
  world.offers.offers["cpu.frequency"] = clocks;
  world.offers.offers["cpu.governor"] = {Dimension::text, {{"performance", {}}, {"schedutil", {}}}, {}};
  world.offers.missing["cpu.epp"] = "not here";
  return world;  // no PATH: looking programs up is not what is fuzzed
}

// Some of each kind; the rooms that know all of them have no part in parsing.
const dvfs_plan::Vocabulary vocabulary{{"cpu.frequency", "cpu.governor", "cpu.epp", "devfreq.", "sysfs."},
                                       {{"rapl", false}, {"hwmon", false}, {"nvidia", true}},
                                       {{"full", false}, {"adaptive", true}, {"random", false}},
                                       {"shelly", "redfish"}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dvfs_plan;
  Diagnostics diagnostics("fuzz.yaml");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto experiment = parse_experiment(text, "fuzz.yaml", vocabulary, diagnostics);
  if (experiment) {
    const auto plan = resolve_plan(*experiment, machine(), diagnostics);
    // A plan and errors exclude each other, and a refusal says why.
    if (plan.has_value() == diagnostics.has_errors()) std::abort();
    if (plan) {
      for (std::size_t i = 0; i < plan->points.size() && i < 16; ++i) {
        const auto& point = plan->points[i];
        command_line(plan->workloads[static_cast<std::size_t>(point.workload)].spec, plan->axes,
                     point.values);
      }
    }
  } else if (!diagnostics.has_errors()) {
    std::abort();
  }
  // What is printed is printable.
  if (first_invalid_utf8(diagnostics.text()) != std::string_view::npos) std::abort();
  return 0;
}
