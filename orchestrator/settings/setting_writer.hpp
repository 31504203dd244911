// Through whom knobs set things: the guardian (guard/guard_client.hpp), which alone may; or this process
// itself, where it is the guardian.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {

// One setting, by its path (setting_access.hpp), and the text it is to have.
struct SettingText {
  std::string path, text;
  bool operator==(const SettingText&) const = default;
};

struct WriteAnswer {
  std::string problem = {};  // why it was not taken; empty if it was
  bool untouched = false;    // refused in words that say that nothing was changed
  bool unsupported = false;  // and that there is no such setting here
  // What it reads now, where others may change it too: told so that nobody needs to ask a board twice.
  std::optional<std::string> reads = {};
};

class SettingWriter {
 public:
  virtual ~SettingWriter() = default;
  // In this order; one that is refused keeps no other from being written. As many answers as requests.
  virtual std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) = 0;

  WriteAnswer write(const std::string& path, const std::string& text) {
    return write(std::vector<SettingText>{{path, text}}).front();
  }
};

// All that was about to be written or read back, by path: tells our settings from those that others made
// meanwhile, and locks that were set from those that were not.
using AppliedByUs = std::map<std::string, std::set<std::string>>;

// Writes them itself, and remembers what is ours: the guardian.
class TrackingWriter : public SettingWriter {
 public:
  TrackingWriter(const Sysfs& sysfs, NvidiaDoors doors) : access_(sysfs, std::move(doors)) {}
  using SettingWriter::write;
  std::vector<WriteAnswer> write(const std::vector<SettingText>& requests) override;
  // Puts one back to what it was, and remembers what came of it as ours.
  Setting::Written put_back(const std::string& path, const std::string& value);
  // What it reads as after we wrote there, by whatever way, is ours.
  void note_ours(const std::string& path, const std::string& text) { applied_[path].insert(text); }
  // Of settings that others may change too, or that cannot be read.
  const AppliedByUs& applied() const { return applied_; }
  // Of those that read something else than what was set there last, though it was taken.
  const std::set<std::string>& unshown() const { return unshown_; }
  // What was set there last is what was there before.
  void is_back(const std::string& path) { unshown_.erase(path); }
  SettingAccess& access() { return access_; }

 private:
  WriteAnswer write_one(const SettingText& request);

  SettingAccess access_;
  std::set<std::string> touched_;  // taken at least once
  std::set<std::string> unshown_;
  AppliedByUs applied_;
};

}  // namespace dvfs_plan
