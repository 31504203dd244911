#include "orchestrator/commands/draw_figures.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/replace_file.hpp"
#include "base/run_program.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"

namespace dvfs_plan {

namespace {

bool is_whole(const std::string& picture) {
  return picture.starts_with("\x89PNG")
             ? picture.find("IEND", picture.size() - std::min<std::size_t>(picture.size(), 12)) !=
                   std::string::npos
             : trim(picture).ends_with("</svg>");
}

void refuse_what_is_no_figure(const std::string& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none) || std::filesystem::file_size(file, none) == 0) return;
  std::string head(400, '\0');
  std::ifstream(file, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.starts_with("\x89PNG") || head.find("<svg") != std::string::npos || head.find("<?xml") == 0)
    return;
  throw Error(ExitCode::bad_experiment, fmt::format("{} is there, and no figure", file),
              "name another prefix");
}

}  // namespace

std::vector<std::string> draw_figures(const Summary& summary, const std::string& prefix,
                                      FigureFormat format) {
  // Drawn where nothing of the user's lies, and moved to its place whole.
  WorkFolder folder;
  const std::string here = (folder.path() / "figure").string();
  const auto all = figures(summary, here, format);
  if (all.empty())
    throw Error(ExitCode::machine_refuses,
                "there is nothing to draw: no two points have both energy and time",
                "let more trials finish; the report says which failed and why");
  const char* path = std::getenv("PATH");
  const std::string gnuplot = find_executable("gnuplot", "/", path != nullptr ? path : "/usr/bin:/bin");
  if (gnuplot.empty())
    throw Error(ExitCode::machine_refuses, "figures are drawn by gnuplot, and there is none in $PATH",
                "apt-get install gnuplot-nox; the page (--html) needs nothing");
  const auto script = folder.file("figure.gp");
  for (const Figure& figure : all) folder.file(std::filesystem::path(figure.file).filename().string());
  std::vector<std::string> files;
  for (const Figure& figure : all) refuse_what_is_no_figure(prefix + figure.file.substr(here.size()));
  for (const Figure& figure : all) {
    std::ofstream(script, std::ios::binary | std::ios::trunc) << figure.script;
    const ProgramAnswer answer = run_program(gnuplot, {script.string()}, Seconds{120});
    const std::string file = prefix + figure.file.substr(here.size());
    std::ifstream drawn(figure.file, std::ios::binary);
    const std::string picture{std::istreambuf_iterator<char>(drawn), {}};
    if (!answer.ran() || answer.exit_code != 0 || !is_whole(picture))
      throw Error(ExitCode::machine_refuses,
                  fmt::format("gnuplot did not draw {} to its end: {}", file,
                              !answer.ran()           ? answer.problem
                              : answer.output.empty() ? "is the disk full?"
                                                      : std::string(trim(answer.output))),
                  fmt::format("it is drawn in {} (TMPDIR chooses another place): is there room?",
                              folder.path().parent_path().string()));
    FileReplacement replacement(file);
    replacement.out() << picture;
    replacement.commit();
    files.push_back(file);
  }
  return files;
}

}  // namespace dvfs_plan
