// A YAML file as a tree that remembers where everything stands.
//
// Built from yaml-cpp's events rather than its Node: events show duplicate keys, keep marks for keys, and
// let us stop a hostile file (deep nesting, aliases that multiply or contain themselves) while it is read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/plan/diagnostics.hpp"

namespace dvfs_plan {

struct YamlNode;
using YamlPointer = std::shared_ptr<const YamlNode>;

struct YamlEntry {
  std::string key;
  Mark key_mark;
  YamlPointer value;
};

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  Mark mark;
  std::string scalar;
  bool quoted = false;  // '5' is a word, 5 is a number
  std::vector<YamlPointer> items;
  std::vector<YamlEntry> entries;
  std::size_t size = 1;  // nodes in this tree with aliases written out

  const YamlNode* find(std::string_view key) const;
};

// Limits on what is read at all: an experiment file is a page or two.
struct YamlLimits {
  std::size_t bytes = 1 << 20;
  int depth = 32;
  std::size_t nodes = 20'000;
};

// The tree, or nullptr with the reason in `diagnostics`. Duplicate keys are errors too, but the tree is
// still returned so that further faults are found.
YamlPointer parse_yaml(std::string_view text, Diagnostics& diagnostics, const YamlLimits& limits = {});

// Whether two trees say the same: comments, white space and marks apart.
bool say_the_same(const YamlNode& one, const YamlNode& other);

}  // namespace dvfs_plan
