#include "orchestrator/guard/journal.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/applied_record.hpp"
#include "orchestrator/guard/state_lines.hpp"

namespace dvfs_plan {
namespace {

const std::string file_name = "journal", aside_name = "journal.discarded", session_name = "session";
// Of versions before the guardian was a program of its own.
const std::string former_name = "journal.json";
constexpr std::string_view first_line = "dvfs-plan journal 3";
// Of versions up to 1.2.2, without a checksum.
constexpr std::string_view first_line_2 = "dvfs-plan journal 2", last_line_2 = "end\n";

std::string_view lines_of_journal(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  if (first == first_line) return unsealed(text);
  if (first != first_line_2) throw std::runtime_error("its first line is another");
  const auto lines = without_end(text, last_line_2);
  if (!lines || !lines->ends_with('\n')) throw std::runtime_error("its end is missing");
  return *lines;
}

Journal parse(std::string_view text) {
  const auto lines = split_lines(lines_of_journal(text));
  Journal journal;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto parts = parts_of_line(lines[i]);
    const std::string& name = parts.front();
    const bool setting = name == "setting" && parts.size() == 4;
    if (!setting && parts.size() != 2) throw std::runtime_error(fmt::format("line {} is none of its", i + 1));
    if (setting)
      journal.settings.push_back({parts[1], parts[2], parts[3]});
    else if (name == "experiment")
      journal.experiment = parts[1];
    else if (name == "saved_at")
      journal.saved_at = parts[1];
    else if (name == "boot_id")
      journal.boot_id = parts[1];
    else if (name == "sysfs_root")
      journal.sysfs_root = parts[1];
    else if (name == "pid")
      journal.pid = std::atoi(parts[1].c_str());
    else if (name == "user")
      journal.user = static_cast<unsigned>(std::strtoul(parts[1].c_str(), nullptr, 10));
    else if (name == "run")
      journal.run = parts[1];
    else if (name == "started")
      journal.started = std::atoll(parts[1].c_str());
    else
      throw std::runtime_error(fmt::format("line {} is none of its", i + 1));
  }
  return journal;
}

// What it was made for is in its lines, whatever became of the rest.
std::string settings_in(const std::string& text) {
  std::string list;
  int more = 0;
  constexpr int most = 20;
  for (const std::string& line : split_lines(text)) {
    try {
      const auto parts = parts_of_line(line);
      if (parts.size() != 4 || parts.front() != "setting") continue;
      if (++more <= most) list += fmt::format("\n  {} was '{}'", printable(parts[2]), printable(parts[3]));
    } catch (const std::exception&) {  // a line that is none of its
    }
  }
  return more > most ? fmt::format("{}\n  and {} more", list, more - most) : list;
}

[[noreturn]] void refuse(const StateFolder& folder, const std::string& name, const std::string& why) {
  const std::string settings = settings_in(folder.read(name).value_or(""));
  throw Error(ExitCode::not_restored,
              fmt::format("{}/{} cannot be understood: {}{}{}", folder.path(), name, why,
                          settings.empty() ? "" : "; it says:", settings),
              settings.empty() ? "what each setting was before the last sweep is not known: look at them "
                                 "yourself, or restart the machine; then `dvfs-plan restore --discard`, "
                                 "which keeps the file under another name"
                               : "put those back by hand; then `dvfs-plan restore --discard`, which keeps "
                                 "the file under another name");
}

std::optional<SessionRecord> session_record_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::map<std::string, std::string> fields;
  // Of versions up to 1.2.2: its last line, and no checksum.
  const auto last = text->find("\nsettings\t");
  const bool former = last != std::string::npos && text->find('\n', last + 1) == text->size() - 1;
  try {
    for (const std::string& line : split_lines(former ? std::string_view(*text) : unsealed(*text))) {
      const auto parts = parts_of_line(line);
      if (parts.size() == 2) fields[parts[0]] = parts[1];
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return SessionRecord{fields["experiment"],
                       fields["since"],
                       fields["boot_id"],
                       std::atoi(fields["pid"].c_str()),
                       static_cast<unsigned>(std::strtoul(fields["user"].c_str(), nullptr, 10)),
                       fields["run"],
                       fields["region_folder"],
                       fields["control_group"],
                       std::strtoul(fields["settings"].c_str(), nullptr, 10),
                       std::atoll(fields["started"].c_str())};
}

}  // namespace

std::string boot_id(const Sysfs& sysfs) {
  return sysfs.text("/proc/sys/kernel/random/boot_id").value_or("unknown");
}

void write_journal(StateFolder& folder, const Journal& journal) {
  std::string text = fmt::format(
      "{}\nexperiment\t{}\nsaved_at\t{}\nboot_id\t{}\nsysfs_root\t{}\npid\t{}\nuser\t{}\nrun\t{}\nstarted\t{}"
      "\n",
      first_line, escaped_part(journal.experiment), escaped_part(journal.saved_at),
      escaped_part(journal.boot_id), escaped_part(journal.sysfs_root), journal.pid, journal.user,
      escaped_part(journal.run), journal.started);
  for (const SavedSetting& setting : journal.settings)
    text += fmt::format("setting\t{}\t{}\t{}\n", escaped_part(setting.knob), escaped_part(setting.path),
                        escaped_part(setting.value));
  folder.write_durably(file_name, sealed(std::move(text)));
}

std::optional<Journal> read_journal(const StateFolder& folder) {
  if (folder.read(former_name)) refuse(folder, former_name, "it is of an earlier version of dvfs-plan");
  const auto text = folder.read(file_name);
  if (!text) return std::nullopt;
  try {
    return parse(*text);
  } catch (const std::exception& fault) {
    try {
      if (const auto copy = folder.read_copy(file_name)) return parse(*copy);
    } catch (const std::exception&) {
    }
    refuse(folder, file_name, fault.what());
  }
}

void write_session_record(StateFolder& folder, const SessionRecord& record) {
  folder.write_durably(
      session_name,
      sealed(fmt::format(
          "experiment\t{}\nsince\t{}\nboot_id\t{}\npid\t{}\nuser\t{}\nrun\t{}\nregion_folder\t{}\n"
          "control_group\t{}\nsettings\t{}\nstarted\t{}\n",
          escaped_part(record.experiment), escaped_part(record.since), escaped_part(record.boot_id),
          record.pid, record.user, escaped_part(record.run), escaped_part(record.region_folder),
          escaped_part(record.control_group), record.settings, record.started)));
}

std::optional<SessionRecord> read_session_record(const StateFolder& folder) {
  const auto record = session_record_in(folder.read(session_name));
  return record ? record : session_record_in(folder.read_copy(session_name));
}

bool session_record_is_damaged(const StateFolder& folder) {
  return (folder.read(session_name) || folder.read_copy(session_name)) && !read_session_record(folder);
}

void remove_session_record(StateFolder& folder) {
  folder.remove(session_name);
}

void remove_journal(StateFolder& folder) {
  folder.remove(file_name);
  remove_applied_record(folder);
}

std::string set_journal_aside(StateFolder& folder) {
  std::string name = aside_name;
  const auto text = folder.read(file_name);
  for (int further = 2; text && folder.read(name).value_or(*text) != *text; ++further)
    name = fmt::format("{}-{}", aside_name, further);
  if (text) folder.write_durably(name, *text);
  remove_journal(folder);
  return name;
}

}  // namespace dvfs_plan
