// The CPU knobs whose values are words: governor, energy-performance preference, turbo.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/knob_table.hpp"

namespace dvfs_plan {
namespace {

// A file of one target.
struct WordFile {
  std::string target;
  std::string path;
  // How the file spells the axis's values, where it does not use the same words.
  std::vector<std::pair<std::string, std::string>> spelling;
  std::vector<int> cpus = {};  // of a policy's own file
};

class CpuWords : public Knob {
 public:
  CpuWords(const KnobRequest& request, std::vector<std::string> words, std::vector<WordFile> files,
           std::vector<CpufreqPolicy> policies, std::vector<SavedSetting> tunables = {})
      : axis_(request.axis),
        words_(std::move(words)),
        files_(std::move(files)),
        policies_(std::move(policies)),
        tunables_(std::move(tunables)),
        threads_(request.threads),
        sysfs_(request.sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override {
    AxisOffer offer;
    for (const std::string& word : words_) offer.values.push_back({word, std::nullopt});
    return offer;
  }
  std::vector<SavedSetting> snapshot() const override { return snapshot_policies(axis_, policies_, sysfs_); }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const WordFile& file : files_) paths.push_back(file.path);
    return paths;
  }

  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const WordFile& file : files_) {
      if (!threads_->has_taken(file.cpus)) requests.push_back({file.path, spelled(file, value.text)});
    }
    return requests;
  }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const WordFile& file : files_) {
      if (threads_->has_taken(file.cpus)) continue;
      AppliedSetting setting{file.target, value.text, std::nullopt, {}};
      const std::string wanted = spelled(file, value.text);
      // Setting a governor anew resets what others stand by; and one file may be a switch of several.
      const bool there_already = sysfs_.text(file.path) == wanted;
      const std::string problem = there_already ? std::string{} : writer.write(file.path, wanted).problem;
      if (!problem.empty()) {
        setting.problem = fmt::format("{} {}: set {}: {}", axis_, file.target, value.text, problem);
      } else {
        setting.applied = meaning(
            file,
            sysfs_
                .read_until(
                    file.path, [&](const std::string& now) { return now == wanted; }, read_back_patience_ms)
                .text);
        setting.stands = {{axis_, file.path, wanted}};
        if (setting.applied != value.text) {
          setting.problem = fmt::format("{} {}: asked for {}, read back {}", axis_, file.target, value.text,
                                        setting.applied.value_or("nothing"));
        }
      }
      applied.push_back(setting);
    }
    put_tunables_back(writer, applied);
    return applied;
  }

 private:
  // A governor that was in force before the night is as its owner had tuned it wherever it is in force again, in trials too.
  void put_tunables_back(SettingWriter& writer, std::vector<AppliedSetting>& applied) {
    constexpr int rounds = 2;  // one may be refused until another is as it was: conservative's thresholds
    for (int round = 0; round < rounds; ++round) {
      for (const SavedSetting& tunable : tunables_) {
        const auto now = sysfs_.text(tunable.path);
        if (!now || *now == tunable.value) continue;
        const std::string problem = writer.write(tunable.path, tunable.value).problem;
        if (!problem.empty() && round + 1 == rounds && !applied.empty())
          applied.back().note =
              fmt::format("{}: set {} to {}, as it was: {}", axis_, tunable.path, tunable.value, problem);
      }
    }
  }
  static std::string spelled(const WordFile& file, const std::string& word) {
    for (const auto& [axis_word, file_word] : file.spelling) {
      if (axis_word == word) return file_word;
    }
    return word;
  }
  static std::optional<std::string> meaning(const WordFile& file, const std::optional<std::string>& text) {
    for (const auto& [axis_word, file_word] : file.spelling) {
      if (text == file_word) return axis_word;
    }
    return text;
  }

  std::string axis_;
  std::vector<std::string> words_;
  std::vector<WordFile> files_;
  std::vector<CpufreqPolicy> policies_;
  std::vector<SavedSetting> tunables_;  // of the governors in force when it was found
  std::shared_ptr<CoreThreads> threads_;
  const Sysfs& sysfs_;
};

