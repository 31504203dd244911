// The whole machine's power as its BMC measures it: DCMI (Data Center Manageability Interface) 1.5, section 6.6, Get Power Reading.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "probes/ipmi_device.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

struct DcmiPower {
  double now_w = 0;
  bool active = false;  // whether power is measured at all
};
// An answer, from its completion code on; nullopt with `problem`: it is none.
std::optional<DcmiPower> dcmi_power(std::span<const std::uint8_t> answer, std::string& problem);

// The times over which it offers means (Get DCMI Capabilities Info, parameter 5): 5 s, 30 s, 60 s. None: it offers none.
std::vector<Seconds> dcmi_averages(std::span<const std::uint8_t> answer);

// nullptr with `problem` where it does not measure power.
std::unique_ptr<Probe> make_ipmi_probe(std::unique_ptr<BmcDoor> door, const std::string& path,
                                       std::string& problem);

}  // namespace dvfs_plan
