// One page around whatever data: what the report and the comparison share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dvfs_plan {

struct PageData {
  std::string id;
  std::string json;   // its text
  std::string bytes;  // or this
};
// As JSON text; what is large is packed.
PageData page_data(std::string id, const nlohmann::ordered_json& json);

struct PageContent {
  std::string title;
  std::string plain_text;  // for readers without scripts
  // By the id that the script finds it under; it runs once it has the first.
  std::vector<PageData> data;
};

// Owner and rights of a new one are as those of file `like` (FileReplacement). Throws Error if the page cannot be written to its end.
void write_page(const PageContent& content, const std::string& path, const std::string& like = {});

// Whether a file is a page of ours.
bool is_page(const std::string& path);
// Of an experiment of this name.
bool is_page_called(const std::string& path, const std::string& title);

}  // namespace dvfs_plan
