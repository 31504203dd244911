#include "orchestrator/commands/draw_figures.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/run_program.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"

namespace dvfs_plan {

std::vector<std::string> draw_figures(const Summary& summary, const std::string& prefix,
                                      FigureFormat format) {
  const auto all = figures(summary, prefix, format);
  if (all.empty())
    throw Error(ExitCode::machine_refuses,
                "there is nothing to draw: no two points have both energy and time",
                "let more trials finish; the report says which failed and why");
  const char* path = std::getenv("PATH");
  const std::string gnuplot = find_executable("gnuplot", "/", path != nullptr ? path : "/usr/bin:/bin");
  if (gnuplot.empty())
    throw Error(ExitCode::machine_refuses, "figures are drawn by gnuplot, and there is none in $PATH",
                "apt-get install gnuplot-nox; the page (--html) needs nothing");
  const WorkFolder folder;
  std::vector<std::string> files;
  for (const Figure& figure : all) {
    const auto script = folder.path() / "figure.gp";
    std::ofstream(script, std::ios::binary | std::ios::trunc) << figure.script;
    const ProgramAnswer answer = run_program(gnuplot, {script.string()}, Seconds{120});
    std::error_code ignored;
    if (!answer.ran() || answer.exit_code != 0 || std::filesystem::file_size(figure.file, ignored) == 0 ||
        ignored)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("gnuplot did not draw {}: {}", figure.file,
                              answer.ran() ? std::string(trim(answer.output)) : answer.problem),
                  "is its folder there, and may you write to it?");
    files.push_back(figure.file);
  }
  return files;
}

}  // namespace dvfs_plan
