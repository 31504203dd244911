// What every channel of a board has in common, whoever reads it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/reading.hpp"
#include "probes/gpu/gpu_boards.hpp"

namespace dvfs_plan {

// "nvidia:gpu-0/core_clock": a gauge of the board's own domain, which the machine as a whole holds.
inline Channel board_channel(const std::string& probe, const GpuBoard& board, const std::string& quantity,
                             const char* unit) {
  Channel channel;
  channel.name = fmt::format("{}:{}/{}", probe, board.domain, quantity);
  channel.probe = probe;
  channel.unit = unit;
  channel.domain = board.domain;
  channel.within = "system";
  return channel;
}

}  // namespace dvfs_plan
