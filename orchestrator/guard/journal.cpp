#include "orchestrator/guard/journal.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

const std::string file_name = "journal.json";
constexpr int version = 1;

}  // namespace

void write_journal(StateFolder& folder, const Journal& journal) {
  nlohmann::ordered_json json{
      {"version", version},         {"experiment", journal.experiment}, {"saved_at", journal.saved_at},
      {"boot_id", journal.boot_id}, {"sysfs_root", journal.sysfs_root}, {"pid", journal.pid},
      {"run", journal.run}};
  json["settings"] = nlohmann::ordered_json::array();
  for (const SavedSetting& setting : journal.settings) {
    json["settings"].push_back({{"knob", setting.knob}, {"path", setting.path}, {"value", setting.value}});
  }
  folder.write_durably(file_name, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

std::optional<Journal> read_journal(const StateFolder& folder) {
  const auto text = folder.read(file_name);
  if (!text) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(*text);
    if (json.at("version") != version) throw std::runtime_error("its version is not 1");
    Journal journal;
    journal.experiment = json.at("experiment");
    journal.saved_at = json.at("saved_at");
    journal.boot_id = json.at("boot_id");
    journal.sysfs_root = json.at("sysfs_root");
    journal.pid = json.at("pid");
    journal.run = json.at("run");
    for (const auto& setting : json.at("settings"))
      journal.settings.push_back({setting.at("knob"), setting.at("path"), setting.at("value")});
    return journal;
  } catch (const std::exception& fault) {
    throw Error(ExitCode::not_restored,
                fmt::format("{}/{} cannot be understood: {}", folder.path(), file_name, fault.what()),
                "it lists what each setting was before the last sweep: put those back by hand, then move the "
                "file away");
  }
}

void remove_journal(StateFolder& folder) {
  folder.remove(file_name);
}

}  // namespace dvfs_plan
