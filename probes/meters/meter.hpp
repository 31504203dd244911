// Meters on the network that dvfs-plan speaks to itself: plugs and BMCs. Each kind declares itself in its own file; an experiment names one as
// `{name: wall, meter: shelly, at: "http://192.168.1.20"}`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/registered.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

struct MeterRequest {
  std::string name;    // of the probe
  std::string at;      // its address, as the kind takes it
  std::string outlet;  // of several at one address; empty: the first
  std::string domain = "system";
  std::string user, password;  // empty: it asks for none
  std::string authorities;     // PEM file, over TLS
  std::optional<double> averages_over_s = {};
  std::optional<Seconds> period = {};
  std::string power_query = {}, range_query = {};  // of an instrument whose commands are not known
  std::optional<double> late_by_s = {};
};

struct MeterFinding {
  std::unique_ptr<Probe> probe;
  std::string problem, fix;  // why there is none
};

struct MeterKind {
  std::string_view name;
  int place = 0;
  std::string_view what;
  // Which keys it has a use for.
  bool takes_outlet = false, takes_credentials = false, takes_authorities = false, takes_queries = false;
  MeterFinding (*open)(const MeterRequest&) = nullptr;
};

// What one look at a meter said: a power in W, or why none.
struct MeterLook {
  std::optional<double> watts = {};
  ReadingStatus status = ReadingStatus::ok;
  std::string problem = {};
  static MeterLook silent(std::string why) { return {std::nullopt, ReadingStatus::gone, std::move(why)}; }
  static MeterLook none(std::string why) { return {std::nullopt, ReadingStatus::absent, std::move(why)}; }
};

// A probe of one channel, NAME:power, that is what `look` says. `usual`: how often it tells something new.
std::unique_ptr<Probe> make_polled_meter(const MeterRequest& request, const std::string& source,
                                         Seconds usual, std::function<MeterLook()> look);

// How long one of them is waited for: less than the sampler waits for any probe.
inline constexpr Seconds meter_patience{4};

}  // namespace dvfs_plan
