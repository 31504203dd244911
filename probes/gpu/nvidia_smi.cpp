#include "probes/gpu/nvidia_smi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// One call takes 17 ms on an H200; a board in trouble makes it hang for minutes.
constexpr Seconds deadline{30};

std::vector<std::string> split_cells(std::string_view line) {
  std::vector<std::string> cells;
  for (;;) {
    const auto comma = line.find(',');
    cells.emplace_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// "power.draw [W]" -> "power.draw".
std::string without_unit(const std::string& name) {
  const auto bracket = name.find(" [");
  return bracket == std::string::npos ? name : name.substr(0, bracket);
}

}  // namespace

bool smi_absent(std::string_view cell) {
  cell = trim(cell);
  // Every word in brackets is an excuse: [N/A], [Not Supported], [Unknown Error], [GPU is lost],
  // [Insufficient Permissions].
  return cell.empty() || cell.front() == '[' || cell == "N/A" ||
         cell == "Requested functionality has been deprecated";
}

std::optional<double> smi_number(std::string_view cell) {
  if (smi_absent(cell)) return std::nullopt;
  cell = trim(cell);
  if (cell.starts_with("0x")) {
    char* end = nullptr;
    const std::string text(cell);
    const auto bits = std::strtoull(text.c_str(), &end, 16);
    if (*end != '\0') return std::nullopt;
    return static_cast<double>(bits);
  }
  return parse_number(cell.substr(0, cell.find(' ')));
}

bool SmiTable::set_header(std::string_view line) {
  std::vector<std::string> columns;
  for (const std::string& name : split_cells(line)) columns.push_back(without_unit(name));
  // A header consists of field names; an error in a sentence does not.
  const bool header = std::all_of(columns.begin(), columns.end(), [](const std::string& name) {
    return !name.empty() && name.find(' ') == std::string::npos && name.find('"') == std::string::npos;
  });
  if (!header) return false;
  columns_ = std::move(columns);
  return true;
}

std::optional<std::vector<std::string>> SmiTable::cells(std::string_view line) const {
  auto cells = split_cells(line);
  if (cells.size() != columns_.size()) return std::nullopt;
  return cells;
}

std::optional<std::size_t> SmiTable::index_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::optional<std::string> SmiTable::text(std::size_t row, std::string_view column) const {
  const auto at = index_of(column);
  if (!at || row >= rows_.size() || smi_absent(rows_[row][*at])) return std::nullopt;
  return rows_[row][*at];
}

std::optional<double> SmiTable::number(std::size_t row, std::string_view column) const {
  const auto cell = text(row, column);
  return cell ? smi_number(*cell) : std::nullopt;
}

SmiTable parse_smi_csv(std::string_view text) {
  SmiTable table;
  for (const std::string& line : split_lines(text)) {
    if (trim(line).empty()) continue;
    if (!table.has_header()) {
      if (!table.set_header(line)) return table;
    } else if (auto cells = table.cells(line)) {
      table.add(std::move(*cells));
    }
  }
  return table;
}

std::optional<std::string> smi_unknown_field(std::string_view output) {
  constexpr std::string_view before = "Field \"", after = "\" is not a valid field to query";
  const auto from = output.find(before);
  if (from == std::string_view::npos) return std::nullopt;
  output.remove_prefix(from + before.size());
  const auto to = output.find(after);
  if (to == std::string_view::npos) return std::nullopt;
  return std::string(output.substr(0, to));
}

ProgramAnswer NvidiaSmi::run(const std::vector<std::string>& arguments) const {
  ProgramAnswer answer = run_program(program_, arguments, deadline);
  hung_ = hung_ || answer.timed_out;
  return answer;
}

NvidiaSmi::Query NvidiaSmi::query(std::vector<std::string> fields, const std::string& uuid) const {
  Query query;
  while (!fields.empty()) {
    std::vector<std::string> arguments;
    if (!uuid.empty()) arguments = {"-i", uuid};
    arguments.push_back("--query-gpu=" + join(fields, ","));
    arguments.push_back("--format=csv");
    const ProgramAnswer answer = run(arguments);
    if (!answer.ran()) {
      query.problem = answer.problem;
      return query;
    }
    if (const auto unknown = smi_unknown_field(answer.output); answer.exit_code != 0 && unknown) {
      if (std::erase(fields, *unknown) > 0) continue;
    }
    query.table = parse_smi_csv(answer.output);
    if (answer.exit_code != 0 || query.table.size() == 0) {
      query.problem = fmt::format("nvidia-smi (exit code {}): {}", answer.exit_code,
                                  printable(trim(answer.output.substr(0, 400))));
    }
    return query;
  }
  query.problem = "nvidia-smi knows none of the fields asked for";
  return query;
}

std::vector<NvidiaSmi::ClockPair> NvidiaSmi::supported_clocks(const std::string& uuid) const {
  const ProgramAnswer answer = run({"-i", uuid, "--query-supported-clocks=memory,graphics", "--format=csv"});
  std::vector<ClockPair> pairs;
  if (!answer.ran() || answer.exit_code != 0) return pairs;
  const SmiTable table = parse_smi_csv(answer.output);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto memory = table.number(row, "memory"), core = table.number(row, "graphics");
    if (memory && core) pairs.push_back({*memory, *core});
  }
  return pairs;
}

}  // namespace dvfs_plan
