// dvfs-plan completion SHELL: what a shell completes, made of the commands and options as CLI11 knows them.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"

namespace dvfs_plan {
namespace {

struct CompletionOptions : CommonOptions {
  std::string shell;
  const CLI::App* all = nullptr;
};

struct ShellOption {
  std::string name;  // "--json"
  std::string what;
  bool takes_value = false;
};

// A command as a shell sees it; that of the experiment itself has no name.
struct ShellCommand {
  std::string name, what;
  bool takes_experiment = false;  // its FILE is an experiment, else a result
  std::vector<ShellOption> options;
};

// Descriptions stand between single quotes in all three languages.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '`');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

ShellCommand shell_command(const CLI::App& app, const std::string& name) {
  ShellCommand command{name, one_line(app.get_description()), false, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional())
      command.takes_experiment = option->get_description().find("experiment") != std::string::npos;
    for (const std::string& word : option->get_lnames())
      command.options.push_back(
          {"--" + word, one_line(option->get_description()), option->get_items_expected_max() > 0});
  }
  return command;
}

std::vector<ShellCommand> shell_commands(const CLI::App& all) {
  std::vector<ShellCommand> commands{shell_command(all, "")};
  for (const std::string& name : command_names())
    commands.push_back(shell_command(*all.get_subcommand(name), name));
  return commands;
}

std::string option_names(const ShellCommand& command) {
  std::vector<std::string> names;
  for (const ShellOption& option : command.options) names.push_back(option.name);
  return join(names, " ");
}

std::string names_of(const std::vector<ShellCommand>& commands, const char* between) {
  std::vector<std::string> names;
  for (const ShellCommand& command : commands) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  return join(names, between);
}

std::string for_bash(const std::vector<ShellCommand>& commands) {
  std::string cases;
  for (const ShellCommand& command : commands)
    cases += fmt::format("    {}) options='{}' files='{}' ;;\n", command.name.empty() ? "''" : command.name,
                         option_names(command), command.takes_experiment ? "yaml yml" : "sqlite");
  return fmt::format(R"(# dvfs-plan completion bash >/etc/bash_completion.d/dvfs-plan
_dvfs_plan() {{
  local word command= options files current=${{COMP_WORDS[COMP_CWORD]}}
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case $word in {}) command=$word; break ;; esac
  done
  case $command in
{}  esac
  case $current in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current") ;;
    *) mapfile -t COMPREPLY < <(
         for word in $files; do compgen -f -X "!*.$word" -- "$current"; done; compgen -d -- "$current"
         [ -n "$command" ] || compgen -W '{}' -- "$current") ;;
  esac
}}
complete -o filenames -F _dvfs_plan dvfs-plan
)",
                     names_of(commands, "|"), cases, names_of(commands, " "));
}

std::string for_zsh(const std::vector<ShellCommand>& commands) {
  std::string named, cases;
  for (const ShellCommand& command : commands) {
    if (!command.name.empty()) named += fmt::format("    '{}:{}'\n", command.name, command.what);
    std::string arguments;
    for (const ShellOption& option : command.options) {
      std::string what = option.what;
      for (const char special : {'[', ']', ':'}) std::replace(what.begin(), what.end(), special, ' ');
      arguments += fmt::format(" '{}[{}]{}'", option.name, what, option.takes_value ? ":value:_files" : "");
    }
    cases += fmt::format("    {}) _arguments{} '*:file:_files -g \"{}\"' ;;\n",
                         command.name.empty() ? "''" : command.name, arguments,
                         command.takes_experiment ? "*.(yaml|yml)" : "*.sqlite");
  }
  return fmt::format(R"(#compdef dvfs-plan
# dvfs-plan completion zsh >/usr/share/zsh/vendor-completions/_dvfs-plan
_dvfs_plan() {{
  local command= word
  local -a commands=(
{})
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case $word in {}) command=$word; break ;; esac
  done
  [[ -n $command ]] || _describe command commands
  case $command in
{}  esac
}}
_dvfs_plan "$@"
)",
                     named, names_of(commands, "|"), cases);
}

std::string for_fish(const std::vector<ShellCommand>& commands) {
  std::string text = "# dvfs-plan completion fish >/usr/share/fish/vendor_completions.d/dvfs-plan.fish\n";
  for (const ShellCommand& command : commands) {
    const bool named = !command.name.empty();
    if (named)
      text += fmt::format("complete -c dvfs-plan -n __fish_use_subcommand -a {} -d '{}'\n", command.name,
                          command.what);
    const std::string when =
        named ? "'__fish_seen_subcommand_from " + command.name + "'" : std::string("__fish_use_subcommand");
    for (const ShellOption& option : command.options)
      text += fmt::format("complete -c dvfs-plan -n {} -l {} -d '{}'{}\n", when, option.name.substr(2),
                          option.what, option.takes_value ? " -r" : "");
  }
  return text;
}

int print_completion(const CompletionOptions& options) {
  const auto commands = shell_commands(*options.all);
  if (options.shell == "bash")
    write_answer(for_bash(commands));
  else if (options.shell == "zsh")
    write_answer(for_zsh(commands));
  else if (options.shell == "fish")
    write_answer(for_fish(commands));
  else
    throw Error(ExitCode::bad_experiment, fmt::format("no completion for the shell '{}'", options.shell),
                "there is one for bash, zsh and fish");
  return 0;
}

const Registered<CommandKind> completion(
    {.name = "completion",
     .place = 110,
     .what = "what a shell completes: bash, zsh or fish",
     .examples = "source <(dvfs-plan completion bash)\n"
                 "dvfs-plan completion fish >~/.config/fish/completions/dvfs-plan.fish",
     .declare = [](CLI::App& app) {
       auto options = std::make_shared<CompletionOptions>();
       options->all = app.get_parent();
       app.add_option("SHELL", options->shell, "bash, zsh or fish")->required();
       return declared_without_json(app, options, print_completion);
     }});

}  // namespace
}  // namespace dvfs_plan
