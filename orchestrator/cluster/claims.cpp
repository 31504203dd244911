#include "orchestrator/cluster/claims.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dvfs_plan {
namespace {

std::string name_of(int number) {
  return fmt::format("{:06}{}", number, claim_ending);
}

}  // namespace

const std::vector<Claim>& ClaimLog::read() {
  // One after the other, by name: a listing of a network folder may be some seconds old.
  for (std::string bytes = folder_.read(name_of(next_)); !bytes.empty();
       bytes = folder_.read(name_of(++next_))) {
    const auto json = nlohmann::json::parse(bytes, nullptr, false);
    if (!json.is_object()) continue;
    try {
      claims_.push_back({json.at("origin"),
                         json.at("node"),
                         {json.at("point"), json.at("block"), parse_role(json.at("role").get<std::string>()),
                          json.at("nth"), json.at("attempt")},
                         json.at("key")});
    } catch (const nlohmann::json::exception&) {
      // Of no version of ours.
    }
  }
  return claims_;
}

SharedFolder::Claimed ClaimLog::add(const Claim& claim) {
  const nlohmann::ordered_json json{{"origin", claim.origin},
                                    {"node", claim.node},
                                    {"point", claim.trial.point},
                                    {"block", claim.trial.block},
                                    {"role", to_string(claim.trial.role)},
                                    {"nth", claim.trial.nth},
                                    {"attempt", claim.trial.attempt},
                                    {"key", claim.key}};
  return folder_.claim(name_of(next_),
                       json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace dvfs_plan
