#include "orchestrator/commands/stored_experiment.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/whole_file.hpp"
#include "orchestrator/commands/vocabulary.hpp"

namespace dvfs_plan {

Experiment stored_experiment(Store& store, const std::string& file) {
  Diagnostics diagnostics("the experiment in " + file);
  auto experiment = parse_experiment(store.experiment_file(), file, registered_vocabulary(), diagnostics);
  if (experiment && !diagnostics.has_errors()) return std::move(*experiment);
  std::string text = diagnostics.text();
  if (!text.empty()) text.pop_back();
  throw Error(ExitCode::bad_experiment, text, "it was written for another version of dvfs-plan");
}

ExperimentPlace experiment_place(Store& store, const std::string& result, const std::string& named) {
  namespace fs = std::filesystem;
  const auto absolute = [](const fs::path& way) { return fs::absolute(way).lexically_normal(); };
  Statement source = store.database().prepare("SELECT source_file FROM experiment");
  source.step();
  const fs::path was(source.text(0));
  const std::string was_in = was.is_absolute() ? was.parent_path().string() : "";
  if (!named.empty()) {
    if (const ActingAs owner(invoking_owner()); ::access(named.c_str(), R_OK) != 0)
      throw Error(ExitCode::bad_experiment, system_error_text("--experiment " + named, errno),
                  "it is where the experiment's file is: programs are sought from its folder");
    return {absolute(named).string(), true, was_in};
  }
  std::error_code none;
  const fs::path there = fs::canonical(result, none);
  const fs::path beside = (none ? absolute(result) : there).parent_path();
  // Programs before 1.2.3 kept its way from the folder that the run was started in, where the result lies by default.
  const std::vector<fs::path> places = was.is_absolute()
                                           ? std::vector{was, beside / was.filename()}
                                           : std::vector{(beside / was).lexically_normal(), absolute(was)};
  const ActingAs owner(invoking_owner());
  const std::string text = store.experiment_file();
  for (const fs::path& place : places) {
    // The name is the result's word, who may be anybody's: no device, no pipe, nothing larger.
    std::string there_now;
    if (read_whole(place.string(), text.size(), there_now) == 0 && there_now == text)
      return {place.string(), true, was_in};
  }
  // It was edited since, and is where it was.
  if (was.is_absolute() && fs::is_regular_file(was, none)) return {was.string(), true, was_in};
  for (const fs::path& place : places) {
    if (fs::exists(place, none)) return {place.string(), false, was_in};
  }
  return {places.front().string(), false, was_in};
}

}  // namespace dvfs_plan
