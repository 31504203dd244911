#include "orchestrator/commands/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.hpp"

namespace dvfs_plan {

void refuse_the_result_itself(const std::string& output, const char* option, const std::string& result) {
  std::error_code ignored;
  if (output.empty() || !std::filesystem::equivalent(result, output, ignored)) return;
  throw Error(ExitCode::bad_experiment, fmt::format("{} {} is the result file itself", option, output),
              "name another file");
}

}  // namespace dvfs_plan
