// dvfs-plan init: a first experiment for a command, with what this machine offers.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "experiments/plan/command_line.hpp"
#include "orchestrator/commands/command.hpp"
#include "orchestrator/commands/yaml_word.hpp"
#include "orchestrator/knobs/knob_table.hpp"
#include "orchestrator/machine/used_boards.hpp"
#include "probes/probe_table.hpp"
#include "results/energy/energy_curve.hpp"

namespace dvfs_plan {
namespace {

struct InitOptions : CommonOptions {
  std::vector<std::string> words;  // of the command, where it stands without `--`
  std::string output;
};

std::vector<std::string> ask_for_command() {
  std::string line;
  if (::isatty(STDIN_FILENO) != 0) {
    write_stderr("Which command is to be measured? ");
    std::getline(std::cin, line);
  }
  if (trim(line).empty())
    throw Error(ExitCode::bad_experiment, "init wants the command that is to be measured",
                "dvfs-plan init -- xz -T4 --keep --stdout big.tar");
  return {"sh", "-c", line};
}

// Words are arguments, as the program would have had them: a shell that took `grep '>' reads.fa` for its own would empty the file. Whoever
// quoted the sign for a shell of ours is told.
std::string about_signs(const std::vector<std::string>& words) {
  const auto sign = std::find_if(words.begin(), words.end(), is_for_a_shell);
  if (sign == words.end()) return {};
  return fmt::format(
      "'{}' is an argument of {} there; for a shell's own, give it one:  dvfs-plan init -- sh -c '...'",
      *sign, words.front());
}

// What stands in braces would be taken for an axis (command_line.hpp: {{name}} is {name}).
std::string literal(std::string word) {
  auto names = placeholders(word);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const std::string braced = '{' + name + '}';
    for (std::size_t at = 0; (at = word.find(braced, at)) != std::string::npos; at += braced.size() + 2)
      word.replace(at, braced.size(), '{' + braced + '}');
  }
  return word;
}

// {{name}} itself, as of a template, cannot be written there.
void require_literal(const std::string& word) {
  if (filled(literal(word), {}, {}, {}) == word) return;
  throw Error(ExitCode::bad_experiment,
              fmt::format("'{}' cannot be written in an experiment: what stands in braces there is an axis",
                          printable(word)),
              "put the command into a script, and give that; nothing was written");
}

std::string command_text(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[0] == "sh" && words[1] == "-c")
    return "shell: " + yaml_word(literal(words[2]));
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(yaml_word(literal(word)));
  return fmt::format("command: [{}]", join(quoted, ", "));
}

std::string name_of(const std::vector<std::string>& words) {
  const bool shell = words.size() == 3 && words[0] == "sh" && words[1] == "-c";
  const auto of_shell = shell ? split_words(words[2]) : std::vector<std::string>{};
  const std::string program = shell ? (of_shell.empty() ? "" : of_shell.front()) : words.front();
  std::string name;
  for (const char c : std::filesystem::path(program).stem().string())
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '-';
  constexpr std::size_t longest = 64;  // that a file may have
  return name.empty() ? "experiment" : name.substr(0, longest);
}

std::string offered(const AxisOffer& offer) {
  constexpr std::size_t most = 4;
  if (offer.values.size() <= most) return offer.values.empty() ? "" : offers_text(offer);
  return fmt::format("{} to {}", offer.values.front().text, offer.values.back().text);
}

// One line an axis: the first that works is swept, the others wait behind a comment's sign.
std::string axes_text(const Sysfs& sysfs, const UsedBoards& boards) {
  constexpr std::size_t few = 6;
  std::string text, others;
  for (const KnobFinding& finding :
       find_knobs({"cpu.frequency", "cpu.governor", "gpu.core", "gpu.memory", "gpu.power_limit"}, sysfs, {},
                  boards)) {
    if (!finding.knob) continue;
    const AxisOffer offer = finding.knob->offer();
    const std::string all = offered(offer);
    if (all.empty()) continue;
    const bool is_clock = finding.axis == "cpu.frequency" || finding.axis == "gpu.core";
    const bool swept = text.empty() && is_clock;
    const bool many = offer.values.size() > few || (offer.continuous && offer.values.size() >= 5);
    const std::string values = many ? "{count: 5}" : "all";
    const std::string line =
        fmt::format("  {}{}: {}  # offered here: {}\n", swept ? "" : "# ", finding.axis, values, all);
    (swept ? text : others) += line;
  }
  if (text.empty())
    return "# No clock can be set here (`dvfs-plan doctor` says why): this compares nothing but runs of the "
           "command.\n" +
           std::string(others.empty() ? "# axes:\n#   cpu.frequency: {count: 5}\n" : "# axes:\n" + others);
  return "axes:  # what is swept; all values: all; some: [1.2 GHz, 1.8 GHz]\n" + text + others;
}

