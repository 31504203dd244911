// A board management controller (BMC), asked through the kernel's IPMI driver: /dev/ipmiN, Documentation/driver-api/ipmi.rst.
// Requests are queued by the driver; an answer may take seconds where the BMC is busy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/sysfs.hpp"
#include "base/units.hpp"

namespace dvfs_plan {

class BmcDoor {
 public:
  virtual ~BmcDoor() = default;
  struct Answer {
    std::vector<std::uint8_t> data;  // completion code first (IPMI 2.0, table 5-2)
    std::string problem = {};        // set where there is none
  };
  // Waits no longer than `patience`. What an earlier request is answered late is thrown away.
  virtual Answer ask(std::uint8_t net_function, std::uint8_t command, std::span<const std::uint8_t> data,
                     Seconds patience) = 0;
};

// The machine's own BMC. It may be asked to switch the machine off too: root's own runs open it, and the guardian hands it to nobody,
// whoever came by sudo included, whose processes are his.
struct FoundBmc {
  std::unique_ptr<BmcDoor> door;
  std::string path;     // "/dev/ipmi0"
  std::string problem;  // why there is none, and what would help
  std::string fix;
};
FoundBmc open_bmc(const Sysfs& sysfs);

}  // namespace dvfs_plan
