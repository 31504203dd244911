// What is not known is null in our JSON, never 0.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace dvfs_plan {

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace dvfs_plan
