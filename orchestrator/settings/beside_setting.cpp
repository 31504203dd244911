#include "orchestrator/settings/beside_setting.hpp"

#include <utility>

#include "orchestrator/settings/attribute_setting.hpp"

namespace dvfs_plan {
namespace {

class BesideSetting : public Setting {
 public:
  explicit BesideSetting(std::unique_ptr<Setting> file) : file_(std::move(file)) {}

  // scaling_setspeed says so under every governor but userspace: it went with that.
  Read read() override {
    Read now = file_->read();
    if (now.text == "<unsupported>") return {std::nullopt, "it is not supported now"};
    return now;
  }
  // While the kernel cools what its owner set cannot be read.
  std::optional<std::string> to_save() override {
    return file_->is_cooled() ? std::nullopt : file_->to_save();
  }
  Written write(const std::string& value) override { return file_->write(value); }
  bool exists() override { return file_->exists(); }
  bool writable() const override { return file_->writable(); }
  std::string command(const std::string& value) const override { return file_->command(value); }
  bool is_file() const override { return true; }
  bool is_optional() const override { return true; }
  bool only_where_taken_along() const override { return true; }
  bool may_be_contested() const override { return true; }
  std::optional<std::string> driver_default() override { return file_->driver_default(); }
  bool is_clock_limit() const override { return file_->is_clock_limit(); }
  std::optional<std::string> firmware_limit() const override { return file_->firmware_limit(); }
  std::string limited_by() const override { return file_->limited_by(); }
  bool is_cooled() const override { return file_->is_cooled(); }

 private:
  const std::unique_ptr<Setting> file_;
};

}  // namespace

std::string beside_setting(const std::string& file) {
  return std::string(beside_prefix) + file;
}

std::unique_ptr<Setting> beside_setting_at(const std::string& path, const Sysfs& sysfs) {
  if (!is_beside_setting(path)) return nullptr;
  return std::make_unique<BesideSetting>(attribute_setting(path.substr(beside_prefix.size()), sysfs));
}

}  // namespace dvfs_plan
