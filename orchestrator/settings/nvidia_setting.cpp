#include "orchestrator/settings/nvidia_setting.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/text.hpp"

namespace dvfs_plan {
namespace {

constexpr const char* no_smi = "nvidia-smi is not to be found any more";
constexpr const char* hung = "nvidia-smi did not answer before, and was not asked again";

class NvidiaSetting : public Setting {
 public:
  NvidiaSetting(std::string uuid, std::shared_ptr<NvidiaAccess> access)
      : uuid_(std::move(uuid)), access_(std::move(access)) {}

  Read read() override {
    if (BoardReader* const reader = access_->reader()) {
      if (auto text = from_reader(*reader)) return {std::move(text)};
    }
    if (access_->setter() == nullptr) return {std::nullopt, no_smi};
    if (access_->is_silent(uuid_)) return {std::nullopt, hung};
    const auto text = access_->ask(uuid_, [&](const NvidiaSetter& smi) { return from_smi(smi, false); });
    return {text, text ? "" : "nvidia-smi does not tell"};
  }
  Written write(const std::string& value) override {
    if (access_->setter() == nullptr) return {no_smi, true};
    if (access_->is_silent(uuid_)) return {hung, true};
    const SmiVerdict said = access_->ask(uuid_, [&](const NvidiaSetter& smi) { return set(smi, value); });
    return {said.problem, said.forbidden || said.unsupported, said.unsupported};
  }
  bool exists() override {
    // Without the program nobody knows; the board is gone where the program says so.
    if (access_->setter() == nullptr || access_->is_silent(uuid_)) return true;
    return access_->ask(uuid_, [&](const NvidiaSetter& smi) {
      const auto query = smi.smi().query({"uuid"}, uuid_);
      return query.table.size() > 0 || query.problem.find("No devices were found") == std::string::npos;
    });
  }
  std::string absent_because() override {
    if (access_->setter() == nullptr) return "there is no nvidia-smi";
    return exists() ? "" : "nvidia-smi knows no such board";
  }
  // A tree's own nvidia-smi is a program like any other; the real one sets for root only.
  bool writable() const override { return ::geteuid() == 0 || !access_->sysfs().root().empty(); }
  std::string command(const std::string& value) const override {
    return fmt::format("sudo nvidia-smi -i {} {}", shell_quote(uuid_), option(value));
  }
  bool may_be_contested() const override { return can_be_read(); }
  std::optional<std::string> driver_default() override {
    if (!can_be_read() || access_->setter() == nullptr || access_->is_silent(uuid_)) return std::nullopt;
    return access_->ask(uuid_, [&](const NvidiaSetter& smi) { return from_smi(smi, true); });
  }

 protected:
  virtual std::optional<std::string> from_smi(const NvidiaSetter& smi, bool by_default) const = 0;
  virtual std::optional<std::string> from_reader(BoardReader&) const { return std::nullopt; }
  virtual SmiVerdict set(const NvidiaSetter& smi, const std::string& value) const = 0;
  virtual std::string option(const std::string& value) const = 0;

  const std::string uuid_;
  const std::shared_ptr<NvidiaAccess> access_;
};

// "1395" (MHz) pins it, "reset" frees it.
class ClockLock : public NvidiaSetting {
 public:
  ClockLock(std::string uuid, std::shared_ptr<NvidiaAccess> access, NvidiaSetter::Clock clock)
      : NvidiaSetting(std::move(uuid), std::move(access)), clock_(clock) {}
  Read read() override { return {std::nullopt, "NVIDIA offers no way to read a clock lock"}; }
  bool can_be_read() const override { return false; }
  std::optional<std::string> to_save() override { return "reset"; }

 private:
  std::optional<std::string> from_smi(const NvidiaSetter&, bool) const override { return std::nullopt; }
  SmiVerdict set(const NvidiaSetter& smi, const std::string& value) const override {
    if (value == "reset") return smi.reset_lock(uuid_, clock_);
    const auto mhz = parse_number(value);
    if (!mhz || *mhz < 1 || *mhz > 100'000)
      return {false, false, false, fmt::format("'{}' is no clock in MHz", value)};
    return smi.lock(uuid_, clock_, static_cast<int>(*mhz));
  }
  std::string option(const std::string&) const override {
    return clock_ == NvidiaSetter::Clock::core ? "-rgc" : "-rmc";
  }
  const NvidiaSetter::Clock clock_;
};

class PowerLimit : public NvidiaSetting {
 public:
  using NvidiaSetting::NvidiaSetting;

