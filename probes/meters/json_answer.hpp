// What a meter or BMC answers in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "probes/meters/http_client.hpp"
#include "probes/meters/meter.hpp"

namespace dvfs_plan {

// nullopt with `look`, which says why: nobody answered, it refused, or it is no JSON.
std::optional<nlohmann::json> json_of(const HttpClient::Answer& answer, const std::string& target,
                                      MeterLook& look);

// A number by its way through the objects ("/StatusSNS/ENERGY/Power"); nullopt: there is none.
std::optional<double> number_in(const nlohmann::json& json, const std::string& pointer);

// The parsed address, or why it is none.
std::optional<HttpPlace> meter_place(const MeterRequest& request, std::string_view kind,
                                     MeterFinding& finding);

}  // namespace dvfs_plan
