// Putting axis values into a workload's command: {name} becomes the value, {{name}} stays {name}.
//
// In argv a value fills its element and nothing else: it is never split or interpreted. In `shell:` text
// the value travels in an environment variable and the text gets "$VARIABLE", so that no value can become
// shell code, whatever it holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

// The axis names that `text` refers to, in order.
std::vector<std::string> placeholders(std::string_view text);
// A word that means something to a shell alone: ">", "|", "&&".
bool is_for_a_shell(std::string_view word);
// `text` with the values put in. `more`: words in braces that have a value beside the axes, which go first.
std::string filled(std::string_view text, const std::vector<PlanAxis>& axes,
                   const std::vector<std::optional<AxisValue>>& values,
                   const std::map<std::string, std::string>& more = {});

// Whether a placeholder in shell text stands inside quotes, where quoting it again would break it.
bool placeholder_inside_quotes(std::string_view shell_text);

// Whether a placeholder in shell text follows a '$': ${name} is the shell's own spelling, and would become
// something else here.
bool placeholder_after_dollar(std::string_view shell_text);

struct CommandLine {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  // what the workload adds
};

CommandLine command_line(const ProgramSpec& program, const std::vector<PlanAxis>& axes,
                         const std::vector<std::optional<AxisValue>>& values,
                         const std::map<std::string, std::string>& more = {});

}  // namespace dvfs_plan
