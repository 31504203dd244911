#include "orchestrator/settings/setting_access.hpp"

#include <fmt/format.h>

#include "orchestrator/settings/attribute_setting.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"
#include "orchestrator/settings/nvidia_setting.hpp"
#include "orchestrator/settings/nvpmodel_setting.hpp"
#include "orchestrator/settings/overdrive_setting.hpp"

namespace dvfs_plan {

std::string nvidia_setting(const std::string& uuid, const std::string& name) {
  return fmt::format("{}{}/{}", nvidia_prefix, uuid, name);
}

std::string overdrive_setting(const std::string& file, bool core) {
  return fmt::format("{}{}#{}", overdrive_prefix, file, core ? "sclk" : "mclk");
}

SettingAccess::SettingAccess(const Sysfs& sysfs, NvidiaDoors doors)
    : sysfs_(sysfs), nvidia_(std::make_shared<NvidiaAccess>(sysfs, std::move(doors))) {}

Setting& SettingAccess::at(const std::string& path) {
  auto& setting = settings_[path];
  if (!setting) setting = nvidia_setting_at(path, nvidia_);
  if (!setting) setting = overdrive_setting_at(path, sysfs_);
  if (!setting) setting = command_setting_at(path);
  if (!setting) setting = beside_setting_at(path, sysfs_);
  if (!setting) setting = nvpmodel_setting_at(path, sysfs_);
  if (!setting) setting = attribute_setting(path, sysfs_);
  return *setting;
}

}  // namespace dvfs_plan
