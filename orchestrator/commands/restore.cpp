// dvfs-plan restore: puts back what a cut-off run left set.
#include <fmt/format.h>

#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/guard/guard_client.hpp"
#include "orchestrator/guard/left_elsewhere.hpp"
#include "orchestrator/guard/rights.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/guard/state_places.hpp"

namespace dvfs_plan {
namespace {

struct RestoreOptions : CommonOptions {
  bool discard = false;  // give up what cannot be put back
};

// In JSON too, whoever asks learns what could not be done.
void tell_in_json(const Error& problem) {
  write_stdout(fmt::format("{}\n", nlohmann::ordered_json{{"notes", nlohmann::ordered_json::array()},
                                                          {"journal", nullptr},
                                                          {"restored", nullptr},
                                                          {"unchanged", nullptr},
                                                          {"left", nullptr},
                                                          {"problem", problem.what()},
                                                          {"hint", problem.hint()}}
                                       .dump(2)));
}

int restore(const RestoreOptions& options) {
  // Whoever takes the machine puts back first what a journal holds.
  const GuardClient guard({.experiment = "restore",
                           .state_folder = options.state_folder,
                           .sysfs_root = options.sysfs_root,
                           .this_folder_alone = !options.state_folder.empty(),
                           .discards = options.discard});
  const auto& outcome = guard.found_journal();
  // Root's sweeps and those by the machine's guardian are on record where only root looks.
  // Under sudo root's guardian has looked there.
  const bool of_this_machine = options.state_folder.empty() && options.sysfs_root.empty();
  const bool hidden = of_this_machine && machine_state_is_hidden() && !is_stood_by_root();
  const std::string unknown = fmt::format(
      "{} is root's: whether a sweep by root or by the machine's guardian left something is not known to "
      "you; sudo "
      "dvfs-plan restore",
      machine_state_folder);
  const auto of_users = left_by_users(options.state_folder, options.sysfs_root);
  std::vector<std::string> of_unknown;
  if (of_this_machine) {
    for (const GuardNote& one : left_elsewhere("").unknown)
      of_unknown.push_back(fmt::format("{}: {}", one.text, one.next_step));
  }
  if (options.json) {
    std::vector<std::string> notes = outcome ? outcome->notes : std::vector<std::string>{};
    if (hidden) notes.push_back(unknown);
    notes.insert(notes.end(), of_unknown.begin(), of_unknown.end());
    notes.insert(notes.end(), of_users.begin(), of_users.end());
    nlohmann::ordered_json json{{"notes", notes},
                                {"journal", outcome || !hidden ? nlohmann::ordered_json(outcome.has_value())
                                                               : nlohmann::ordered_json(nullptr)},
                                {"restored", outcome ? outcome->restored : 0},
                                {"unchanged", outcome ? outcome->unchanged : 0},
                                {"left", outcome ? outcome->left : 0},
                                {"problem", nullptr},
                                {"hint", nullptr}};
    write_answer(fmt::format("{}\n", json.dump(2)));
  } else if (!outcome) {
    write_answer(!options.state_folder.empty()
                     ? fmt::format("there is nothing to restore: no sweep left a journal in {}\n",
                                   options.state_folder)
                 : ::geteuid() != 0 ? std::string("there is nothing of yours to restore\n")
                 : of_users.empty() ? std::string("there is nothing to restore: no sweep left a journal here "
                                                  "or in a home that the user database names\n")
                                    : std::string("there is nothing of root's to restore\n"));
  } else {
    write_answer(counts_text(*outcome) + "\n");
    for (const std::string& note : outcome->notes) write_answer(fmt::format("note: {}\n", note));
  }
  if (!options.json) {
    for (const std::string& one : of_users) write_answer(fmt::format("note: {}\n", one));
    for (const std::string& one : of_unknown) write_answer(fmt::format("note: {}\n", one));
  }
  if (hidden && !options.json) write_answer(fmt::format("note: {}\n", unknown));
  if (!outcome && !options.json && options.state_folder.empty() && ::geteuid() != 0)
    write_answer(fmt::format(
        "note: it was looked for in {}; a run with another XDG_STATE_HOME kept its record there\n",
        default_state_folder()));
  return static_cast<int>(ExitCode::done);
}

int restore_command(const RestoreOptions& options) {
  try {
    return restore(options);
  } catch (const Error& problem) {
    if (options.json) tell_in_json(problem);
    throw;
  }
}

const Registered<CommandKind> restore_kind(
    {.name = "restore",
     .place = 80,
     .what = "put back what a cut-off run left set",
     .examples = "sudo dvfs-plan restore\n"
                 "sudo dvfs-plan restore --json",
     .needs_rights = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<RestoreOptions>();
       app.add_flag("--discard", options->discard,
                    "give up what cannot be put back; the journal is kept under another name");
       return declared(app, options, restore_command);
     }});

}  // namespace
}  // namespace dvfs_plan
