#include "orchestrator/commands/experiment_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "orchestrator/commands/command.hpp"

namespace dvfs_plan {
namespace {

bool looks_like_a_result(const std::string& file) {
  constexpr std::string_view magic = "SQLite format 3";
  std::string start(magic.size(), '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == magic;
}

}  // namespace

std::string read_experiment_file(const std::string& file) {
  // The invoking user's file is read as the invoking user: what they may not read is not shown to them.
  const ActingAs owner(invoking_owner());
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw Error(ExitCode::bad_experiment, fmt::format("{}: {}", printable(file), error.message()),
                "may you enter its folder?");
  if (!std::filesystem::exists(status)) {
    const std::string command = nearest_word(file, command_names());
    throw Error(ExitCode::bad_experiment,
                fmt::format("{}: there is no such file{}", printable(file),
                            command.empty() ? "" : fmt::format(" (did you mean the command '{}'?)", command)),
                "`dvfs-plan --help` shows a first experiment");
  }
  // Before it is opened: a FIFO that nobody writes to would never let us go.
  if (!std::filesystem::is_regular_file(status))
    throw Error(ExitCode::bad_experiment, fmt::format("{} is not a file", printable(file)),
                "give the experiment's YAML file");
  if (looks_like_a_result(file)) {
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} is a result file, not an experiment", printable(file)),
                fmt::format("dvfs-plan report {}", shell_quote(file)));
  }
  std::ifstream stream(file, std::ios::binary);
  // One byte more than may be read: a longer file is refused by its size, not read whole.
  std::string text((1U << 20) + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (!stream.eof() && stream.gcount() == 0))
    throw Error(ExitCode::bad_experiment, fmt::format("{} cannot be read", printable(file)));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

}  // namespace dvfs_plan
