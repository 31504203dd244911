#include "probes/meters/json_answer.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace dvfs_plan {

std::optional<nlohmann::json> json_of(const HttpClient::Answer& answer, const std::string& target,
                                      MeterLook& look) {
  if (answer.status == 0) {
    look = MeterLook::silent(answer.problem);
    return std::nullopt;
  }
  if (answer.status != 200 && answer.status != 201) {
    look = MeterLook::none(
        fmt::format("{}: HTTP status {}{}", target, answer.status,
                    answer.status == 401 || answer.status == 403 ? ", it asks for a password" : ""));
    return std::nullopt;
  }
  auto json = nlohmann::json::parse(answer.body, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    look = MeterLook::none(
        fmt::format("{}: no JSON object, but '{}'", target, printable(answer.body.substr(0, 60))));
    return std::nullopt;
  }
  return json;
}

std::optional<double> number_in(const nlohmann::json& json, const std::string& pointer) {
  const nlohmann::json::json_pointer way(pointer);
  if (!json.contains(way) || !json.at(way).is_number()) return std::nullopt;
  return json.at(way).get<double>();
}

std::optional<HttpPlace> meter_place(const MeterRequest& request, std::string_view kind,
                                     MeterFinding& finding) {
  HttpPlace place;
  if (parse_http_place(request.at, place)) return place;
  finding.problem =
      fmt::format("meter '{}' ({}): 'at' is where it answers, such as http://192.168.1.20; found '{}'",
                  request.name, kind, printable(request.at));
  return std::nullopt;
}

}  // namespace dvfs_plan
