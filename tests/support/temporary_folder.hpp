// A folder that goes with its test, and trees of attribute files in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace dvfs_plan {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dvfs-test.XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Writes a file at an absolute path below the folder, as an attribute: with a newline at its end.
  void attribute(const std::string& path, const std::string& text) const { file(path, text + "\n"); }
  void file(const std::string& path, const std::string& text) const {
    const std::filesystem::path where = path_ + (path.starts_with('/') ? "" : "/") + path;
    std::filesystem::create_directories(where.parent_path());
    std::ofstream(where) << text;
  }
  std::string read(const std::string& path) const {
    std::ifstream stream(path_ + (path.starts_with('/') ? "" : "/") + path);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace dvfs_plan
