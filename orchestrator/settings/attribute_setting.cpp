#include "orchestrator/settings/attribute_setting.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

class AttributeFile : public Setting {
 public:
  AttributeFile(std::string path, const Sysfs& sysfs) : path_(std::move(path)), sysfs_(sysfs) {}

  Read read() override {
    const Attribute now = sysfs_.read(path_);
    return {now.text, now.text ? "" : std::strerror(now.error)};
  }
  std::string write(const std::string& value) override {
    const int error = sysfs_.write(path_, value);
    return error == 0 ? std::string{} : std::strerror(error);
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
    return sysfs_.text(path_.substr(0, path_.rfind('/')) + "/bios_limit");
  }
};

// scaling_setspeed: the last request, whatever became of it.
class ScalingSpeed : public AttributeFile {
 public:
  using AttributeFile::AttributeFile;
  bool shows_changes() const override { return false; }
  bool is_optional() const override { return true; }
};

}  // namespace

std::unique_ptr<Setting> attribute_setting(const std::string& path, const Sysfs& sysfs) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (name == "power1_cap") return std::make_unique<PowerCap>(path, sysfs);
  if (name == "scaling_max_freq" || name == "scaling_min_freq")
    return std::make_unique<ScalingLimit>(path, sysfs);
  if (name == "scaling_setspeed") return std::make_unique<ScalingSpeed>(path, sysfs);
  return std::make_unique<AttributeFile>(path, sysfs);
}

}  // namespace dvfs_plan
