// What every channel of a board has in common, whoever reads it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/reading.hpp"
#include "probes/gpu/gpu_boards.hpp"

namespace dvfs_plan {

// "nvidia:gpu-0/core_clock": a gauge of the board's own domain, which the machine as a whole holds. Of a GH200 NVML counts what the whole
// module draws, Grace too: what it says is never added to Grace's (found with the board's counter beside the module's meter,
// github.com/ml-energy/zeus issue 172).
inline Channel board_channel(const std::string& probe, const GpuBoard& board, const std::string& quantity,
                             const char* unit) {
  Channel channel;
  channel.name = fmt::format("{}:{}/{}", probe, board.domain, quantity);
  channel.probe = probe;
  channel.unit = unit;
  channel.domain = board.domain;
  channel.within = board.name.find("GH200") != std::string::npos
                       ? "module-" + board.domain.substr(board.domain.find('-') + 1)
                       : "system";
  return channel;
}

}  // namespace dvfs_plan
