#include "orchestrator/settings/setting_access.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "base/text.hpp"
#include "orchestrator/settings/amdgpu_overdrive.hpp"

namespace dvfs_plan {
namespace {

constexpr std::string_view nvidia = "nvidia:", overdrive = "amdgpu-od:";

struct NvidiaPlace {
  std::string uuid, name;
};
std::optional<NvidiaPlace> nvidia_place(const std::string& path) {
  if (!path.starts_with(nvidia)) return std::nullopt;
  const auto slash = path.find('/');
  if (slash == std::string::npos) return std::nullopt;
  return NvidiaPlace{path.substr(nvidia.size(), slash - nvidia.size()), path.substr(slash + 1)};
}

struct OverdrivePlace {
  std::string file;
  OverdriveClock clock;
};
std::optional<OverdrivePlace> overdrive_place(const std::string& path) {
  if (!path.starts_with(overdrive)) return std::nullopt;
  const auto hash = path.rfind('#');
  if (hash == std::string::npos) return std::nullopt;
  return OverdrivePlace{path.substr(overdrive.size(), hash - overdrive.size()),
                        path.substr(hash) == "#sclk" ? OverdriveClock::core : OverdriveClock::memory};
}

bool is_lock(const NvidiaPlace& place) {
  return place.name.starts_with("lock.");
}
NvidiaSetter::Clock lock_clock(const NvidiaPlace& place) {
  return place.name == "lock.core" ? NvidiaSetter::Clock::core : NvidiaSetter::Clock::memory;
}

constexpr const char* no_smi = "nvidia-smi is not to be found any more";
constexpr const char* hung = "nvidia-smi did not answer before, and was not asked again";

}  // namespace

std::string nvidia_setting(const std::string& uuid, const std::string& name) {
  return fmt::format("{}{}/{}", nvidia, uuid, name);
}

std::string overdrive_setting(const std::string& file, bool core) {
  return fmt::format("{}{}#{}", overdrive, file, core ? "sclk" : "mclk");
}

const NvidiaSetter* SettingAccess::setter() {
  if (!looked_for_setter_) {
    if (auto smi = NvidiaSmi::find(sysfs_)) setter_.emplace(*smi);
    looked_for_setter_ = true;
  }
  return setter_ ? &*setter_ : nullptr;
}

// One question to nvidia-smi about a board. One that hangs for as long as it may will hang again.
template <class Ask>
auto SettingAccess::ask(const std::string& uuid, Ask question) -> decltype(question(*setter())) {
  auto answer = question(*setter());
  if (setter()->smi().take_hung()) silent_.insert(uuid);
  return answer;
}

SettingAccess::Read SettingAccess::read(const std::string& path) {
  if (const auto place = nvidia_place(path)) {
    if (is_lock(*place)) return {std::nullopt, "NVIDIA offers no way to read a clock lock", true};
    if (setter() == nullptr) return {std::nullopt, no_smi, false};
    if (silent_.contains(place->uuid)) return {std::nullopt, hung, false};
    const auto text = ask(place->uuid, [&](const NvidiaSetter& smi) {
      return place->name == "power.limit" ? smi.power_limit(place->uuid)
                                          : smi.application_clocks(place->uuid);
    });
    return {text, text ? "" : "nvidia-smi does not tell", false};
  }
  if (const auto place = overdrive_place(path)) {
    const Attribute table = sysfs_.read(place->file);
    const auto limits = overdrive_limits(table.text.value_or(""), place->clock);
    if (!limits)
      return {std::nullopt, table.text ? "it lists no such clock" : std::strerror(table.error), false};
    return {fmt::format("{} {}", limits->low_mhz, limits->high_mhz), "", false};
  }
  const Attribute now = sysfs_.read(path);
  return {now.text, now.text ? "" : std::strerror(now.error), false};
}

std::string SettingAccess::write(const std::string& path, const std::string& value) {
  if (const auto place = nvidia_place(path)) {
    if (setter() == nullptr) return no_smi;
    if (silent_.contains(place->uuid)) return hung;
    return ask(place->uuid, [&](const NvidiaSetter& smi) {
      if (is_lock(*place)) return smi.reset_lock(place->uuid, lock_clock(*place)).problem;
      if (place->name == "power.limit") return smi.set_power_limit(place->uuid, value).problem;
      return smi.set_application_clocks(place->uuid, value).problem;
    });
  }
  int error = 0;
  if (const auto place = overdrive_place(path)) {
    const auto words = split_words(value);
    const auto low = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
    const auto high = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
    if (!low || !high) return fmt::format("'{}' is no pair of clocks", value);
    error =
        set_overdrive(sysfs_, place->file, place->clock, {static_cast<int>(*low), static_cast<int>(*high)});
  } else {
    error = sysfs_.write(path, value);
  }
  return error == 0 ? std::string{} : std::strerror(error);
}

bool SettingAccess::exists(const std::string& path) {
  if (const auto place = nvidia_place(path)) {
    // Without the program nobody knows; the board is gone where the program says so.
    if (setter() == nullptr || silent_.contains(place->uuid)) return true;
    return ask(place->uuid, [&](const NvidiaSetter& smi) {
      const auto query = smi.smi().query({"uuid"}, place->uuid);
      return query.table.size() > 0 || query.problem.find("No devices were found") == std::string::npos;
    });
  }
  if (const auto place = overdrive_place(path)) return sysfs_.exists(place->file);
  return sysfs_.exists(path);
}

bool SettingAccess::writable(const std::string& path) const {
  // A tree's own nvidia-smi is a program like any other; the real one sets for root only.
  if (nvidia_place(path)) return ::geteuid() == 0 || !sysfs_.root().empty();
  if (const auto place = overdrive_place(path)) return sysfs_.writable(place->file);
  return sysfs_.writable(path);
}

bool SettingAccess::may_be_contested(const std::string& path) const {
  const auto place = nvidia_place(path);
  return (place && !is_lock(*place)) || path.ends_with("/power1_cap");
}

std::optional<std::string> SettingAccess::driver_default(const std::string& path) {
  if (const auto place = nvidia_place(path); place && setter() != nullptr && !silent_.contains(place->uuid)) {
    if (is_lock(*place)) return std::nullopt;
    return ask(place->uuid, [&](const NvidiaSetter& smi) {
      return place->name == "power.limit" ? smi.power_limit(place->uuid, true)
                                          : smi.application_clocks(place->uuid, true);
    });
  }
  if (path.ends_with("/power1_cap")) return sysfs_.text(path + "_default");
  return std::nullopt;
}

std::string SettingAccess::command(const std::string& path, const std::string& value) const {
  if (const auto place = nvidia_place(path)) {
    const std::string option = is_lock(*place)                ? (place->name == "lock.core" ? "-rgc" : "-rmc")
                               : place->name == "power.limit" ? "-pl " + shell_quote(value)
                                                              : "-ac " + shell_quote(value);
    return fmt::format("sudo nvidia-smi -i {} {}", shell_quote(place->uuid), option);
  }
  if (const auto place = overdrive_place(path)) {
    const auto words = split_words(value);
    const char letter = place->clock == OverdriveClock::core ? 's' : 'm';
    return fmt::format("for edit in '{} 0 {}' '{} 1 {}' c; do echo \"$edit\" | sudo tee {}; done", letter,
                       words.empty() ? "" : words.front(), letter, words.empty() ? "" : words.back(),
                       shell_quote(place->file));
  }
  return fmt::format("echo {} | sudo tee {}", shell_quote(value), shell_quote(path));
}

}  // namespace dvfs_plan
