#include "orchestrator/guard/left_elsewhere.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/journal.hpp"
#include "orchestrator/guard/state_folder.hpp"
#include "orchestrator/guard/state_places.hpp"

namespace dvfs_plan {
namespace {

// Journals of the machine itself that nobody holds: of one that is held whoever holds it puts back.
std::vector<std::pair<std::string, Journal>> journals_elsewhere(const std::string& named) {
  std::vector<std::pair<std::string, Journal>> found;
  for (const std::string& path : former_state_folders(named)) {
    try {
      StateFolder folder(path);
      auto journal = read_journal(folder);
      if (journal && journal->sysfs_root.empty() && folder.try_lock())
        found.emplace_back(path, std::move(*journal));
    } catch (const Error&) {  // not ours alone, or not to be understood: nothing is known of whose it is
    }
  }
  return found;
}

constexpr const char* marks_name = "machine";

std::optional<bool> is_signed_by_this_machine(const std::string& path) {
  try {
    return share_a_mark(StateFolder(path).read(marks_name).value_or(""), machine_marks(Sysfs()));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::string machine_marks(const Sysfs& machine) {
  constexpr const char* permanent = "0";  // NET_ADDR_PERM: the one that it was made with
  std::set<std::string> marks;
  for (const std::string& card : machine.list("/sys/class/net")) {
    const std::string place = "/sys/class/net/" + card;
    if (!machine.exists(place + "/device") || machine.text(place + "/addr_assign_type") != permanent)
      continue;
    if (const auto address = machine.text(place + "/address"))
      marks.insert(short_hash("dvfs-plan " + *address));
  }
  return join(std::vector(marks.begin(), marks.end()), "\n");
}

std::optional<bool> share_a_mark(const std::string& signature, const std::string& own) {
  const auto marks = split_lines(signature);
  std::optional<bool> shared;
  for (const std::string& mark : split_lines(own)) {
    if (mark.empty() || trim(signature).empty()) continue;
    shared = shared.value_or(false) || std::find(marks.begin(), marks.end(), mark) != marks.end();
  }
  return shared;
}

void sign_state_folder() {
  try {
    const std::string own = default_state_folder();
    StateFolder(own).write_whole(marks_name, machine_marks(Sysfs()));
    note_elsewhere(own);
  } catch (const Error&) {
  }
}

void note_state_folder(const std::string& path) {
  try {
    note_elsewhere(std::filesystem::absolute(path).lexically_normal());
  } catch (const std::exception&) {  // there is no folder that one is in, or the home takes nothing
  }
}

LeftElsewhere left_elsewhere(const std::string& named) {
  LeftElsewhere left;
  const Sysfs machine;
  for (const auto& [path, journal] : journals_elsewhere(named)) {
    if (path == default_state_folder() || journal.boot_id == boot_id(machine) ||
        has_name_of_this_machine(path)) {
      left.ours.push_back(path);
      continue;
    }
    const auto name = former_name_of_this_machine(path);
    if (!name) continue;
    const auto is_signed = is_signed_by_this_machine(path);
    if (is_signed == true) left.ours.push_back(path);
    if (is_signed.has_value()) continue;
    left.unknown.push_back(
        {fmt::format("{} holds the journal of {}, which was cut off on a machine of this one's "
                     "id that was called '{}' then: "
                     "if that was this one, what it set may stand",
                     path, printable(journal.experiment), printable(*name)),
         fmt::format("dvfs-plan restore --state-folder {}", shell_quote(path))});
  }
  return left;
}

}  // namespace dvfs_plan
