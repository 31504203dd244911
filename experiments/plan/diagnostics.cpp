#include "experiments/plan/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace dvfs_plan {

void Diagnostics::error(Mark mark, std::string message) {
  add({Diagnostic::Severity::error, mark, std::move(message)});
}

void Diagnostics::warning(Mark mark, std::string message) {
  add({Diagnostic::Severity::warning, mark, std::move(message)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  const auto later = [](const Diagnostic& a, const Diagnostic& b) {
    return a.mark.line != b.mark.line ? a.mark.line < b.mark.line : a.mark.column < b.mark.column;
  };
  found_.insert(std::upper_bound(found_.begin(), found_.end(), diagnostic, later), std::move(diagnostic));
}

bool Diagnostics::has_errors() const {
  return std::any_of(found_.begin(), found_.end(),
                     [](const Diagnostic& d) { return d.severity == Diagnostic::Severity::error; });
}

std::string Diagnostics::text() const {
  std::string lines;
  for (const Diagnostic& d : found_) {
    const char* severity = d.severity == Diagnostic::Severity::error ? "error" : "warning";
    lines += printable(file_);
    if (d.mark.line > 0) lines += fmt::format(":{}:{}", d.mark.line, d.mark.column);
    lines += fmt::format(": {}: {}\n", severity, printable(d.message));
  }
  return lines;
}

}  // namespace dvfs_plan
