#include "orchestrator/commands/result_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/machine/machine_facts.hpp"

namespace dvfs_plan {

std::string result_path(const std::string& output, const Experiment& experiment) {
  std::string path = output;
  if (path.empty() && experiment.result)
    path = (std::filesystem::path(experiment.folder) / experiment.result->text).string();
  if (path.empty()) path = experiment.name + ".sqlite";
  // The folder's links are the user's own business; the file itself must not be one.
  std::error_code error;
  const auto folder = std::filesystem::canonical(std::filesystem::absolute(path).parent_path(), error);
  if (error)
    throw Error(ExitCode::machine_refuses,
                fmt::format("result file {}: its folder: {}", path, error.message()),
                "make the folder, or choose another place with --output");
  return (folder / std::filesystem::path(path).filename()).string();
}

std::string aside_stem(const std::string& path, const Clock& clock) {
  std::string stamp = clock.wall_time();
  std::replace(stamp.begin(), stamp.end(), ':', '-');
  return path.substr(0, path.rfind(".sqlite")) + "." + stamp;
}

std::vector<std::string> resume_obstacles(Store& store, const Plan& plan,
                                          const std::map<std::string, std::string>& facts) {
  std::vector<std::string> differences;
  if (store.plan_hash() != plan.hash) differences = plan_differences(store.canonical_plan(), plan.canonical);
  for (std::string& difference : decisive_differences(store.machine_facts(), facts))
    differences.push_back(std::move(difference));
  return differences;
}

void require_same_plan(Store& store, const Plan& plan, const std::map<std::string, std::string>& facts,
                       const std::string& path) {
  const auto differences = resume_obstacles(store, plan, facts);
  if (differences.empty()) return;
  std::string message = fmt::format("{} holds trials of another plan; what changed:", path);
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < std::min(most, differences.size()); ++i)
    message += "\n  " + printable(differences[i]);
  if (differences.size() > most) message += fmt::format("\n  ... and {} more", differences.size() - most);
  throw Error(ExitCode::bad_experiment, message,
              "undo the change to resume, use --fresh to start a new result (the old one is kept), or "
              "--output for another file");
}

}  // namespace dvfs_plan
