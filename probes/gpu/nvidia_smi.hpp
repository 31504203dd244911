// nvidia-smi: found, run, and its CSV read by the names in its header.
// https://docs.nvidia.com/deploy/nvidia-smi/; tests/recorded/nvidia-h200 holds what a real one says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/run_program.hpp"
#include "base/sysfs.hpp"

namespace dvfs_plan {

// One CSV answer: columns by name ("power.draw"), their units ("W") apart. Columns that the driver does not
// know, moved ones and cells that hold no value ("N/A", "[Not Supported]", "[Unknown Error]") are all met.
class SmiTable {
 public:
  // Takes the header line; false if it is none.
  bool set_header(std::string_view line);
  // One data line into cells; nullopt if it is not whole (fewer or more cells than the header has).
  std::optional<std::vector<std::string>> cells(std::string_view line) const;
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  bool has_header() const { return !columns_.empty(); }
  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  // nullopt: the column is not there, or the cell says that there is no value.
  std::optional<std::string> text(std::size_t row, std::string_view column) const;
  std::optional<double> number(std::size_t row, std::string_view column) const;
  std::optional<std::size_t> index_of(std::string_view column) const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "345 MHz", "76.89 W", "0x00000004", "28" -> the number; nullopt for what says that there is none.
std::optional<double> smi_number(std::string_view cell);
// Whether a cell says that there is no value.
bool smi_absent(std::string_view cell);
SmiTable parse_smi_csv(std::string_view text);
// The field that nvidia-smi says it does not know, if that is its answer.
std::optional<std::string> smi_unknown_field(std::string_view output);

class NvidiaSmi {
 public:
  // On PATH or in /usr/bin. Below a recorded tree only the tree's own usr/bin/nvidia-smi: a test must never
  // reach the board of the machine it runs on.
  static std::optional<NvidiaSmi> find(const Sysfs& sysfs);
  static NvidiaSmi at(std::string program) { return NvidiaSmi(std::move(program)); }

  const std::string& program() const { return program_; }
  ProgramAnswer run(const std::vector<std::string>& arguments) const;
  // Whether any call since the last time this was asked did not answer in its time.
  bool take_hung() const { return std::exchange(hung_, false); }
  // --query-gpu=FIELDS of one board (UUID) or all (""). Fields that this driver does not know are left out.
  // An empty table with `problem` set if it does not answer.
  struct Query {
    SmiTable table;
    std::string problem;
  };
  Query query(std::vector<std::string> fields, const std::string& uuid = {}) const;
  // Pairs of memory and core clocks in MHz that the board supports.
  struct ClockPair {
    double memory_mhz = 0;
    double core_mhz = 0;
  };
  std::vector<ClockPair> supported_clocks(const std::string& uuid) const;

 private:
  explicit NvidiaSmi(std::string program) : program_(std::move(program)) {}
  std::string program_;
  mutable bool hung_ = false;
};

}  // namespace dvfs_plan
