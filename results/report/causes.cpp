#include "results/report/causes.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"

namespace dvfs_plan {

std::string causes_text(const std::map<std::string, int>& not_counted) {
  std::vector<std::string> texts;
  for (const auto& [verdict, count] : not_counted) texts.push_back(fmt::format("{} {}", count, verdict));
  return join(texts, ", ");
}

}  // namespace dvfs_plan
