#include "experiments/plan/command_line.hpp"

#include <algorithm>
#include <cctype>
#include <functional>

namespace dvfs_plan {
namespace {

bool name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@';
}

// Walks through `text`; calls `literal` for what stays and `name` for each {name}.
void walk(std::string_view text, const std::function<void(std::string_view)>& literal,
          const std::function<void(std::string_view)>& name) {
  while (!text.empty()) {
    const auto brace = text.find('{');
    if (brace == std::string_view::npos) break;
    auto end = brace + 1;
    const bool doubled = end < text.size() && text[end] == '{';
    if (doubled) ++end;
    const auto start = end;
    while (end < text.size() && name_character(text[end])) ++end;
    const auto word = text.substr(start, end - start);
    const bool named = !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
                       end < text.size() && text[end] == '}';
    if (named && !doubled) {
      literal(text.substr(0, brace));
      name(word);
      text.remove_prefix(end + 1);
    } else if (named && text.substr(end).starts_with("}}")) {
      literal(text.substr(0, brace));
      literal(text.substr(brace + 1, end - brace));  // {{name}} -> {name}
      text.remove_prefix(end + 2);
    } else {
      literal(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  literal(text);
}

const AxisValue* value_of(std::string_view name, const std::vector<PlanAxis>& axes,
                          const std::vector<std::optional<AxisValue>>& values) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name && values[i]) return &*values[i];
  }
  return nullptr;
}

std::string word_for(std::string_view name, const std::vector<PlanAxis>& axes,
                     const std::vector<std::optional<AxisValue>>& values,
                     const std::map<std::string, std::string>& more) {
  if (const AxisValue* value = value_of(name, axes, values)) return value->text;
  const auto found = more.find(std::string(name));
  return found == more.end() ? std::string{} : found->second;
}

std::string variable_for(std::string_view axis) {
  std::string variable = "DVFS_PLAN_AXIS_";
  for (const char c : axis) variable += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return variable;
}

}  // namespace

std::vector<std::string> placeholders(std::string_view text) {
  std::vector<std::string> names;
  walk(
      text, [](std::string_view) {}, [&](std::string_view name) { names.emplace_back(name); });
  return names;
}

bool is_for_a_shell(std::string_view word) {
  static constexpr std::string_view signs[] = {">", ">>", "<",  "<<",  "|",  "||",  "&&",
                                               ";", "&",  "2>", "2>>", "&>", "2>&1"};
  return std::find(std::begin(signs), std::end(signs), word) != std::end(signs);
}

bool placeholder_inside_quotes(std::string_view shell_text) {
  char quote = 0;
  bool inside = false;
  const auto literal = [&](std::string_view part) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '\\' && quote != '\'')
        ++i;
      else if (quote == 0 && (part[i] == '\'' || part[i] == '"'))
        quote = part[i];
      else if (part[i] == quote)
        quote = 0;
    }
  };
  walk(shell_text, literal, [&](std::string_view) { inside = inside || quote != 0; });
  return inside;
}

bool placeholder_after_dollar(std::string_view shell_text) {
  bool dollar = false, found = false;
  walk(
      shell_text,
      [&](std::string_view part) {
        if (!part.empty()) dollar = part.back() == '$';
      },
      [&](std::string_view) { found = found || dollar; });
  return found;
}

std::string filled(std::string_view text, const std::vector<PlanAxis>& axes,
                   const std::vector<std::optional<AxisValue>>& values,
                   const std::map<std::string, std::string>& more) {
  std::string result;
  walk(
      text, [&](std::string_view part) { result += part; },
      [&](std::string_view name) { result += word_for(name, axes, values, more); });
  return result;
}

CommandLine command_line(const ProgramSpec& program, const std::vector<PlanAxis>& axes,
                         const std::vector<std::optional<AxisValue>>& values,
                         const std::map<std::string, std::string>& more) {
  CommandLine result;
  const auto fill = [&](std::string_view text) { return filled(text, axes, values, more); };
  for (const auto& [name, value] : program.environment)
    result.environment.emplace_back(name, fill(value.text));
  if (!program.shell) {
    for (const RawValue& word : program.command) result.argv.push_back(fill(word.text));
    return result;
  }
  std::string text;
  walk(
      program.shell->text, [&](std::string_view part) { text += part; },
      [&](std::string_view name) {
        const std::string variable = variable_for(name);
        text += "\"$" + variable + "\"";
        result.environment.emplace_back(variable, word_for(name, axes, values, more));
      });
  result.argv = {"/bin/sh", "-c", text};
  return result;
}

}  // namespace dvfs_plan
