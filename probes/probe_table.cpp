#include "probes/probe_table.hpp"

namespace dvfs_plan {

ProbeFinding find_probe(std::string_view name, const ProbeRequest& request) {
  const ProbeKind* kind = Registered<ProbeKind>::find(name);
  if (kind == nullptr) return {std::string(name), nullptr, "there is no such probe", {}};
  return kind->find(request);
}

std::vector<ProbeFinding> find_probes(const ProbeRequest& request, WhichProbes which) {
  std::vector<ProbeFinding> findings;
  for (const ProbeKind* kind : Registered<ProbeKind>::all()) {
    if (kind->boards_of && request.boards.empty()) continue;
    if (kind->on_request && which == WhichProbes::usual) continue;
    ProbeFinding finding = kind->find(request);
    // Boards of another vendor are no fault of the one at hand.
    if (!kind->boards_of || finding.probe) findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<Channel> channels_of(const ProbeFinding& finding) {
  std::vector<Channel> channels;
  if (finding.probe) channels = finding.probe->channels();
  for (const auto& part : finding.others)
    channels.insert(channels.end(), part->channels().begin(), part->channels().end());
  return channels;
}

}  // namespace dvfs_plan
