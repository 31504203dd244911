// A machine's power by its BMC's Redfish service (DMTF DSP0266, DSP2046): of a chassis EnvironmentMetrics.PowerWatts.Reading, else
// Power.PowerControl[0].PowerConsumedWatts. With a user and a password a session is opened, and closed at the end (DSP0266, 13.3).
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/text.hpp"
#include "probes/meters/json_answer.hpp"

namespace dvfs_plan {
namespace {

using RedfishJson = nlohmann::json;

const std::string service_root = "/redfish/v1";

class Redfish {
 public:
  explicit Redfish(const HttpPlace& place, const MeterRequest& request)
      : client_(place, request.authorities), user_(request.user), password_(request.password) {}
  ~Redfish() { close_session(); }
  Redfish(const Redfish&) = delete;

  // The resource that tells a power, of this chassis or of the only one that has any; empty: none, and `look` says why. One that cannot be
  // read now may be the one that is meant: then none is taken for it.
  std::string find(const std::string& chassis, MeterLook& look) {
    client_.within(Seconds{3 * meter_patience.value()});
    if (!chassis.empty()) return find_in(chassis, look) == Found::one ? way_ : std::string{};
    const auto all = get(service_root + "/Chassis", look);
    if (!all) return {};
    if (all->contains("Members@odata.nextLink")) {
      look = MeterLook::none("more chassis than one page lists: name one in 'at'");
      return {};
    }
    std::vector<std::string> found;
    std::string way, field;
    for (const RedfishJson& member : all->value("Members", RedfishJson::array())) {
      const std::string one = link_in(member, RedfishJson::json_pointer("/@odata.id"));
      const Found what = one.empty() ? Found::none : find_in(one, look);
      if (what == Found::unknown) return {};
      if (what == Found::none) continue;
      found.push_back(one);
      way = way_;
      field = field_;
    }
    if (found.size() > 1)
      look = MeterLook::none(
          fmt::format("several chassis tell a power ({}): name one in 'at'", join(found, ", ")));
    if (found.empty()) look = MeterLook::none("no chassis tells a power");
    way_ = way;
    field_ = field;
    return found.size() == 1 ? way_ : std::string{};
  }

  MeterLook read() {
    client_.within(meter_patience);
    return read_power();
  }

 private:
  enum class Found { none, one, unknown };

  static std::string link_in(const RedfishJson& json, const RedfishJson::json_pointer& way) {
    return json.is_object() && json.contains(way) && json.at(way).is_string()
               ? json.at(way).get<std::string>()
               : std::string{};
  }

  // unknown: it could not be read, and `look` says why.
  Found find_in(const std::string& chassis, MeterLook& look) {
    const auto json = get(chassis, look);
    if (!json) return Found::unknown;
    for (const auto& [link, field] : {std::pair("/EnvironmentMetrics/@odata.id", "/PowerWatts/Reading"),
                                      std::pair("/Power/@odata.id", "/PowerControl/0/PowerConsumedWatts")}) {
      way_ = link_in(*json, RedfishJson::json_pointer(link));
      if (way_.empty()) continue;
      field_ = field;
      const auto resource = get(way_, look);
      if (!resource) return Found::unknown;
      const RedfishJson::json_pointer controls("/PowerControl");
      if (resource->contains(controls) && resource->at(controls).size() > 1) {
        look = MeterLook::none(fmt::format("{} has {} PowerControls, and which is the whole is not said",
                                           way_, resource->at(controls).size()));
        return Found::unknown;
      }
      if (number_in(*resource, field_)) return Found::one;
    }
    look = MeterLook::none(chassis + " has neither EnvironmentMetrics nor Power with a power");
    return Found::none;
  }

  MeterLook read_power() {
    MeterLook look;
    const auto json = get(way_, look);
    if (!json) return look;
    look.watts = number_in(*json, field_);
    if (!look.watts) return MeterLook::none(fmt::format("{} has no number {}", way_, field_.substr(1)));
    return look;
  }

  std::optional<RedfishJson> get(const std::string& target, MeterLook& look) {
    if (token_.empty() && !user_.empty() && !open_session(look)) return std::nullopt;
    HttpClient::Answer answer = client_.get(target, headers());
    // A session ends where nobody asks for a while.
    if (answer.status == 401 && !token_.empty()) {
      token_.clear();
      if (!open_session(look)) return std::nullopt;
      answer = client_.get(target, headers());
    }
    return json_of(answer, target, look);
  }

  std::map<std::string, std::string> headers() const {
    std::map<std::string, std::string> all{{"OData-Version", "4.0"}};
    if (!token_.empty()) all["X-Auth-Token"] = token_;
    return all;
  }

  bool open_session(MeterLook& look) {
    const std::string target = service_root + "/SessionService/Sessions";
    const RedfishJson who{{"UserName", user_}, {"Password", password_}};
    const HttpClient::Answer answer = client_.post(target, who.dump(), {{"OData-Version", "4.0"}});
    const auto token = answer.headers.find("x-auth-token");
    if ((answer.status == 200 || answer.status == 201) && token != answer.headers.end()) {
      token_ = token->second;
      const auto location = answer.headers.find("location");
      session_ = location == answer.headers.end() ? "" : location->second;
      const auto body = RedfishJson::parse(answer.body, nullptr, false);
      if (session_.empty() && !body.is_discarded())
        session_ = link_in(body, RedfishJson::json_pointer("/@odata.id"));
      // It may be a whole address.
      if (const auto at = session_.find(service_root); at != std::string::npos)
        session_ = session_.substr(at);
      return true;
    }
    if (answer.status == 0)
      look = MeterLook::silent(answer.problem);
    else
      look = MeterLook::none(
          fmt::format("{}: HTTP status {}: the user or the password is not taken", target, answer.status));
    return false;
  }

  void close_session() {
    client_.within(Seconds{1});
    if (!session_.empty()) client_.remove(session_, headers());
    session_.clear();
    token_.clear();
  }

  HttpClient client_;
  std::string user_, password_, token_, session_, way_, field_;
};

MeterFinding open_redfish(const MeterRequest& request) {
  MeterFinding finding;
  const auto place = meter_place(request, "redfish", finding);
  if (!place) return finding;
  if (!request.user.empty() && !place->tls) {
    finding.problem =
        fmt::format("meter '{}' (redfish): a password is sent over TLS alone, and '{}' is not https",
                    request.name, request.at);
    return finding;
  }
  const auto bmc = std::make_shared<Redfish>(*place, request);
  MeterLook look;
  const std::string way =
      bmc->find(place->path.starts_with(service_root + "/Chassis/") ? place->path : "", look);
  if (way.empty()) {
    finding.problem = fmt::format("meter '{}' (redfish) at {}: {}", request.name, request.at, look.problem);
    finding.fix =
        look.problem.find("certificate") != std::string::npos
            ? "name who vouches for it:  ca: FILE.pem  (the BMC's own certificate, where it signed it itself)"
            : fmt::format("look with: curl {}/redfish/v1/Chassis",
                          request.at.substr(0, request.at.find("/redfish")));
    return finding;
  }
  const std::string source = fmt::format("https://{}:{}{}", place->host, place->port, way);
  finding.probe = make_polled_meter(request, source, Seconds{1}, [bmc] { return bmc->read(); });
  return finding;
}

const Registered<MeterKind> redfish({.name = "redfish",
                                     .place = 30,
                                     .what = "the machine's BMC by Redfish over HTTPS",
                                     .takes_credentials = true,
                                     .takes_authorities = true,
                                     .open = open_redfish});

}  // namespace
}  // namespace dvfs_plan
