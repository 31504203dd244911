// Shelly plugs and power meters. Gen2 and later: RPC over HTTP, Switch.GetStatus or PM1.GetStatus, `apower` in W
// (shelly-api-docs.shelly.cloud/gen2). Gen1: /meter/N, `power` in W while `is_valid` (.../gen1). /shelly says which it is.
#include <fmt/format.h>

#include <memory>

#include "probes/meters/json_answer.hpp"

namespace dvfs_plan {
namespace {

class Shelly {
 public:
  Shelly(HttpPlace place, std::string outlet) : client_(std::move(place), ""), outlet_(std::move(outlet)) {}

  // Which of its ways answers; empty: none, and `look` says why.
  std::string find(MeterLook& look) {
    client_.within(meter_patience);
    const auto about = json_of(client_.get("/shelly"), "/shelly", look);
    if (!about) return {};
    if (!about->contains("gen")) {
      way_ = "/meter/" + outlet_;
      field_ = "/power";
    } else {
      for (const char* component : {"Switch", "PM1"}) {
        way_ = fmt::format("/rpc/{}.GetStatus?id={}", component, outlet_);
        field_ = "/apower";
        if (json_of(client_.get(way_), way_, look)) break;
      }
    }
    look = read_status();
    return look.watts ? way_ : std::string{};
  }

  MeterLook read() {
    client_.within(meter_patience);
    return read_status();
  }

 private:
  MeterLook read_status() {
    MeterLook look;
    const auto status = json_of(client_.get(way_), way_, look);
    if (!status) return look;
    if (status->contains("is_valid") && status->at("is_valid") != true)
      return MeterLook::none(way_ + ": is_valid is false");
    look.watts = number_in(*status, field_);
    if (!look.watts) return MeterLook::none(fmt::format("{} has no number '{}'", way_, field_.substr(1)));
    return look;
  }

  HttpClient client_;
  std::string outlet_, way_, field_;
};

MeterFinding open_shelly(const MeterRequest& request) {
  MeterFinding finding;
  const auto place = meter_place(request, "shelly", finding);
  if (!place) return finding;
  const auto plug = std::make_shared<Shelly>(*place, request.outlet.empty() ? "0" : request.outlet);
  MeterLook look;
  const std::string way = plug->find(look);
  if (way.empty()) {
    finding.problem = fmt::format("meter '{}' (shelly) at {}: {}", request.name, request.at, look.problem);
    finding.fix = look.problem.find("password") != std::string::npos
                      ? std::string(
                            "switch its authentication off, or read it by a program of yours "
                            "(docs/experiment.md, probes)")
                      : fmt::format("look with: curl {}/shelly", request.at);
    return finding;
  }
  finding.probe = make_polled_meter(request, request.at + way, Seconds{0.5}, [plug] { return plug->read(); });
  return finding;
}

const Registered<MeterKind> shelly({.name = "shelly",
                                    .place = 10,
                                    .what = "a Shelly plug or power meter, by its local HTTP interface",
                                    .takes_outlet = true,
                                    .open = open_shelly});

}  // namespace
}  // namespace dvfs_plan
