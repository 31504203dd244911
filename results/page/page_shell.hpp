// One page around whatever data: what the report and the comparison share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace dvfs_plan {

struct PageContent {
  std::string title;
  std::string plain_text;  // for readers without scripts
  std::vector<std::pair<std::string, const nlohmann::ordered_json*>>
      data;  // by the id that the script finds it
             // under; it runs once it has the first
};

// Throws Error if the page cannot be written to its end.
void write_page(const PageContent& content, const std::string& path);

// Whether a file is a page of ours.
bool is_page(const std::string& path);

}  // namespace dvfs_plan
