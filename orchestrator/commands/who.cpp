// dvfs-plan who: who has this machine for a sweep.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/guard/guard_client.hpp"

namespace dvfs_plan {
namespace {

int who_command(const CommonOptions& options) {
  const WhoAnswer who = who_has_the_machine(
      {.experiment = "", .state_folder = options.state_folder, .sysfs_root = options.sysfs_root});
  if (options.json) {
    nlohmann::ordered_json json{{"guardian", who.asked == GuardDoor::machine},
                                {"held", who.holder.has_value()}};
    if (who.holder)
      json.update({{"user", who.holder->user},
                   {"pid", who.holder->pid},
                   {"experiment", who.holder->experiment},
                   {"since", who.holder->since},
                   {"until", who.holder->until.empty() ? nlohmann::json(nullptr)
                                                       : nlohmann::json(who.holder->until)}});
    write_answer(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (!who.holder) {
    write_answer("nobody has this machine\n");
  } else {
    write_answer(fmt::format(
        "{} (pid {}) has this machine{} for {}{}\n", printable(who.holder->user), who.holder->pid,
        who.holder->since.empty() ? "" : " since " + who.holder->since, printable(who.holder->experiment),
        who.holder->until.empty() ? "; until when is not known yet" : ", until about " + who.holder->until));
  }
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> who(
    {.name = "who",
     .place = 75,
     .what = "who has this machine for a sweep, since when, and until about when",
     .examples = "dvfs-plan who\n"
                 "dvfs-plan who --json",
     .needs_rights = true,
     .declare = [](CLI::App& app) { return declared(app, std::make_shared<CommonOptions>(), who_command); }});

}  // namespace
}  // namespace dvfs_plan
