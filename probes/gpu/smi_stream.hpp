// One long-lived `nvidia-smi --query-gpu=... -lms` for all boards, where NVML cannot be loaded: 17 ms a
// one-shot call against next to nothing a line. Read by the names in its header, line by line as they come.
//
// It may fall silent, die, or be replaced by another driver's: it is then started again, and what was not
// read meanwhile is absent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/gpu/nvidia_smi.hpp"
#include "probes/probe_table.hpp"

namespace dvfs_plan {

// From the stream's text to samples; pure, so that any text can be tried on it.
class SmiStreamReader {
 public:
  // A channel for each board and column that may be there. `columns`: those of the header, or of a query.
  SmiStreamReader(const std::vector<GpuBoard>& boards, const std::vector<std::string>& columns);

  const std::vector<Channel>& channels() const { return channels_; }
  // Takes what arrived; whole lines become samples (the newest wins).
  void parse(std::string_view text, std::span<Sample> samples);
  int lines() const { return lines_; }          // data lines understood so far
  int malformed() const { return malformed_; }  // lines that were neither header nor data
  pid_t program() const { return program_; }    // the nvidia-smi that runs now, as the supervisor told
  int ends() const { return ends_; }            // how often it ended

  // The fields to ask for.
  static std::vector<std::string> fields();

 private:
  void line(std::string_view text, std::span<Sample> samples);

  struct Place {
    std::string uuid, column;
    double scale;
  };
  std::vector<Channel> channels_;
  std::vector<Place> places_;  // one a channel
  SmiTable table_;             // for its header; it holds no rows
  std::string partial_;
  int lines_ = 0, malformed_ = 0, ends_ = 0;
  pid_t program_ = 0;
};

// Starts it; `problem` if it cannot be, or if nvidia-smi tells of no power.
ProbeFinding start_smi_stream(const NvidiaSmi& smi, const ProbeRequest& request);

}  // namespace dvfs_plan
