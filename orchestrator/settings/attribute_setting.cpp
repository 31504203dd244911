#include "orchestrator/settings/attribute_setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/cooling.hpp"

namespace dvfs_plan {
namespace {

constexpr std::array<std::string_view, 3> governors_with_tunables{"schedutil", "ondemand", "conservative"};

class AttributeFile : public Setting {
 public:
  AttributeFile(std::string path, const Sysfs& sysfs) : path_(std::move(path)), sysfs_(sysfs) {}

  Read read() override {
    const Attribute now = sysfs_.read(path_);
    return {now.text, now.text ? "" : std::strerror(now.error)};
  }
  // "[always] madvise never": what is in brackets is in force.
  std::optional<std::string> to_save() override {
    const auto text = sysfs_.text(path_);
    if (!text) return std::nullopt;
    const auto open = text->find('['), close = text->find(']');
    const bool choice = open != std::string::npos && close != std::string::npos && close > open;
    return choice ? text->substr(open + 1, close - open - 1) : *text;
  }
  Written write(const std::string& value) override {
    // Nothing written is no write: the kernel's attributes take an empty line for an empty value.
    const int error = sysfs_.write(path_, value.empty() ? "\n" : value);
    return {error == 0 ? std::string{} : std::strerror(error)};
  }
  bool is_file() const override { return true; }
  bool exists() override { return sysfs_.exists(path_); }
  bool writable() const override { return sysfs_.writable(path_); }
  std::string command(const std::string& value) const override {
    return fmt::format("echo {} | sudo tee {}", shell_quote(value), shell_quote(path_));
  }

 protected:
  const std::string path_;
  const Sysfs& sysfs_;
};

// power1_cap of amdgpu and xe (Documentation/gpu/amdgpu/thermal.rst).
class PowerCap : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  bool may_be_contested() const override { return true; }
  std::optional<std::string> driver_default() override { return sysfs_.text(path_ + "_default"); }
};

// scaling_min_freq, scaling_max_freq (Documentation/admin-guide/pm/cpufreq.rst).
class ScalingLimit : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  bool is_clock_limit() const override { return true; }
  std::optional<std::string> firmware_limit() const override {
    return has_no_turbo() ? sysfs_.text(policy() + "/base_frequency") : sysfs_.text(policy() + "/bios_limit");
  }
  std::string limited_by() const override { return has_no_turbo() ? "" : "the firmware"; }
  bool is_cooled() const override {
    return is_highest() && cools_cpus_by_clock(sysfs_) &&
           sysfs_.number(path_) < sysfs_.number(policy() + "/cpuinfo_max_freq");
  }
  // scaling_max_freq shows the lower of the owner's limit and the firmware's, or that of turbo being off. While that caps, the
  // owner's cannot be read; writing the cap back would make it the owner's, for good.
  std::optional<std::string> to_save() override {
    // The kernel's own, where nobody asked for less (FREQ_QOS_MAX_DEFAULT_VALUE of include/linux/pm_qos.h).
    constexpr const char* no_limit = "2147483647";
    const auto now = sysfs_.text(path_);
    if (!is_highest()) return now;
    const auto limit = firmware_limit(), highest = sysfs_.text(policy() + "/cpuinfo_max_freq");
    if (!now || !limit || !highest || *now != *limit) return now;
    // From 6.11 on the highest is lowered with turbo too.
    if (*limit == *highest) return has_no_turbo() ? no_limit : now;
    return highest;
  }

 private:
  std::string policy() const { return path_.substr(0, path_.rfind('/')); }
  bool is_highest() const { return path_.ends_with("/scaling_max_freq"); }
  // Documentation/admin-guide/pm/intel_pstate.rst: no_turbo caps policies at what they reach without it, which base_frequency tells.
  bool has_no_turbo() const {
    return is_highest() && sysfs_.text("/sys/devices/system/cpu/intel_pstate/no_turbo") == "1" &&
           sysfs_.exists(policy() + "/base_frequency");
  }
};

