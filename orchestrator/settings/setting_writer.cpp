#include "orchestrator/settings/setting_writer.hpp"

#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {

std::vector<WriteAnswer> TrackingWriter::write(const std::vector<SettingText>& requests) {
  std::vector<WriteAnswer> answers;
  for (const SettingText& request : requests) answers.push_back(write_one(request));
  return answers;
}

Setting::Written TrackingWriter::put_back(const std::string& path, const std::string& value) {
  Setting& setting = access_.at(path);
  touched_.insert(path);
  applied_[path].insert(value);
  const Setting::Written written = setting.put_back(value);
  if (const auto now = setting.read().text) applied_[path].insert(*now);
  return written;
}

WriteAnswer TrackingWriter::write_one(const SettingText& request) {
  Setting& setting = access_.at(request.path);
  const bool may_be_taken_for_anothers = setting.may_be_contested() || !setting.can_be_read();
  // On record before it is written: from here on such a value there is ours.
  if (may_be_taken_for_anothers) applied_[request.path].insert(request.text);
  const Setting::Written written = setting.write(request.text);
  WriteAnswer answer{written.problem, written.untouched, written.unsupported, {}};
  if (setting.may_be_contested()) answer.reads = setting.read().text;
  if (setting.is_command() && written.problem.empty()) {
    if (answer.reads && reads_as_asked(request.text, *answer.reads))
      unshown_.erase(request.path);
    else
      unshown_.insert(request.path);
  }
  if (!written.untouched) touched_.insert(request.path);
  // What was refused without a trace, from the first time on, is none of ours.
  if (!touched_.contains(request.path))
    applied_.erase(request.path);
  else if (answer.reads)
    applied_[request.path].insert(*answer.reads);
  return answer;
}

}  // namespace dvfs_plan
