#include "orchestrator/knobs/knob_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "orchestrator/settings/beside_setting.hpp"
#include "orchestrator/settings/command_setting.hpp"

namespace dvfs_plan {

const KnobKind* kind_of_axis(const std::string& axis) {
  const std::string base = split_axis_name(axis).base;
  for (const KnobKind* kind : Registered<KnobKind>::all()) {
    if (kind->name.ends_with('.') ? base.starts_with(kind->name) : base == kind->name) return kind;
  }
  return nullptr;
}

namespace {

int place_of(const std::string& axis) {
  const KnobKind* kind = kind_of_axis(axis);
  return kind == nullptr ? 0 : kind->place;
}

}  // namespace

KnobFinding find_knob(const KnobRequest& request) {
  const KnobKind* kind = kind_of_axis(request.axis);
  if (kind == nullptr) return {request.axis, nullptr, "there is no such knob"};
  return kind->find(request);
}

std::vector<KnobFinding> find_knobs(const std::vector<std::string>& axes, const Sysfs& sysfs,
                                    const OwnKnobs& own, const UsedBoards& gpus,
                                    const std::map<std::string, std::string>& by) {
  std::vector<std::string> ordered;
  for (const std::string& axis : axes) {
    if (is_knob_axis(axis)) ordered.push_back(axis);
  }
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const std::string& a, const std::string& b) { return place_of(a) < place_of(b); });
  const auto cpufreq = cpufreq_access(sysfs);
  std::map<std::string, std::shared_ptr<NvidiaClocks>> nvidia;
  const auto threads = std::make_shared<CoreThreads>(sysfs);
  std::vector<KnobFinding> knobs;
  for (const std::string& axis : ordered) {
    const auto who = by.find(axis);
    knobs.push_back(find_knob({axis, split_axis_name(axis).target, sysfs, cpufreq, own, gpus, nvidia, threads,
                               who == by.end() ? "" : who->second}));
  }
  return knobs;
}

std::vector<std::string> candidate_axes(const Sysfs& sysfs) {
  std::vector<std::string> axes;
  for (const KnobKind* kind : Registered<KnobKind>::all()) {
    if (!kind->name.ends_with('.')) axes.emplace_back(kind->name);
  }
  for (const std::string& device : sysfs.list("/sys/class/devfreq")) axes.push_back("devfreq." + device);
  return axes;
}

std::vector<SavedSetting> settings_of(const std::vector<KnobFinding>& knobs) {
  std::vector<SavedSetting> settings;
  for (const KnobFinding& finding : knobs) {
    for (const SavedSetting& setting : finding.knob->snapshot()) {
      const bool known = std::any_of(settings.begin(), settings.end(),
                                     [&](const SavedSetting& s) { return s.path == setting.path; });
      if (!known) settings.push_back(setting);
    }
  }
  return settings;
}

namespace {

// What programs of the user's may take along.
std::vector<SavedSetting> files_beside(const std::vector<SavedSetting>& armed, const Sysfs& sysfs) {
  std::vector<std::string> axes = candidate_axes(sysfs);
  std::erase_if(
      axes, [](const std::string& axis) { return axis.starts_with("gpu.") || axis.starts_with("jetson."); });
  std::vector<KnobFinding> knobs = find_knobs(axes, sysfs, {});
  std::erase_if(knobs, [](const KnobFinding& finding) { return !finding.knob; });
  std::vector<SavedSetting> files = settings_of(knobs);
  std::erase_if(files, [&](const SavedSetting& setting) {
    return !setting.path.starts_with("/sys/") ||
           std::any_of(armed.begin(), armed.end(),
                       [&](const SavedSetting& one) { return one.path == setting.path; });
  });
  for (SavedSetting& setting : files) setting.path = beside_setting(setting.path);
  return files;
}

}  // namespace

std::vector<SavedSetting> settings_to_arm(const std::vector<KnobFinding>& knobs, const Sysfs& sysfs) {
  std::vector<SavedSetting> settings = settings_of(knobs);
  for (const KnobFinding& finding : knobs) {
    const auto at_first = finding.knob->read_at_first();
    if (!at_first) continue;
    for (const std::string& path : finding.knob->writes()) {
      for (SavedSetting& setting : settings)
        if (setting.path == path) setting.value = *at_first;
    }
  }
  const bool programs = std::any_of(settings.begin(), settings.end(), [](const SavedSetting& setting) {
    return is_command_setting(setting.path);
  });
  if (!programs) return settings;
  const std::vector<SavedSetting> beside = files_beside(settings, sysfs);
  settings.insert(settings.end(), beside.begin(), beside.end());
  return settings;
}

std::vector<AxisRequest> requests_of(const std::vector<KnobFinding>& knobs,
                                     const std::map<std::string, std::vector<AxisValue>>& values) {
  std::vector<AxisRequest> all;
  std::set<std::pair<std::string, std::string>> known;
  for (const KnobFinding& finding : knobs) {
    known.clear();
    const auto of_axis = values.find(finding.axis);
    if (!finding.knob || of_axis == values.end()) continue;
    for (const AxisValue& value : of_axis->second) {
      for (SettingText& request : finding.knob->requests(value)) {
        if (known.emplace(request.path, request.text).second)
          all.push_back({finding.axis, std::move(request)});
      }
    }
  }
  return all;
}

std::string offers_text(const AxisOffer& offer) {
  if (offer.continuous) return fmt::format("{} to {}", offer.values.front().text, offer.values.back().text);
  std::vector<std::string> texts;
  for (const AxisValue& value : offer.values) texts.push_back(value.text);
  return join(texts, ", ");
}

MachineOffers offers_of(const std::vector<KnobFinding>& knobs) {
  MachineOffers offers;
  for (const KnobFinding& finding : knobs) {
    if (!finding.knob) {
      offers.missing[finding.axis] = finding.problem;
      continue;
    }
    offers.offers[finding.axis] = finding.knob->offer();
    if (auto pairs = finding.knob->allowed_pairs()) offers.pairs.push_back(std::move(*pairs));
  }
  return offers;
}

}  // namespace dvfs_plan
