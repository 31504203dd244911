// Faults of an experiment file, gathered so that all of them are told in one go, where they stand.
#pragma once

#include <string>
#include <vector>

namespace dvfs_plan {

// Where something stands in the file; lines and columns count from 1, 0 means "the file as a whole".
struct Mark {
  int line = 0;
  int column = 0;
};

struct Diagnostic {
  enum class Severity { error, warning };
  Severity severity = Severity::error;
  Mark mark;
  std::string message;
};

class Diagnostics {
 public:
  explicit Diagnostics(std::string file = {}) : file_(std::move(file)) {}

  void error(Mark mark, std::string message);
  void warning(Mark mark, std::string message);
  bool has_errors() const;
  const std::vector<Diagnostic>& all() const { return found_; }  // in file order
  const std::string& file() const { return file_; }

  // "sweep.yaml:12:5: error: unknown key ...", a line each.
  std::string text() const;

 private:
  void add(Diagnostic diagnostic);
  std::string file_;
  std::vector<Diagnostic> found_;
};

}  // namespace dvfs_plan
