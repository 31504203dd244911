#include "base/work_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace dvfs_plan {

WorkFolder::WorkFolder() {
  const auto parent = std::filesystem::temp_directory_path();
  std::string name = (parent / "dvfs-plan.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(ExitCode::machine_refuses, system_error_text("make a folder in " + parent.string(), errno));
  path_ = name;
  go_with_us_.emplace_back(std::vector{name});
}

std::filesystem::path WorkFolder::file(const std::string& name) {
  auto path = path_ / name;
  go_with_us_.emplace_back(std::vector{path.string()});
  return path;
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace dvfs_plan
