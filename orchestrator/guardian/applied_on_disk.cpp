#include "orchestrator/guardian/applied_on_disk.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

// A client that sets ever new values is not to fill the disk: of so many nothing is known.
constexpr std::size_t most_bytes = 8 << 20;

std::size_t size_of(const AppliedByUs& applied) {
  std::size_t bytes = 0;
  for (const auto& [path, values] : applied) {
    bytes += path.size();
    for (const std::string& value : values) bytes += value.size() + 1;
  }
  return bytes;
}

}  // namespace

std::string AppliedOnDisk::note(StateFolder& folder, const std::string& run, const AppliedByUs& applied,
                                std::set<std::string> unsettled, AppliedByUs overwritten,
                                std::set<std::string> unshown) {
  return keep(folder, {run, applied, std::move(unsettled), std::move(overwritten), std::move(unshown)});
}

std::string AppliedOnDisk::keep(StateFolder& folder, AppliedRecord record) {
  if (last_ && *last_ == record) return {};
  last_ = std::move(record);
  return write(folder);
}

void AppliedOnDisk::note_back(StateFolder& folder, const std::string& path) {
  if (last_ && last_->applied.erase(path) + last_->unshown.erase(path) > 0) write(folder);
}

void AppliedOnDisk::note_failures(StateFolder& folder, const std::string& run,
                                  const RestoreOutcome& outcome) {
  // What the run had set there may stand again by then: a setter that hung has done its work late.
  const AppliedByUs before = last_ ? last_->applied : AppliedByUs{};
  AppliedByUs applied;
  std::set<std::string> unsettled;
  for (const RestoreOutcome::Failure& one : outcome.failures) {
    if (const auto known = before.find(one.setting.path); known != before.end())
      applied[one.setting.path] = known->second;
    applied[one.setting.path].insert(one.found);
    if (one.may_change_yet) unsettled.insert(one.setting.path);
  }
  keep(folder, {run,
                std::move(applied),
                std::move(unsettled),
                {},
                last_ ? last_->unshown : std::set<std::string>{},
                true});
}

void AppliedOnDisk::write_again(StateFolder& folder) {
  if (last_) write(folder);
}

std::string AppliedOnDisk::write(StateFolder& folder) {
  try {
    if (size_of(last_->applied) <= most_bytes) {
      write_applied_record(folder, *last_);
      return {};
    }
  } catch (const Error&) {
    // A full disk: what lies there is older than what is set now.
  }
  try {
    remove_applied_record(folder);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace dvfs_plan
