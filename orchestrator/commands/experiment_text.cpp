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

// What kind of a database it is; empty: it is none. Ours bear "dvfp" where SQLite's format has whose a file is (fileformat2.html, 1.3).
std::string kind_of_database(const std::string& file) {
  constexpr std::size_t where_whose = 68;
  constexpr std::string_view magic = "SQLite format 3", ours = "dvfp";
  std::string start(where_whose + ours.size(), '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  if (!start.starts_with(magic)) return {};
  return start.ends_with(ours) ? "result file" : "SQLite database";
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
  if (const std::string kind = kind_of_database(file); !kind.empty())
    throw Error(ExitCode::bad_experiment, fmt::format("{} is a {}, not an experiment", printable(file), kind),
                kind == "result file" ? fmt::format("dvfs-plan report {}",
                                                    shell_quote(file.starts_with('-') ? "./" + file : file))
                                      : std::string("give the experiment's YAML file"));
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
