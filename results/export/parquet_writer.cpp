// Rows go to a file as JSON, which node then turns into Parquet: the writer is JavaScript.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/child.hpp"
#include "base/error.hpp"
#include "base/run_program.hpp"
#include "base/text.hpp"
#include "base/work_folder.hpp"
#include "results/export/parquet_script.hpp"
#include "results/export/table.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t rows_of_a_group = 50'000;
constexpr Seconds deadline{3600};

const char* type_name(Column::Type type) {
  return type == Column::Type::text ? "STRING" : type == Column::Type::real ? "DOUBLE" : "INT64";
}

nlohmann::json cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* real = std::get_if<double>(&cell))
    return std::isfinite(*real) ? nlohmann::json(*real) : nlohmann::json(nullptr);
  // As text: JavaScript's numbers hold no more than 53 bits, and nanoseconds since boot may pass them.
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return std::to_string(*integer);
  return nullptr;
}

std::string find_node(const std::string& path) {
  const std::string node = find_executable("node", "/", path);
  if (!node.empty()) return node;
  throw Error(
      ExitCode::machine_refuses,
      "Parquet is written by hyparquet-writer, which needs node, and there is none in $PATH",
      "apt-get install nodejs, or export CSV or JSON Lines (--format jsonl), which any tool reads too");
}

class ParquetWriter : public TableWriter {
 public:
  ParquetWriter(std::ostream& out, std::string node) : out_(out), node_(std::move(node)) {
    rows_.open(in_rows_, std::ios::binary);
  }
  void head(const std::vector<Column>& columns) override {
    nlohmann::json head = nlohmann::json::array();
    for (const Column& column : columns)
      head.push_back({{"name", column.name}, {"type", type_name(column.type)}});
    rows_ << head.dump() << "\n";
  }
  void row(const std::vector<Cell>& cells) override {
    nlohmann::json row = nlohmann::json::array();
    for (const Cell& cell : cells) row.push_back(cell_json(cell));
    rows_ << (in_group_ == 0 ? "[" : ",")
          << row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    if (++in_group_ == rows_of_a_group) end_group();
  }
  void finish() override {
    if (in_group_ > 0) end_group();
    rows_.close();
    std::ofstream(script_, std::ios::binary) << parquet_script;
    if (!rows_)
      throw Error(ExitCode::machine_refuses,
                  fmt::format("the rows could not be written to {}", work_.path().string()),
                  "is the disk full?");
    const ProgramAnswer answer =
        run_program(node_, {script_.string(), table_.string(), in_rows_.string()}, deadline);
    if (answer.ran() && answer.exit_code == 0) {
      out_ << std::ifstream(table_, std::ios::binary).rdbuf();
      return;
    }
    throw Error(ExitCode::machine_refuses,
                fmt::format("node could not write the table: {}",
                            answer.ran() ? std::string(trim(answer.output)) : answer.problem),
                "is there room in $TMPDIR, and is node 18 or newer (node --version)?");
  }

 private:
  void end_group() {
    rows_ << "]\n";
    in_group_ = 0;
  }
  std::ostream& out_;
  std::string node_;
  WorkFolder work_;
  const std::filesystem::path script_ = work_.file("write_parquet.mjs"), table_ = work_.file("table"),
                              in_rows_ = work_.file("rows");
  std::ofstream rows_;
  std::size_t in_group_ = 0;
};

}  // namespace

std::unique_ptr<TableWriter> parquet_writer(std::ostream& out, const std::string& path) {
  return std::make_unique<ParquetWriter>(out, find_node(path));
}

}  // namespace dvfs_plan
