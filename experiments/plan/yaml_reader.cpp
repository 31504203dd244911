#include "experiments/plan/yaml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"

namespace dvfs_plan {

std::string YamlReader::found(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "found nothing";
    case YamlNode::Kind::scalar:
      return fmt::format("found '{}'", node.scalar);
    case YamlNode::Kind::sequence:
      return "found a list";
    case YamlNode::Kind::map:
      return "found a map";
  }
  return {};
}

// A space that looks like one and is none, as word processors and web pages make them.
static std::string odd_space_hint(std::string_view text) {
  return text.find("\xC2\xA0") == std::string_view::npos
             ? std::string{}
             : "; it holds a non-breaking space (U+00A0): write an ordinary one in its place";
}

// Of "'idle' (or none)", which may be a word instead: for who mistyped it.
static std::string perhaps_the_word(std::string_view what, std::string_view text) {
  constexpr std::string_view before = "(or ";
  const auto from = what.find(before);
  const auto until = from == std::string_view::npos ? from : what.find(')', from);
  if (until == std::string_view::npos) return {};
  return did_you_mean(text, {std::string(what.substr(from + before.size(), until - from - before.size()))});
}

bool YamlReader::map(const YamlNode& node, std::string_view what, const std::vector<std::string>& known) {
  if (node.kind != YamlNode::Kind::map) {
    diagnostics_.error(node.mark, fmt::format("{} must be a map of 'key: value'; {}{}", what, found(node),
                                              perhaps_the_word(what, node.scalar)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "<<") {
      diagnostics_.error(entry.key_mark,
                         fmt::format("'<<' in {}: YAML 1.2 has no merge keys; write the keys themselves "
                                     "here (an alias, *NAME, stands for one whole value)",
                                     what));
      continue;
    }
    if (known.empty() || std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::string nearest = did_you_mean(entry.key, known);
    diagnostics_.error(
        entry.key_mark,
        fmt::format("unknown key '{}' in {}{}{}", entry.key, what.substr(0, what.find(" (or ")),
                    nearest.empty() ? fmt::format("; known: {}", join(known, ", ")) : nearest,
                    odd_space_hint(entry.key)));
  }
  return true;
}

std::optional<RawValue> YamlReader::word(const YamlNode& node, std::string_view what,
                                         std::string_view wanted) {
  if (node.kind == YamlNode::Kind::scalar && (!node.scalar.empty() || node.quoted)) {
    return RawValue{node.scalar, node.mark};
  }
  diagnostics_.error(node.mark, fmt::format("{} must be {}; {}", what, wanted, found(node)));
  return std::nullopt;
}

std::optional<double> YamlReader::quantity(const YamlNode& node, std::string_view what, Dimension wanted) {
  const auto text = word(node, what, describe(wanted));
  if (!text) return std::nullopt;
  const auto value = parse_quantity(text->text);
  if (value && value->dimension == wanted) return value->value;
  std::string message = fmt::format("{} must be {}; found '{}'", what, describe(wanted), text->text);
  if (value && value->dimension == Dimension::none) {
    message += ", which has no unit";
  } else if (!value && looks_like_quantity(text->text)) {
    message += unit_hint(text->text, wanted);
  }
  message += odd_space_hint(text->text) + perhaps_the_word(what, text->text);
  diagnostics_.error(node.mark, message);
  return std::nullopt;
}

std::optional<std::int64_t> YamlReader::integer(const YamlNode& node, std::string_view what,
                                                std::int64_t least, std::int64_t most) {
  const std::string_view text = node.scalar;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = node.kind == YamlNode::Kind::scalar && error == std::errc{} &&
                     end == text.data() + text.size() && !text.empty();
  if (whole && value >= least && value <= most) return value;
  diagnostics_.error(node.mark, fmt::format("{} must be a whole number from {} to {}; {}{}", what, least,
                                            most, found(node), perhaps_the_word(what, node.scalar)));
  return std::nullopt;
}

std::optional<bool> YamlReader::boolean(const YamlNode& node, std::string_view what) {
  if (node.kind == YamlNode::Kind::scalar) {
    if (node.scalar == "true" || node.scalar == "yes") return true;
    if (node.scalar == "false" || node.scalar == "no") return false;
  }
  diagnostics_.error(node.mark, fmt::format("{} must be true or false; {}", what, found(node)));
  return std::nullopt;
}

std::optional<std::vector<RawValue>> YamlReader::words(const YamlNode& node, std::string_view what) {
  std::vector<RawValue> values;
  if (node.kind != YamlNode::Kind::sequence) {
    if (auto value = word(node, what)) {
      values.push_back(*value);
      return values;
    }
    return std::nullopt;
  }
  if (node.items.empty()) {
    diagnostics_.error(node.mark, fmt::format("{} is an empty list", what));
    return std::nullopt;
  }
  for (const YamlPointer& item : node.items) {
    auto value = word(*item, fmt::format("each item of {}", what));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

}  // namespace dvfs_plan
