#include "orchestrator/commands/vocabulary.hpp"

#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "probes/meters/meter.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {

Vocabulary registered_vocabulary() {
  Vocabulary vocabulary;
  for (const KnobKind* kind : Registered<KnobKind>::all()) vocabulary.knobs.emplace_back(kind->name);
  for (const ProbeKind* kind : Registered<ProbeKind>::all())
    vocabulary.probes.push_back({std::string(kind->name), kind->boards_of.has_value()});
  for (const MeterKind* kind : Registered<MeterKind>::all()) vocabulary.meters.emplace_back(kind->name);
  for (const StrategyKind* kind : Registered<StrategyKind>::all())
    vocabulary.searches.push_back({std::string(kind->name), kind->by_model});
  return vocabulary;
}

}  // namespace dvfs_plan
