// A line to an instrument that speaks SCPI (IEEE 488.2: a query and its answer are a line each): raw TCP, or the kernel's USBTMC driver.
#pragma once

#include <memory>
#include <string>

#include "base/units.hpp"

namespace dvfs_plan {

class ScpiLine {
 public:
  virtual ~ScpiLine() = default;
  struct Answer {
    std::string text;          // without the line's end
    std::string problem = {};  // why there is none; empty: there is one
  };
  // An answer that comes too late for one question is not taken for the next one's.
  virtual Answer ask(const std::string& query, Seconds patience) = 0;
};

struct FoundScpiLine {
  std::unique_ptr<ScpiLine> line;
  std::string problem, fix = {};  // why there is none
};

// "tcp://HOST[:PORT]" (5025 where none is named, IANA's scpi-raw), connected to with the first question; or "/dev/usbtmcN"
// (Documentation of drivers/usb/class/usbtmc.c, linux/usb/tmc.h).
FoundScpiLine open_scpi_line(const std::string& at);

}  // namespace dvfs_plan
