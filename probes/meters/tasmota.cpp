// Plugs with Tasmota: Status 8 (or 10) says StatusSNS.ENERGY.Power in W, a list where there are several outlets
// (tasmota.github.io/docs/Commands, "Status").
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "probes/meters/json_answer.hpp"

namespace dvfs_plan {
namespace {

std::string percent_encoded(const std::string& text) {
  std::string result;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    result += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return result;
}

class Tasmota {
 public:
  Tasmota(const HttpPlace& place, const MeterRequest& request) : client_(place, "") {
    if (!request.user.empty())
      target_ += fmt::format("user={}&password={}&", percent_encoded(request.user),
                             percent_encoded(request.password));
    target_ += "cmnd=Status%208";
    field_ = "/StatusSNS/ENERGY/Power";
    if (!request.outlet.empty()) field_ += "/" + request.outlet;
  }

  MeterLook read() {
    client_.within(meter_patience);
    MeterLook look;
    // The address without the password, which is in no message.
    const auto status = json_of(client_.get(target_), "/cm?cmnd=Status 8", look);
    if (!status) return look;
    look.watts = number_in(*status, field_);
    if (!look.watts && field_.ends_with("Power")) look.watts = number_in(*status, field_ + "/0");
    if (!look.watts)
      return MeterLook::none(status->contains("WARNING")
                                 ? "it asks for a user and a password"
                                 : fmt::format("Status 8 has no number {}", field_.substr(1)));
    return look;
  }

 private:
  HttpClient client_;
  std::string target_ = "/cm?", field_;
};

MeterFinding open_tasmota(const MeterRequest& request) {
  MeterFinding finding;
  const auto place = meter_place(request, "tasmota", finding);
  if (!place) return finding;
  const auto plug = std::make_shared<Tasmota>(*place, request);
  const MeterLook look = plug->read();
  if (!look.watts) {
    finding.problem = fmt::format("meter '{}' (tasmota) at {}: {}", request.name, request.at, look.problem);
    finding.fix = fmt::format("look with: curl '{}/cm?cmnd=Status%208'", request.at);
    return finding;
  }
  finding.probe =
      make_polled_meter(request, request.at + " Status 8", Seconds{0.5}, [plug] { return plug->read(); });
  return finding;
}

const Registered<MeterKind> tasmota({.name = "tasmota",
                                     .place = 20,
                                     .what = "a plug with Tasmota, by its local HTTP interface",
                                     .takes_outlet = true,
                                     .takes_credentials = true,
                                     .open = open_tasmota});

}  // namespace
}  // namespace dvfs_plan
