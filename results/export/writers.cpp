#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/units.hpp"
#include "results/export/table.hpp"

namespace dvfs_plan {
namespace {

std::string csv_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return csv_field(*text);
  if (const auto* real = std::get_if<double>(&cell)) return fmt::format("{}", *real);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *integer);
  return {};
}

class CsvWriter : public TableWriter {
 public:
  explicit CsvWriter(std::ostream& out) : out_(out) {}
  void head(const std::vector<Column>& columns) override {
    for (std::size_t i = 0; i < columns.size(); ++i)
      out_ << (i == 0 ? "" : ",") << csv_field(columns[i].name);
    out_ << "\r\n";
  }
  void row(const std::vector<Cell>& cells) override {
    for (std::size_t i = 0; i < cells.size(); ++i) out_ << (i == 0 ? "" : ",") << csv_cell(cells[i]);
    out_ << "\r\n";
  }

 private:
  std::ostream& out_;
};

class JsonLinesWriter : public TableWriter {
 public:
  explicit JsonLinesWriter(std::ostream& out) : out_(out) {}
  void head(const std::vector<Column>& columns) override { columns_ = columns; }
  void row(const std::vector<Cell>& cells) override {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      nlohmann::ordered_json& value = object[columns_[i].name];
      if (const auto* text = std::get_if<std::string>(&cells[i])) value = *text;
      if (const auto* real = std::get_if<double>(&cells[i]); real != nullptr && std::isfinite(*real))
        value = *real;
      if (const auto* integer = std::get_if<std::int64_t>(&cells[i])) value = *integer;
    }
    out_ << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  }

 private:
  std::ostream& out_;
  std::vector<Column> columns_;
};

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field(text);
  const bool formula = !field.empty() &&
                       std::string_view("=+-@\t\r").find(field[0]) != std::string_view::npos &&
                       !parse_number(field);
  if (formula) field.insert(field.begin(), '\'');
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::unique_ptr<TableWriter> csv_writer(std::ostream& out) {
  return std::make_unique<CsvWriter>(out);
}
std::unique_ptr<TableWriter> json_lines_writer(std::ostream& out) {
  return std::make_unique<JsonLinesWriter>(out);
}

}  // namespace dvfs_plan
