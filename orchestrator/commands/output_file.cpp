#include "orchestrator/commands/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "results/page/page_shell.hpp"

namespace dvfs_plan {
namespace {

// What SQLite keeps beside a database by name: it takes such a file for its own, and empties or removes it. nullopt: it is no such name.
std::optional<std::string> database_beside(const std::string& output) {
  for (const std::string_view ending : {"-wal", "-shm", "-journal"}) {
    if (output.ends_with(ending)) return output.substr(0, output.size() - ending.size());
  }
  return std::nullopt;
}

void refuse_what_sqlite_keeps_beside(const std::string& output, const char* option) {
  const auto database = database_beside(output);
  std::error_code none;
  if (database && std::filesystem::is_regular_file(*database, none))
    throw Error(ExitCode::bad_experiment,
                fmt::format("{} {} is what SQLite keeps beside {}", option, output, *database),
                "name another file");
}

}  // namespace

void refuse_a_result_of_such_a_name(const std::string& result) {
  if (const auto database = database_beside(result))
    throw Error(
        ExitCode::bad_experiment,
        fmt::format(
            "result file {} has the name of what SQLite keeps beside {}, and would be removed with it",
            result, *database),
        "give it another name, which ends in .sqlite");
}

void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result) {
  std::error_code ignored;
  if (output.empty() || !std::filesystem::equivalent(result, output, ignored)) return;
  throw Error(ExitCode::bad_experiment, fmt::format("{} {} is the result file itself", option, output),
              "name another file");
}

void refuse_what_is_no_page(const std::string& output, const char* option) {
  refuse_what_sqlite_keeps_beside(output, option);
  std::error_code none;
  if (output.empty() || !std::filesystem::exists(output, none) ||
      !std::filesystem::is_regular_file(output, none) || is_page(output))
    return;
  throw Error(ExitCode::bad_experiment,
              fmt::format("{} {} is there, and no page of dvfs-plan", option, output), "name another file");
}

void refuse_a_result_or_an_experiment(const std::string& output, const char* option) {
  refuse_what_sqlite_keeps_beside(output, option);
  std::error_code none;
  if (output.empty() || !std::filesystem::is_regular_file(output, none)) return;
  std::string head(16, '\0');
  std::ifstream(output, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  const std::string ending = std::filesystem::path(output).extension().string();
  const bool database = head.starts_with("SQLite format 3");
  if (!database && ending != ".yaml" && ending != ".yml") return;
  throw Error(ExitCode::bad_experiment,
              fmt::format("{} {} is there, and {}", option, output, database ? "a result" : "an experiment"),
              "name another file");
}

void refuse_what_is_no_table(const std::string& output, const char* option) {
  refuse_what_sqlite_keeps_beside(output, option);
  std::error_code none;
  if (output.empty() || !std::filesystem::is_regular_file(output, none) ||
      std::filesystem::file_size(output, none) == 0)
    return;
  std::string head(32, '\0');
  std::ifstream(output, std::ios::binary).read(head.data(), static_cast<std::streamsize>(head.size()));
  for (const char* begin : {"trial,", "{\"trial\":", "PAR1", "{\n  \"experiment\":"}) {
    if (head.starts_with(begin)) return;
  }
  throw Error(ExitCode::bad_experiment,
              fmt::format("{} {} is there, and no table of dvfs-plan", option, output), "name another file");
}

}  // namespace dvfs_plan