// max_freq of devfreq (Documentation/ABI/testing/sysfs-class-devfreq).
class DevfreqLimit : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  bool is_cooled() const override {
    if (!cools_devices_by_clock(sysfs_)) return false;
    const std::string all =
        sysfs_.text(path_.substr(0, path_.rfind('/')) + "/available_frequencies").value_or("");
    double highest = 0;
    for (const std::string& one : split_words(all))
      highest = std::max(highest, parse_number(one).value_or(0));
    return sysfs_.number(path_).value_or(0) < highest;
  }
};

// scaling_setspeed: the last request, whatever became of it.
class ScalingSpeed : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  bool shows_changes() const override { return false; }
  // "<unsupported>" is what it says under every governor but userspace.
  std::optional<std::string> to_save() override {
    const auto now = sysfs_.text(path_);
    return now == "<unsupported>" ? std::nullopt : now;
  }
  bool is_optional() const override { return true; }
};

// schedutil/rate_limit_us and the like (Documentation/admin-guide/pm/cpufreq.rst, "Generic Scaling Governors"): the kernel
// forgets them with the last policy that leaves the governor, and has them again, at its defaults, with the first that returns.
class GovernorTunable : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  // Whoever may write it: of those that nobody may there is nothing to put back (ondemand's sampling_rate_min).
  std::optional<std::string> to_save() override {
    std::error_code error;
    const auto mode = std::filesystem::status(sysfs_.real_path(path_), error).permissions();
    const bool is_tuned =
        !error && (mode & std::filesystem::perms::owner_write) != std::filesystem::perms::none;
    return is_tuned ? AttributeFile::to_save() : std::nullopt;
  }
  bool is_optional() const override { return true; }
  // Of who sets it: what cannot be put back is not to be lost.
  std::string absent_because() override {
    return exists() && !writable() ? "it goes with its governor, and may not be put back by this user" : "";
  }
};

// pp_dpm_sclk, pp_dpm_mclk (Documentation/gpu/amdgpu/thermal.rst): which levels are allowed cannot be read.
class DpmLevels : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  std::optional<std::string> put_back_by() const override {
    return path_.substr(0, path_.rfind('/')) + "/power_dpm_force_performance_level";
  }
};

}  // namespace

bool is_governor_tunable(std::string_view path) {
  constexpr std::string_view folder = "/sys/devices/system/cpu/cpufreq/";
  if (!path.starts_with(folder)) return false;
  path.remove_prefix(folder.size());
  if (path.starts_with("policy")) path.remove_prefix(std::min(path.size(), path.find('/') + 1));
  return std::any_of(
      governors_with_tunables.begin(), governors_with_tunables.end(), [&](std::string_view governor) {
        return path.size() > governor.size() + 1 && path.starts_with(governor) &&
               path[governor.size()] == '/' && path.find('/', governor.size() + 1) == std::string_view::npos;
      });
}

std::unique_ptr<Setting> attribute_setting(const std::string& path, const Sysfs& sysfs) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "power1_cap") return std::make_unique<PowerCap>(path, sysfs);
  if (name == "scaling_max_freq" || name == "scaling_min_freq")
    return std::make_unique<ScalingLimit>(path, sysfs);
  if (name == "max_freq" && path.starts_with("/sys/class/devfreq/"))
    return std::make_unique<DevfreqLimit>(path, sysfs);
  if (is_governor_tunable(path)) return std::make_unique<GovernorTunable>(path, sysfs);
  if (name.starts_with("pp_dpm_")) return std::make_unique<DpmLevels>(path, sysfs);
  if (name == "scaling_setspeed") return std::make_unique<ScalingSpeed>(path, sysfs);
  return std::make_unique<AttributeFile>(path, sysfs);
}

}  // namespace dvfs_plan
