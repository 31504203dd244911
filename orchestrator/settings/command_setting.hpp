// Settings that programs of the user's set and read ('set' of an experiment): a site's own tools, geopmwrite, nvpmodel.
//
// The path holds all that is needed to put one back, so that a journal does too, as words quoted for a shell:
//
//   command:NAME SET... ;; READ... ;; RESTORE... ;; FOLDER umask=022 HOME=...        {value} stands where the value goes; RESTORE may be empty
//
// The programs are run without a shell, in FOLDER, with an environment of PATH, the run's HOME, USER and XDG_RUNTIME_DIR, LC_ALL=C and the
// run's mark, and with its umask, whoever runs them (the run, its guardian, `dvfs-plan restore` of root in another terminal), and are given
// 60 s. They are run with the rights of the run and no others: never by a guardian that has more (guardian/SECURITY.md).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/settings/setting.hpp"

namespace dvfs_plan {

inline constexpr std::string_view command_prefix = "command:";
inline constexpr std::size_t longest_command_setting = 4096;  // of a path, with all its words

struct SetterPrograms {
  std::string name;
  std::vector<std::string> set, read, restore;  // argv; the first word a path
  std::string folder;
  // "umask=022", "HOME=/home/ada": the run's. Empty (a path of an earlier version): whoever runs them has his own.
  std::vector<std::string> surroundings = {};
  bool operator==(const SetterPrograms&) const = default;
};

std::string command_setting(const SetterPrograms& programs);  // its path
// This process's own, for SetterPrograms.
std::vector<std::string> surroundings_of_setters();
// nullopt: the path is none of these.
std::optional<SetterPrograms> setter_programs_of(const std::string& path);
inline bool is_command_setting(std::string_view path) {
  return path.starts_with(command_prefix);
}

// What people are told of any setting: "set.cap" of such a one, its path of all others (of a file that one may take along, the file's).
std::string shown_setting(const std::string& path);

// The same text, or the same quantity in other digits or another unit: 120 was asked for and "120.000" is read, 1.5 GHz and
// "1500 MHz".
bool reads_as_asked(const std::string& asked, const std::string& read);

// In this process one that hangs is ended 1 s after this says that the run was asked to stop. A guardian, whose programs put back,
// never says so.
void end_programs_that_hang_when(bool (*asked)());

// nullptr: the path is none of these.
std::unique_ptr<Setting> command_setting_at(const std::string& path);

}  // namespace dvfs_plan
