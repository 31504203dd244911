// The keys the parser knows and those of the JSON Schema are the same.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/plan/experiment.hpp"

namespace dvfs_plan {
namespace {

TEST(Schema, HasExactlyTheKeysOfTheParser) {
  std::ifstream file(DVFS_PLAN_SOURCE "/experiments/experiment.schema.json");
  const auto schema = nlohmann::json::parse(file);
  for (const auto& [where, keys] : experiment_keys()) {
    std::set<std::string> in_schema;
    for (const auto& [key, value] : schema.at("$defs").at(where).at("properties").items())
      in_schema.insert(key);
    EXPECT_EQ(in_schema, std::set<std::string>(keys.begin(), keys.end())) << where;
  }
}

}  // namespace
}  // namespace dvfs_plan
