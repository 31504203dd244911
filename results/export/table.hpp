// Tidy tables for other tools: one row a trial, or one row a reading, to whatever writes rows.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "results/store/store.hpp"

namespace dvfs_plan {

struct Column {
  enum class Type { text, real, integer };
  std::string name;
  Type type = Type::text;
};
// monostate: not known, which is not zero and not an empty text.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t>;

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual void head(const std::vector<Column>& columns) = 0;  // once, first
  virtual void row(const std::vector<Cell>& cells) = 0;       // one a column
  virtual void finish() {}
};

// Every trial of a workload, warm-ups too: what it was, every axis with what was applied and delivered, how
// it went, what it cost, and the last value of each metric. Columns end in their unit; clocks are in Hz.
void write_trials_table(Store& store, TableWriter& out);
// trial, channel, unit, time_ns, value, absence.
// Readings that are damaged in the file are left out; returned is what to say of them.
std::vector<std::string> write_readings_table(Store& store, TableWriter& out);

// RFC 4180 CSV; JSON Lines (https://jsonlines.org), one object a row.
std::unique_ptr<TableWriter> csv_writer(std::ostream& out);
std::unique_ptr<TableWriter> json_lines_writer(std::ostream& out);
// Apache Parquet, by hyparquet-writer (npm), which runs in node: Debian 12 has no Parquet writer. Throws
// Error if there is no node in `path` ($PATH), or it fails.
std::unique_ptr<TableWriter> parquet_writer(std::ostream& out, const std::string& path);

// A field as RFC 4180 wants it. A text that a spreadsheet would run as a formula gets a leading quote mark.
std::string csv_field(std::string_view text);

}  // namespace dvfs_plan
