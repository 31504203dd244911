#include "orchestrator/cluster/node_settings.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

constexpr std::string_view begun_ending = ".set", ended_ending = ".back";

std::string bytes_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// As it was written; what cannot be read says nothing.
nlohmann::json read_json(const SharedFolder& folder, const std::string& name) {
  return nlohmann::json::parse(folder.read(name), nullptr, false);
}

}  // namespace

std::string job_and_index(const NodeSettings& settings) {
  return settings.task.substr(0, settings.task.find(' '));
}

std::vector<NodeSettings> settings_of_nodes(const SharedFolder& folder) {
  std::map<std::string, NodeSettings> last;
  for (const std::string& name : folder.names(begun_ending)) {
    const auto json = read_json(folder, name);
    if (!json.is_object()) continue;
    NodeSettings begun{json.value("node", ""), json.value("task", "")};
    begun.at = json.value("at", std::int64_t{0});
    const auto [known, is_new] = last.try_emplace(begun.node, begun);
    if (!is_new && known->second.at < begun.at) known->second = begun;
  }
  std::vector<NodeSettings> all;
  for (auto& [node, settings] : last) {
    const auto json = read_json(folder, name_of_task(node, settings.task, ended_ending));
    if (json.is_object()) {
      settings.state = json.value("back", false) ? NodeSettings::State::back : NodeSettings::State::not_back;
      settings.why = json.value("why", "");
    }
    all.push_back(std::move(settings));
  }
  return all;
}

std::string tell_that_it_sets(const SharedFolder& folder, const std::string& node, const std::string& task,
                              std::int64_t at) {
  return folder.hand_in(name_of_task(node, task, begun_ending),
                        bytes_of({{"node", node}, {"task", task}, {"at", at}}));
}

std::string tell_settings(const SharedFolder& folder, const NodeSettings& settings) {
  return folder.hand_in(
      name_of_task(settings.node, settings.task, ended_ending),
      bytes_of({{"back", settings.state == NodeSettings::State::back}, {"why", settings.why}}));
}

std::string tell_again(const SharedFolder& folder, const std::vector<NodeSettings>& settings) {
  for (const NodeSettings& one : settings) {
    if (std::string why = tell_that_it_sets(folder, one.node, one.task, one.at); !why.empty()) return why;
    if (one.state == NodeSettings::State::not_told) continue;
    if (std::string why = tell_settings(folder, one); !why.empty()) return why;
  }
  return {};
}

std::string settings_text(const NodeSettings& settings, bool at_work) {
  const std::string task = job_and_index(settings);
  switch (settings.state) {
    case NodeSettings::State::back:
      break;
    case NodeSettings::State::not_back:
      return fmt::format(
          "{}: what task {} set there was not put back: {}; once that is mended, `dvfs-plan restore` on {} "
          "does",
          printable(settings.node), printable(task), printable(settings.why), printable(settings.node));
    case NodeSettings::State::not_told:
      if (!at_work)
        return fmt::format(
            "{}: whether what task {} set there was put back is not known: it ended without a word (killed, "
            "or "
            "the node went down); `dvfs-plan restore` on {} puts back what is left",
            printable(settings.node), printable(task), printable(settings.node));
      break;
  }
  return {};
}

}  // namespace dvfs_plan