 private:
  std::optional<std::string> from_smi(const NvidiaSetter& smi, bool by_default) const override {
    return smi.power_limit(uuid_, by_default);
  }
  std::optional<std::string> from_reader(BoardReader& reader) const override {
    return reader.power_limit(uuid_);
  }
  SmiVerdict set(const NvidiaSetter& smi, const std::string& value) const override {
    return smi.set_power_limit(uuid_, value);
  }
  std::string option(const std::string& value) const override { return "-pl " + shell_quote(value); }
};

class ApplicationClocks : public NvidiaSetting {
 public:
  using NvidiaSetting::NvidiaSetting;

 private:
  std::optional<std::string> from_smi(const NvidiaSetter& smi, bool by_default) const override {
    return smi.application_clocks(uuid_, by_default);
  }
  std::optional<std::string> from_reader(BoardReader& reader) const override {
    return reader.application_clocks(uuid_);
  }
  SmiVerdict set(const NvidiaSetter& smi, const std::string& value) const override {
    return smi.set_application_clocks(uuid_, value);
  }
  std::string option(const std::string& value) const override { return "-ac " + shell_quote(value); }
};

class WorkloadProfiles : public NvidiaSetting {
 public:
  using NvidiaSetting::NvidiaSetting;
  std::string command(const std::string& value) const override {
    const auto now = access_->setter() == nullptr || access_->is_silent(uuid_)
                         ? std::nullopt
                         : access_->setter()->requested_profiles(uuid_);
    const std::string program = fmt::format("sudo nvidia-smi power-profiles -i {} ", shell_quote(uuid_));
    std::string text = now && *now != "none" && *now != value ? program + "-cr " + *now : "";
    if (value != "none") text += fmt::format("{}{}-sr {}", text.empty() ? "" : "; ", program, value);
    return text.empty() ? program + "-gr" : text;
  }

 private:
  std::optional<std::string> from_smi(const NvidiaSetter& smi, bool by_default) const override {
    // Nobody has asked for any when a driver is loaded.
    return by_default ? std::optional<std::string>("none") : smi.requested_profiles(uuid_);
  }
  SmiVerdict set(const NvidiaSetter& smi, const std::string& value) const override {
    return smi.request_profiles(uuid_, value);
  }
  std::string option(const std::string&) const override { return {}; }
};

}  // namespace

const NvidiaSetter* NvidiaAccess::setter() {
  if (!looked_for_setter_) {
    // Who only wants the words of a command has no door.
    if (auto smi = doors_.find_smi ? doors_.find_smi(sysfs_) : std::nullopt) setter_.emplace(*smi);
    looked_for_setter_ = true;
  }
  return setter_ ? &*setter_ : nullptr;
}

BoardReader* NvidiaAccess::reader() {
  if (doors_.open_reader && !looked_for_reader_) reader_ = doors_.open_reader(sysfs_);
  looked_for_reader_ = true;
  return reader_.get();
}

std::unique_ptr<Setting> nvidia_setting_at(const std::string& path,
                                           const std::shared_ptr<NvidiaAccess>& access) {
  const auto slash = path.find('/');
  if (!path.starts_with(nvidia_prefix) || slash == std::string::npos) return nullptr;
  access->reader();  // loaded now, and not in the first read, which may be timed
  std::string uuid = path.substr(nvidia_prefix.size(), slash - nvidia_prefix.size());
  const std::string name = path.substr(slash + 1);
  if (name == "lock.core")
    return std::make_unique<ClockLock>(std::move(uuid), access, NvidiaSetter::Clock::core);
  if (name == "lock.memory")
    return std::make_unique<ClockLock>(std::move(uuid), access, NvidiaSetter::Clock::memory);
  if (name == "workload.profiles") return std::make_unique<WorkloadProfiles>(std::move(uuid), access);
  if (name == "power.limit") return std::make_unique<PowerLimit>(std::move(uuid), access);
  return std::make_unique<ApplicationClocks>(std::move(uuid), access);
}

}  // namespace dvfs_plan
