// Forms in which a setting can be written down for people who have their own way of applying it. Each declares itself in
// a file of its own (base/registered.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/registered.hpp"
#include "base/sysfs.hpp"
#include "orchestrator/commands/found_setting.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {

struct FormRequest {
  const FoundSetting& found;
  // What it is, where it comes from and what speaks against it: lines without a comment's sign.
  std::vector<std::string> comment;
  // What is to be written where, by axis, in this order; where the form is for this machine.
  std::vector<AxisRequest> requests = {};
  // What stands there now, in the order in which it is put back.
  std::vector<SavedSetting> now = {};
  SettingAccess* access = nullptr;
  const Sysfs* sysfs = nullptr;
};

struct SettingForm {
  std::string_view name;
  int place = 0;
  std::string_view what;        // for --help
  bool of_this_machine = true;  // it names this machine's files and boards; else the result alone is enough
  std::string (*write)(const FormRequest& request) = nullptr;
};

// "# " before each line; long ones in several.
std::string as_comment(const std::vector<std::string>& lines, std::string_view sign = "# ");

// The form has no way to set this axis. `form`: as --as calls it.
[[noreturn]] void refuse_axis(std::string_view form, const FoundSetting& found, const std::string& axis);

// Parameters of the workload and the CPUs it gets: nothing of the machine's, and said in the comment.
std::vector<std::string> of_the_command(const FormRequest& request);

// The shell command that puts the text there, as root gives it: without sudo. And the one that puts back what stands there now.
std::string command_as_root(const FormRequest& request, const std::string& path, const std::string& text);
std::string back_as_root(const FormRequest& request, const SavedSetting& now);

}  // namespace dvfs_plan
