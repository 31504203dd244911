// Forms that name this machine's own files: a shell script, a unit of systemd, a profile of TuneD.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "orchestrator/commands/setting_form.hpp"

namespace dvfs_plan {
namespace {

std::string as_script(const FormRequest& request) {
  std::string text =
      "#!/bin/sh\n" + as_comment(request.comment) + as_comment(of_the_command(request)) +
      "# As root: sh THIS sets it; sh THIS back puts back what stood here when this was written.\n"
      "if [ \"${1:-set}\" = set ]; then\n    set -e\n";
  for (const AxisRequest& one : request.requests)
    text += "    " + command_as_root(request, one.request.path, one.request.text) + '\n';
  // One that cannot be put back keeps no other from it.
  text += "elif [ \"$1\" = back ]; then\n    failed=\n";
  for (const SavedSetting& one : request.now) text += "    " + back_as_root(request, one) + " || failed=1\n";
  return text + "    [ -z \"$failed\" ]\nelse\n    echo \"$0: set or back\" >&2; exit 2\nfi\n";
}

// A word of a command line in a unit (systemd.service(5), "Command lines"; systemd.unit(5), "Specifiers").
std::string unit_word(const std::string& word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '$' || c == '%') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

std::string as_unit(const FormRequest& request) {
  std::string text = as_comment(request.comment) + as_comment(of_the_command(request)) +
                     "# As /etc/systemd/system/NAME.service: `systemctl enable --now NAME` sets it, also at "
                     "each start of the\n"
                     "# machine; `systemctl stop NAME` puts back what stood here when this was written.\n"
                     "[Unit]\n";
  // A % is a specifier there, and a backslash before the line's end goes on with the next one (systemd.syntax(7)).
  std::string called = printable(settings_text(request.found.answer().point));
  for (std::size_t at = 0; (at = called.find_first_of("%\\", at)) != std::string::npos; at += 2)
    called[at] == '%' ? called.insert(at, "%") : called.replace(at, 1, "\\\\");
  text += fmt::format("Description=Setting found by dvfs-plan: {}\n", called);
  text +=
      "After=sysinit.target nvidia-persistenced.service\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\n";
  for (const AxisRequest& one : request.requests)
    text += "ExecStart=/bin/sh -c " +
            unit_word(command_as_root(request, one.request.path, one.request.text)) + '\n';
  for (const SavedSetting& one : request.now)
    text += "ExecStop=-/bin/sh -c " + unit_word(back_as_root(request, one)) + '\n';
  return text + "\n[Install]\nWantedBy=multi-user.target\n";
}

// https://github.com/redhat-performance/tuned, plug-in sysfs: it puts back what it changed when the profile is left.
std::string as_tuned(const FormRequest& request) {
  std::string text =
      as_comment(request.comment) + as_comment(of_the_command(request)) +
      "# As /etc/tuned/NAME/tuned.conf (TuneD 2.23 and newer: /etc/tuned/profiles/NAME/tuned.conf):\n"
      "# `tuned-adm profile NAME`.\n[main]\n";
  text += fmt::format("summary=Setting found by dvfs-plan: {}\n\n[sysfs]\n",
                      printable(settings_text(request.found.answer().point)));
  for (const AxisRequest& one : request.requests) {
    if (!one.request.path.starts_with("/sys/")) refuse_axis("tuned", request.found, one.axis);
    text += fmt::format("{}={}\n", one.request.path, one.request.text);
  }
  return text;
}

const Registered<SettingForm> script({.name = "sysfs",
                                      .place = 10,
                                      .what = "a shell script that writes the kernel's files",
                                      .write = as_script});
const Registered<SettingForm> unit(
    {.name = "systemd", .place = 50, .what = "a service that sets it at each start", .write = as_unit});
const Registered<SettingForm> profile(
    {.name = "tuned", .place = 60, .what = "a profile of TuneD", .write = as_tuned});

}  // namespace
}  // namespace dvfs_plan
