#include "orchestrator/guard/restore_outcome.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {
namespace {

// Of a processor that is offline: its settings are not there to be written. Empty: it is of none, or online.
std::string online_file_of(const std::string& path, const Sysfs& sysfs) {
  for (const std::string_view place :
       {"/sys/devices/system/cpu/cpufreq/policy", "/sys/devices/system/cpu/cpu"}) {
    if (!path.starts_with(place)) continue;
    const std::string rest = path.substr(place.size());
    const std::string number = rest.substr(0, rest.find_first_not_of("0123456789"));
    const std::string file = fmt::format("/sys/devices/system/cpu/cpu{}/online", number);
    if (!number.empty() && sysfs.text(file) == "0") return file;
  }
  return {};
}

}  // namespace

std::vector<std::string> restore_commands(const RestoreOutcome& outcome, const Sysfs& sysfs) {
  SettingAccess access(sysfs, {});
  std::vector<std::string> commands;
  std::set<std::string> online;
  for (const auto& failure : outcome.failures) {
    const std::string file = online_file_of(failure.setting.path, sysfs);
    if (!file.empty() && online.insert(file).second)
      commands.push_back(fmt::format("echo 1 | sudo tee {}", file));
  }
  for (const auto& failure : outcome.failures)
    commands.push_back(access.at(failure.setting.path).put_back_command(failure.setting.value));
  return commands;
}

std::string failure_text(const RestoreOutcome::Failure& failure) {
  return fmt::format("{}: wanted '{}', found '{}'{}", shown_setting(failure.setting.path),
                     printable(failure.setting.value), printable(failure.found),
                     failure.problem.empty() ? "" : " (" + failure.problem + ")");
}

void require_restored(const RestoreOutcome& outcome) {
  if (outcome.complete()) return;
  std::string message =
      fmt::format("{} of {} settings could not be put back:", outcome.failures.size(),
                  outcome.failures.size() +
                      static_cast<std::size_t>(outcome.restored + outcome.unchanged + outcome.left));
  for (const auto& failure : outcome.failures) message += "\n  " + failure_text(failure);
  for (const std::string& note : outcome.notes) message += "\n  note: " + note;
  std::string commands =
      "these commands put them back, then `dvfs-plan restore` clears the journal (`restore --discard` gives "
      "them up):";
  for (const std::string& command : restore_commands(outcome)) commands += "\n  " + command;
  throw Error(ExitCode::not_restored, message, commands);
}

std::string counts_text(const RestoreOutcome& outcome) {
  std::string text =
      fmt::format("{} settings put back, {} were as before", outcome.restored, outcome.unchanged);
  if (outcome.left > 0)
    text +=
        fmt::format(", {} left as somebody else has set {}", outcome.left, outcome.left == 1 ? "it" : "them");
  return text;
}

std::vector<std::string> earlier_run_lines(const std::optional<RestoreOutcome>& outcome) {
  if (!outcome) return {};
  std::vector<std::string> lines{fmt::format(
      "an earlier run had not put all back; {} of its settings were put back", outcome->restored)};
  for (const std::string& note : outcome->notes) lines.push_back("note: " + note);
  return lines;
}

std::vector<std::string> fields_of(const RestoreOutcome& outcome) {
  std::vector<std::string> fields{std::to_string(outcome.restored), std::to_string(outcome.unchanged),
                                  std::to_string(outcome.left), std::to_string(outcome.notes.size())};
  fields.insert(fields.end(), outcome.notes.begin(), outcome.notes.end());
  for (const RestoreOutcome::Failure& one : outcome.failures)
    fields.insert(fields.end(),
                  {one.setting.knob, one.setting.path, one.setting.value, one.found, one.problem});
  return fields;
}

std::optional<RestoreOutcome> outcome_of(std::span<const std::string> fields) {
  constexpr std::size_t head = 4, of_a_failure = 5;
  if (fields.size() < head) return std::nullopt;
  const auto count = [&](std::size_t i) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(fields[i].data(), fields[i].data() + fields[i].size(), value);
    return error == std::errc{} && end == fields[i].data() + fields[i].size() ? std::optional(value)
                                                                              : std::nullopt;
  };
  if (!count(0) || !count(1) || !count(2) || !count(3)) return std::nullopt;
  const std::size_t notes = *count(3);
  if (notes > fields.size() - head || (fields.size() - head - notes) % of_a_failure != 0) return std::nullopt;
  RestoreOutcome outcome;
  outcome.restored = static_cast<int>(*count(0));
  outcome.unchanged = static_cast<int>(*count(1));
  outcome.left = static_cast<int>(*count(2));
  outcome.notes.assign(fields.begin() + head, fields.begin() + static_cast<std::ptrdiff_t>(head + notes));
  for (std::size_t i = head + notes; i < fields.size(); i += of_a_failure)
    outcome.failures.push_back({{fields[i], fields[i + 1], fields[i + 2]}, fields[i + 3], fields[i + 4]});
  return outcome;
}

}  // namespace dvfs_plan
