// A command of the command line. Each file of one declares its CommandKind, with the options that are its
// own.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/registered.hpp"

namespace dvfs_plan {

// What all commands take.
struct CommonOptions {
  std::string file;  // the experiment or the result, where a command is about one
  bool json = false;
  std::string colour = "auto";  // or 'always', 'never'
  std::string state_folder;     // empty: the current user's
  std::string sysfs_root;       // "": this machine
  // Of a command that runs another: the words behind `--`, which are none of ours.
  std::vector<std::string> behind;
};
void add_common_options(CLI::App& app, CommonOptions& options);

// A command whose options CLI11 knows; `run` returns the exit code, or throws Error.
struct DeclaredCommand {
  std::shared_ptr<CommonOptions> options;
  std::function<int()> run;
};
template <class CommandOptions>
DeclaredCommand declared(CLI::App& app, std::shared_ptr<CommandOptions> options,
                         int (*run)(const CommandOptions&)) {
  add_common_options(app, *options);
  return {options, [options, run] { return run(*options); }};
}

// Of one whose stdout is something else than an answer: a shell's, an experiment, its command's.
template <class CommandOptions>
DeclaredCommand declared_without_json(CLI::App& app, std::shared_ptr<CommandOptions> options,
                                      int (*run)(const CommandOptions&)) {
  DeclaredCommand command = declared(app, std::move(options), run);
  app.remove_option(app.get_option("--json"));
  return command;
}

struct CommandKind {
  std::string_view name;
  int place = 0;                   // in --help
  std::string_view what;           // it does: for --help
  std::string_view examples = {};  // lines of a shell, below its own --help; a test runs them
  bool needs_rights = false;       // of root, where it has them; else it becomes the user behind sudo first
  bool hidden = false;             // nobody but this program itself calls it
  bool runs_another = false;       // a program and its words stand behind `--`
  DeclaredCommand (*declare)(CLI::App& app) = nullptr;
};

// The names of all that are not hidden, as --help lists them.
std::vector<std::string> command_names();

// `dvfs-plan FILE.yaml`, which has no name.
DeclaredCommand declare_run(CLI::App& app);

}  // namespace dvfs_plan
