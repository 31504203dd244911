// Typed access to a YAML tree: each getter reports what is wrong where it stands and goes on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "experiments/plan/experiment.hpp"
#include "experiments/plan/yaml_tree.hpp"

namespace dvfs_plan {

// The keys that the map `where` may have: experiment_keys() by name.
inline const std::vector<std::string>& keys(const char* where) {
  return experiment_keys().at(where);
}

// Runs `use` on the value of `key`, if it is there.
template <class Use>
void with(const YamlNode& node, std::string_view key, Use use) {
  if (const YamlNode* value = node.find(key)) use(*value);
}

class YamlReader {
 public:
  explicit YamlReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  Diagnostics& diagnostics() { return diagnostics_; }

  // False, with an error, unless `node` is a map; unknown keys in it are errors with the nearest known one.
  bool map(const YamlNode& node, std::string_view what, const std::vector<std::string>& known);

  // Each returns nullopt with an error if `node` is something else. `what` names it in the message.
  std::optional<RawValue> word(const YamlNode& node, std::string_view what,
                               std::string_view wanted = "a word");
  std::optional<double> quantity(const YamlNode& node, std::string_view what, Dimension wanted);
  std::optional<std::int64_t> integer(const YamlNode& node, std::string_view what, std::int64_t least,
                                      std::int64_t most);
  std::optional<bool> boolean(const YamlNode& node, std::string_view what);
  // A word or a list of words; an empty list is an error.
  std::optional<std::vector<RawValue>> words(const YamlNode& node, std::string_view what);

  // How a message ends: "found 'x'", "found a list".
  static std::string found(const YamlNode& node);

 private:
  Diagnostics& diagnostics_;
};

}  // namespace dvfs_plan