bool measures_energy_here(const Sysfs& sysfs, const UsedBoards& boards) {
  for (const ProbeFinding& finding : find_probes({sysfs, boards.used})) {
    const auto channels = channels_of(finding);
    if (std::any_of(channels.begin(), channels.end(), measures_energy)) return true;
  }
  return false;
}

std::string experiment_for(const std::vector<std::string>& words, const Sysfs& sysfs) {
  const UsedBoards boards = all_boards(sysfs);
  const std::string name = name_of(words);
  std::string text = fmt::format(
      "# An experiment of dvfs-plan. What it would do:  dvfs-plan check FILE  (changes nothing). Then:  sudo "
      "dvfs-plan FILE\n"
      "name: {0}\n"
      "workloads:\n"
      "  - name: {0}\n"
      "    {1}  # run in this file's folder; it must leave things as it found them: it is run many times\n"
      "    # timeout: 10 min\n"
      "    # metrics: [lines]  # it prints what it did as \"name value unit\": then  objective: {{minimise: "
      "energy, per: name}}\n",
      yaml_word(name), command_text(words));
  text += axes_text(sysfs, boards);
  if (!boards.used.empty()) text += "# gpus: all  # boards that are measured; also [0, 1]\n";
  text += "repeat: 3  # trials of each setting, one a block\n";
  text += measures_energy_here(sysfs, boards)
              ? "objective: energy  # or time, edp, ed2p; {minimise: energy, subject to: {slowdown: 5 %}}\n"
              : "objective: time  # no energy sensor was found here (`dvfs-plan doctor`); with one: energy, "
                "edp\n";
  return text +
         "# measure: {at least: 5 s}  # a short command is run again within a trial until it is that long\n"
         "# reference: {cpu.frequency: max}  # what savings are against: the highest clock\n"
         "# search: adaptive  # where there are many settings: not all of them are run\n";
}

int init_command(const InitOptions& options) {
  const Sysfs sysfs(options.sysfs_root);
  std::vector<std::string> words = options.behind.empty() ? options.words : options.behind;
  if (words.empty()) words = ask_for_command();
  for (const std::string& word : words) {
    if (first_invalid_utf8(word) == std::string::npos) {
      require_literal(word);
      continue;
    }
    throw Error(ExitCode::bad_experiment,
                fmt::format("'{}' is not valid UTF-8, and an experiment file is UTF-8 text", printable(word)),
                "give it another name, or run it from a script whose path is UTF-8; nothing was written");
  }
  const auto environment = current_environment();
  const auto path = environment.find("PATH");
  if (words.front() != "sh" &&
      find_executable(words.front(), ".", path == environment.end() ? "" : path->second).empty())
    throw Error(ExitCode::bad_experiment,
                fmt::format("there is no program '{}' on the PATH", printable(words.front())),
                "give its path, such as ./" + printable(words.front()) + "; nothing was written");
  const std::string text = experiment_for(words, sysfs);
  if (options.output == "-") {
    write_answer(text);
    return static_cast<int>(ExitCode::done);
  }
  const std::string file = options.output.empty() ? name_of(words) + ".yaml" : options.output;
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(file, ignored)))
    throw Error(ExitCode::bad_experiment, fmt::format("{} is there already", file),
                "name another one:  dvfs-plan init --output FILE.yaml -- COMMAND");
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out)
    throw Error(ExitCode::machine_refuses, system_error_text("write " + file, errno), "may you write there?");
  const std::string signs = about_signs(words);
  write_answer(fmt::format("{} is written. {}What it would do, changing nothing:  dvfs-plan check {}\n", file,
                           signs.empty() ? "" : printable(signs) + "\n", shell_quote(file)));
  return static_cast<int>(ExitCode::done);
}

const Registered<CommandKind> init(
    {.name = "init",
     .place = 5,
     .what = "writes a first experiment for a command, with what this machine offers",
     .examples = "dvfs-plan init -- xz -T4 -k big.tar\n"
                 "dvfs-plan init --output first.yaml -- sort --parallel=4 big.txt",
     .runs_another = true,
     .declare = [](CLI::App& app) {
       const auto options = std::make_shared<InitOptions>();
       app.add_option("COMMAND", options->words,
                      "behind `--`: the program and its arguments; asked for where it is left out");
       app.add_option("-o,--output", options->output,
                      "the file to write (the program's name with .yaml); - is stdout");
       return declared_without_json(app, options, init_command);
     }});

}  // namespace
}  // namespace dvfs_plan
