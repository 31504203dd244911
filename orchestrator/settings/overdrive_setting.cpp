#include "orchestrator/settings/overdrive_setting.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/settings/amdgpu_overdrive.hpp"

namespace dvfs_plan {
namespace {

class OverdriveSetting : public Setting {
 public:
  OverdriveSetting(std::string file, OverdriveClock clock, const Sysfs& sysfs)
      : file_(std::move(file)), clock_(clock), sysfs_(sysfs) {}

  Read read() override {
    const Attribute table = sysfs_.read(file_);
    const auto limits = overdrive_limits(table.text.value_or(""), clock_);
    if (!limits) return {std::nullopt, table.text ? "it lists no such clock" : std::strerror(table.error)};
    return {fmt::format("{} {}", limits->low_mhz, limits->high_mhz)};
  }
  Written write(const std::string& value) override {
    const auto words = split_words(value);
    const auto low = words.size() == 2 ? parse_number(words[0]) : std::nullopt;
    const auto high = words.size() == 2 ? parse_number(words[1]) : std::nullopt;
    if (!low || !high) return {fmt::format("'{}' is no pair of clocks", value)};
    const int error = set_overdrive(sysfs_, file_, clock_, {static_cast<int>(*low), static_cast<int>(*high)});
    return {error == 0 ? std::string{} : std::strerror(error)};
  }
  bool exists() override { return sysfs_.exists(file_); }
  bool writable() const override { return sysfs_.writable(file_); }
  std::string command(const std::string& value) const override {
    const auto words = split_words(value);
    const char letter = clock_ == OverdriveClock::core ? 's' : 'm';
    return fmt::format("for edit in '{} 0 {}' '{} 1 {}' c; do echo \"$edit\" | sudo tee {}; done", letter,
                       words.empty() ? "" : words.front(), letter, words.empty() ? "" : words.back(),
                       shell_quote(file_));
  }

 private:
  const std::string file_;
  const OverdriveClock clock_;
  const Sysfs& sysfs_;
};

}  // namespace

std::unique_ptr<Setting> overdrive_setting_at(const std::string& path, const Sysfs& sysfs) {
  if (!path.starts_with(overdrive_prefix)) return nullptr;
  const auto hash = path.rfind('#');
  if (hash == std::string::npos) return nullptr;
  return std::make_unique<OverdriveSetting>(
      path.substr(overdrive_prefix.size(), hash - overdrive_prefix.size()),
      path.substr(hash) == "#sclk" ? OverdriveClock::core : OverdriveClock::memory, sysfs);
}

}  // namespace dvfs_plan
