#include "orchestrator/commands/setting_form.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "experiments/plan/plan.hpp"

namespace dvfs_plan {

std::string as_comment(const std::vector<std::string>& lines, std::string_view sign) {
  constexpr std::size_t width = 96;
  std::string text;
  for (const std::string& line : lines) {
    std::string now;
    for (const std::string& word : split_words(printable(line))) {
      if (!now.empty() && now.size() + 1 + word.size() > width) {
        text += fmt::format("{}{}\n", sign, now);
        now = "  ";
      } else if (!now.empty()) {
        now += ' ';
      }
      now += word;
    }
    text += fmt::format("{}{}\n", sign, now);
  }
  return text;
}

void refuse_axis(std::string_view form, const FoundSetting& found, const std::string& axis) {
  const AxisSetting* const setting = found.setting_of(axis);
  throw Error(ExitCode::bad_experiment,
              fmt::format("--as {}: there is no way to say {} = {} in it", form, axis,
                          setting != nullptr ? printable(setting->text) : "?"),
              "--as sysfs writes all of it as commands; `dvfs-plan use` runs a command at it");
}

std::vector<std::string> of_the_command(const FormRequest& request) {
  std::vector<std::string> lines;
  for (const AxisSetting& one : request.found.settings()) {
    if (!is_knob_axis(one.axis))
      lines.push_back(fmt::format("the command's own: {} = {}", one.axis, one.text));
  }
  for (const KnobFinding& knob : request.found.knobs()) {
    const auto cpus = knob.knob->workload_cpus(request.found.value_of(knob));
    if (!cpus.empty())
      lines.push_back(fmt::format("{} = {}: taskset -c {} COMMAND", knob.axis,
                                  request.found.setting_of(knob.axis)->text, format_cpu_list(cpus)));
  }
  return lines;
}

namespace {

std::string without_sudo(std::string command) {
  for (std::size_t at = 0; (at = command.find("sudo ", at)) != std::string::npos;) command.erase(at, 5);
  return command;
}

}  // namespace

std::string command_as_root(const FormRequest& request, const std::string& path, const std::string& text) {
  return without_sudo(request.access->at(path).command(text));
}

std::string back_as_root(const FormRequest& request, const SavedSetting& now) {
  return without_sudo(request.access->at(now.path).put_back_command(now.value));
}

}  // namespace dvfs_plan