// The words that every list has, in the first list's order.
std::vector<std::string> common_words(const std::vector<std::vector<std::string>>& lists) {
  std::vector<std::string> common = lists.empty() ? std::vector<std::string>{} : lists.front();
  for (const auto& list : lists) {
    std::erase_if(common, [&](const std::string& word) {
      return std::find(list.begin(), list.end(), word) == list.end();
    });
  }
  return common;
}

KnobFinding find_cpu_governor(const KnobRequest& request) {
  auto choice = choose_policies(request.target, request.sysfs, *request.cpufreq);
  if (!choice.problem.empty()) return {request.axis, nullptr, choice.problem};
  std::vector<std::vector<std::string>> lists;
  std::vector<WordFile> files;
  for (const CpufreqPolicy& policy : choice.policies) {
    lists.push_back(policy.governors);
    files.push_back({policy.name, policy.path + "/scaling_governor", {}, policy.cpus});
  }
  const auto words = common_words(lists);
  if (words.empty()) return {request.axis, nullptr, "its policies have no governor in common"};
  auto tunables = snapshot_tunables(request.axis, choice.policies, request.sysfs);
  return {request.axis,
          std::make_unique<CpuWords>(request, words, std::move(files), choice.policies, std::move(tunables)),
          {}};
}

KnobFinding find_cpu_epp(const KnobRequest& request) {
  auto choice = choose_policies(request.target, request.sysfs, *request.cpufreq);
  if (!choice.problem.empty()) return {request.axis, nullptr, choice.problem};
  std::vector<std::vector<std::string>> lists;
  std::vector<WordFile> files;
  for (const CpufreqPolicy& policy : choice.policies) {
    lists.push_back(split_words(
        request.sysfs.text(policy.path + "/energy_performance_available_preferences").value_or("")));
    files.push_back({policy.name, policy.path + "/energy_performance_preference", {}, policy.cpus});
  }
  const auto words = common_words(lists);
  if (words.empty()) {
    return {request.axis, nullptr,
            fmt::format("driver {} has no energy_performance_preference; it takes intel_pstate or amd-pstate "
                        "in active mode",
                        choice.policies.front().driver)};
  }
  return {request.axis, std::make_unique<CpuWords>(request, words, std::move(files), choice.policies), {}};
}

KnobFinding find_cpu_turbo(const KnobRequest& request) {
  auto choice = choose_policies(request.target, request.sysfs, *request.cpufreq);
  if (!choice.problem.empty()) return {request.axis, nullptr, choice.problem};
  std::vector<WordFile> files;
  for (const TurboFile& turbo : turbo_files(choice.policies, request.sysfs)) {
    if (!request.target.empty() && turbo.target == "machine") {
      return {
          request.axis, nullptr,
          fmt::format("turbo is one switch for the whole machine here ({}); write cpu.turbo", turbo.path)};
    }
    files.push_back({turbo.target,
                     turbo.path,
                     {{"on", turbo.inverted ? "0" : "1"}, {"off", turbo.inverted ? "1" : "0"}},
                     turbo.cpus});
  }
  if (files.empty()) {
    return {request.axis, nullptr,
            fmt::format("driver {} has no switch for turbo (neither intel_pstate/no_turbo nor cpufreq/boost)",
                        choice.policies.front().driver)};
  }
  return {request.axis,
          std::make_unique<CpuWords>(request, std::vector<std::string>{"off", "on"}, std::move(files),
                                     choice.policies),
          {}};
}

const Registered<KnobKind> cpu_governor({.name = "cpu.governor",
                                         .place = 10,
                                         .what = "cpufreq governor: a name of scaling_available_governors",
                                         .of_cpu_clocks = true,
                                         .find = find_cpu_governor});
const Registered<KnobKind> cpu_epp(
    {.name = "cpu.epp",
     .place = 20,
     .what = "energy_performance_preference of intel_pstate and amd-pstate in active mode",
     .of_cpu_clocks = true,
     .find = find_cpu_epp});
const Registered<KnobKind> cpu_turbo({.name = "cpu.turbo",
                                      .place = 30,
                                      .what = "clocks above the base clock: on or off",
                                      .of_cpu_clocks = true,
                                      .find = find_cpu_turbo});

}  // namespace
}  // namespace dvfs_plan
