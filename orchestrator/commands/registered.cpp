// dvfs-plan registered: all knobs, probes, searches, forms of a setting and commands, and the schema of the result file, for
// `./dev schema`, which makes the lists of the JSON schema and of the README and results/SCHEMA.md of them.
#include <nlohmann/json.hpp>

#include "base/output.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/setting_form.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/strategies/strategy.hpp"
#include "probes/meters/meter.hpp"
#include "probes/probe_table.hpp"
#include "results/store/migrate.hpp"
#include "results/store/trial_columns.hpp"

namespace dvfs_plan {
namespace {

template <class Kind>
nlohmann::ordered_json names_of_all() {
  auto json = nlohmann::ordered_json::array();
  for (const Kind* kind : Registered<Kind>::all())
    json.push_back({{"name", kind->name}, {"what", kind->what}});
  return json;
}

int registered_command(const CommonOptions&) {
  nlohmann::ordered_json json{{"knobs", names_of_all<KnobKind>()},
                              {"probes", names_of_all<ProbeKind>()},
                              {"meters", names_of_all<MeterKind>()},
                              {"searches", names_of_all<StrategyKind>()},
                              {"forms", names_of_all<SettingForm>()},
                              {"commands", nlohmann::ordered_json::array()},
                              {"schema_version", newest_schema_version()},
                              {"schema", schema_sql()},
                              {"views", views_sql()}};
  for (const CommandKind* kind : Registered<CommandKind>::all()) {
    if (!kind->hidden) json["commands"].push_back({{"name", kind->name}, {"what", kind->what}});
  }
  write_answer(json.dump(1) + "\n");
  return 0;
}

const Registered<CommandKind> registered({.name = "registered",
                                          .place = 210,
                                          .what = "knobs, probes, searches, forms and commands, as JSON",
                                          .hidden = true,
                                          .declare = [](CLI::App& app) {
                                            return declared(app, std::make_shared<CommonOptions>(),
                                                            registered_command);
                                          }});

}  // namespace
}  // namespace dvfs_plan
