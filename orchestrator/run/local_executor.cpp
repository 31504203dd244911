#include "orchestrator/run/local_executor.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/conditions/other_setters.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {
namespace {

constexpr int most_resets = 3;

}  // namespace

void LocalExecutor::begin(const PlannedTrial& planned) {
  require_settings_that_stay();
  planned_ = planned;
}

std::optional<TrialRecord> LocalExecutor::wait() {
  auto record = runner_.run(*std::exchange(planned_, std::nullopt));
  if (record) count_resets(*record);
  return record;
}

// Somebody who sets one thing to one value in trial after trial will do so all night. Trials in which it
// stood at that value anyway say nothing of it; one in which it stood at another and stayed there says that
// he has gone.
void LocalExecutor::count_resets(const TrialRecord& trial) {
  if (machine_.settings == nullptr) return;
  std::erase_if(resets_, [&](const auto& one) {
    const auto stood = machine_.settings->stood_at(one.first);
    return trial.verdict == Verdict::ok && stood && *stood != one.second.to;
  });
  for (const auto& [path, to] : trial.changed_to) {
    Resets& resets = resets_[path];
    resets = {to, resets.to == to ? resets.times + 1 : 1, trial.verdict_text};
  }
}

void LocalExecutor::require_settings_that_stay() const {
  for (const auto& [path, resets] : resets_) {
    if (resets.times < most_resets) continue;
    auto setters = find_other_setters(machine_.sysfs);
    std::erase_if(setters, [](const OtherSetter& setter) { return !setter.sets; });
    throw Error(ExitCode::machine_refuses,
                fmt::format("somebody sets {} to '{}' while trials run, {} trials now; the last: {}",
                            shown_setting(path), printable(resets.to), most_resets, resets.last),
                setters.empty()
                    ? "find out who (a power daemon, a cron job, a colleague), stop it, and run the same "
                      "command to go on; the trials up to here are kept"
                    : setters.front().fix +
                          "   and then the same command goes on; the trials up to "
                          "here are kept");
  }
}

}  // namespace dvfs_plan
