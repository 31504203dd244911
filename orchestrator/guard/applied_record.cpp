#include "orchestrator/guard/applied_record.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/guard/state_lines.hpp"

namespace dvfs_plan {
namespace {

const std::string applied_name = "applied";
constexpr std::string_view applied_begins = "dvfs-plan applied 2";
// Of versions up to 1.2.2, without a checksum.
constexpr std::string_view applied_1_begins = "dvfs-plan applied 1\n", applied_1_ends = "\nend\n";

std::string text_of(const AppliedRecord& record) {
  std::string text = fmt::format("{}\nrun\t{}\n", applied_begins, escaped_part(record.run));
  for (const auto& [name, all] :
       {std::pair{"applied", &record.applied}, {"overwritten", &record.overwritten}}) {
    for (const auto& [path, values] : *all) {
      text += std::string(name) + "\t" + escaped_part(path);
      for (const std::string& value : values) text += "\t" + escaped_part(value);
      text += "\n";
    }
  }
  for (const std::string& path : record.unsettled) text += "unsettled\t" + escaped_part(path) + "\n";
  for (const std::string& path : record.unshown) text += "unshown\t" + escaped_part(path) + "\n";
  if (record.tried) text += "tried\tyes\n";
  return sealed(std::move(text));
}

std::optional<AppliedRecord> record_in(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  AppliedRecord record;
  try {
    const bool former = text->starts_with(applied_1_begins);
    const auto of_former = former ? without_end(*text, applied_1_ends) : std::nullopt;
    if (former && !of_former) return std::nullopt;
    const auto lines = split_lines(former ? *of_former : unsealed(*text));
    if (!former && lines.front() != applied_begins) return std::nullopt;
    for (std::size_t i = 1; i < lines.size(); ++i) {
      const auto parts = parts_of_line(lines[i]);
      if (parts.size() < 2) return std::nullopt;
      if (parts.front() == "run")
        record.run = parts[1];
      else if (parts.front() == "applied")
        record.applied[parts[1]].insert(parts.begin() + 2, parts.end());
      else if (parts.front() == "overwritten")
        record.overwritten[parts[1]].insert(parts.begin() + 2, parts.end());
      else if (parts.front() == "unsettled")
        record.unsettled.insert(parts[1]);
      else if (parts.front() == "unshown")
        record.unshown.insert(parts[1]);
      else if (parts.front() == "tried")
        record.tried = true;
      else
        return std::nullopt;
    }
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return record;
}

}  // namespace

void write_applied_record(StateFolder& folder, const AppliedRecord& record) {
  folder.write_whole(applied_name, text_of(record));
}

std::optional<AppliedRecord> read_applied_record(const StateFolder& folder, const std::string& run) {
  std::optional<AppliedRecord> record;
  try {
    record = record_in(folder.read(applied_name));
  } catch (const Error&) {  // something else lies in its place
  }
  if (!record) record = record_in(folder.read_copy(applied_name));
  return record && record->run == run ? record : std::nullopt;
}

void remove_applied_record(StateFolder& folder) {
  folder.remove(applied_name);
}

}  // namespace dvfs_plan
