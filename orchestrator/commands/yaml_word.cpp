#include "orchestrator/commands/yaml_word.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

std::string in_quotes(const std::string& text) {
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  // Of YAML's double-quoted scalars JSON's strings are a part.
  if (!printable) return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') quoted += c;
    quoted += c;
  }
  return quoted + '\'';
}

// Written without quotes in a file it may stand so again, but for what ends a word between brackets (7.3.3).
std::string yaml_scalar(const YamlNode& node) {
  return node.quoted || node.scalar.empty() || node.scalar.find_first_of(",[]{}\n") != std::string::npos
             ? in_quotes(node.scalar)
             : node.scalar;
}

}  // namespace

std::string yaml_word(const std::string& text) {
  // As the core schema has it (YAML 1.2.2, 10.3.2).
  const auto is_null = [](const std::string& word) {
    return word == "null" || word == "Null" || word == "NULL";
  };
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '/' || c == '-' || c == ' ';
  };
  const bool plain = std::all_of(text.begin(), text.end(), is_plain) && !text.empty() &&
                     text.front() != ' ' && text.back() != ' ' && text != "-" && text != "--" &&
                     !text.starts_with("- ") && text != "~" && !is_null(text) &&
                     text.find("---") == std::string::npos && text != "...";
  return plain ? text : in_quotes(text);
}

std::string yaml_flow(const YamlNode& node) {
  std::vector<std::string> texts;
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "null";
    case YamlNode::Kind::scalar:
      return yaml_scalar(node);
    case YamlNode::Kind::sequence:
      for (const YamlPointer& item : node.items) texts.push_back(yaml_flow(*item));
      return fmt::format("[{}]", join(texts, ", "));
    case YamlNode::Kind::map:
      for (const YamlEntry& entry : node.entries)
        texts.push_back(fmt::format("{}: {}", yaml_word(entry.key), yaml_flow(*entry.value)));
      return fmt::format("{{{}}}", join(texts, ", "));
  }
  return {};
}

}  // namespace dvfs_plan
