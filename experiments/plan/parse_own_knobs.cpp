#include "experiments/plan/parse_own_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/plan/parse_program.hpp"

namespace dvfs_plan {
namespace {

constexpr std::string_view value_word = "{value}";

bool names_value(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [](const std::string& word) { return word.find(value_word) != std::string::npos; });
}

std::vector<std::string> argv_of(const YamlNode& node, const std::string& key, YamlReader& read) {
  std::vector<std::string> argv;
  const auto words = parse_argv(node, key, "[sh, -c, '...']", read);
  if (!words) return argv;
  for (const RawValue& word : *words) {
    if (word.text.find_first_of("\n\r\t") != std::string::npos)
      read.diagnostics().error(
          word.mark,
          fmt::format("'{}': a word of several lines, or with a tab: put that script into a file", key));
    argv.push_back(word.text);
  }
  return argv;
}

bool is_knob_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789_-") == std::string::npos;
}

void parse_command_knob(const YamlEntry& entry, YamlReader& read, std::vector<CommandKnobSpec>& knobs) {
  const YamlNode& node = *entry.value;
  const std::string& name = entry.key;
  if (!read.map(node, fmt::format("set '{}'", name), keys("set"))) return;
  CommandKnobSpec knob{name, entry.key_mark, {}, {}, {}, {}};
  with(node, "command", [&](const YamlNode& n) { knob.command = argv_of(n, "command", read); });
  with(node, "read", [&](const YamlNode& n) { knob.read = argv_of(n, "read", read); });
  with(node, "restore", [&](const YamlNode& n) { knob.restore = argv_of(n, "restore", read); });
  with(node, "values", [&](const YamlNode& n) {
    if (const auto values = read.words(n, "'values'")) knob.values = *values;
  });
  const auto error = [&](const Mark& mark, const std::string& text) { read.diagnostics().error(mark, text); };
  const auto mark_of = [&](const char* key) {
    const YamlNode* const found = node.find(key);
    return found == nullptr ? entry.key_mark : found->mark;
  };
  if (!is_knob_name(name)) {
    error(entry.key_mark, fmt::format("set '{}': it is named with letters, digits, '_' and '-'", name));
  } else if (node.find("command") == nullptr || node.find("read") == nullptr ||
             node.find("values") == nullptr) {
    error(entry.key_mark,
          fmt::format("set '{0}' needs 'command' (with {{value}} where the value goes), 'read' (prints the "
                      "value that is set now) and 'values' (all that may be set), such as  "
                      "{{command: [mytool, set, '{{value}}'], read: [mytool, get], values: [1, 2]}}",
                      name));
  } else if (!knob.command.empty() && !names_value(knob.command)) {
    error(
        mark_of("command"),
        fmt::format("set '{}': 'command' says {{value}} nowhere, so it would set the same each time", name));
  } else if (names_value(knob.read)) {
    error(mark_of("read"),
          fmt::format("set '{}': 'read' is to tell what is set, and is not told what was asked for: take "
                      "{{value}} out of it",
                      name));
  } else if (!knob.command.empty() && !knob.read.empty() && !knob.values.empty()) {
    knobs.push_back(std::move(knob));
  }
}

}  // namespace

void parse_sysfs_knobs(const YamlNode& node, YamlReader& read, std::vector<SysfsKnobSpec>& knobs) {
  if (!read.map(node, "'sysfs'", {})) return;
  for (const YamlEntry& entry : node.entries) {
    if (!read.map(*entry.value, fmt::format("sysfs '{}'", entry.key), keys("sysfs"))) continue;
    const YamlNode* path = entry.value->find("path");
    const YamlNode* values = entry.value->find("values");
    if (path == nullptr || values == nullptr) {
      read.diagnostics().error(
          entry.key_mark,
          fmt::format("sysfs '{}' needs 'path' (below /sys) and 'values' (all that may be written)",
                      entry.key));
      continue;
    }
    auto where = read.word(*path, "'path'");
    auto allowed = read.words(*values, "'values'");
    if (!where || !allowed) continue;
    if (!where->text.starts_with("/sys/") || where->text.find("/../") != std::string::npos) {
      read.diagnostics().error(where->mark, fmt::format("sysfs '{}': path must lie below /sys; found '{}'",
                                                        entry.key, where->text));
      continue;
    }
    knobs.push_back({entry.key, entry.key_mark, *where, *allowed});
  }
}

void parse_command_knobs(const YamlNode& node, YamlReader& read, std::vector<CommandKnobSpec>& knobs) {
  if (!read.map(node, "'set'", {})) return;
  for (const YamlEntry& entry : node.entries) parse_command_knob(entry, read, knobs);
}

}  // namespace dvfs_plan
