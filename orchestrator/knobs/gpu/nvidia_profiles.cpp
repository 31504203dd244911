// gpu.profile: NVIDIA's workload power profiles (nvidia-smi power-profiles), one at a time. Several may be asked for at once, and of
// those that exclude each other the board enforces the one with the higher priority: so what is enforced is looked at, too.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/gpu/gpu_knobs.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {
namespace {

constexpr const char* no_profile = "none";

struct ProfiledBoard {
  GpuBoard board;
  std::vector<WorkloadProfile> profiles;

  std::string path() const { return nvidia_setting(board.uuid, "workload.profiles"); }
  // "LLM Inference" -> "6".
  std::string number_of(const std::string& name) const {
    for (const WorkloadProfile& profile : profiles) {
      if (profile.name == name) return std::to_string(profile.number);
    }
    return no_profile;
  }
  // "0,6" -> "Max-P, LLM Inference".
  std::string names_of(const std::string& numbers) const {
    std::vector<std::string> names;
    for (const WorkloadProfile& profile : profiles) {
      if (("," + numbers + ",").find(fmt::format(",{},", profile.number)) != std::string::npos)
        names.push_back(profile.name);
    }
    return names.empty() ? numbers : join(names, ", ");
  }
};

class NvidiaProfileKnob : public Knob {
 public:
  NvidiaProfileKnob(std::string axis, AxisOffer offer, NvidiaSetter setter, std::vector<ProfiledBoard> boards)
      : axis_(std::move(axis)),
        offer_(std::move(offer)),
        setter_(std::move(setter)),
        boards_(std::move(boards)) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }

  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const ProfiledBoard& one : boards_) {
      const auto now = setter_.requested_profiles(one.board.uuid);
      if (!now)
        throw Error(
            ExitCode::machine_refuses,
            fmt::format("which workload power profiles are asked for of {} ({}) cannot be read now, so "
                        "it could not be put back",
                        one.board.domain, one.board.name),
            fmt::format("nothing was set; nvidia-smi power-profiles -i {} -gr  must tell", one.board.uuid));
      saved.push_back({axis_, one.path(), *now});
    }
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const ProfiledBoard& one : boards_) paths.push_back(one.path());
    return paths;
  }
  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const ProfiledBoard& one : boards_) requests.push_back({one.path(), one.number_of(value.text)});
    return requests;
  }
  void changed_by_others() override { last_.clear(); }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const ProfiledBoard& one : boards_) applied.push_back(apply_to(one, value.text, writer));
    return applied;
  }

 private:
  AppliedSetting apply_to(const ProfiledBoard& one, const std::string& name, SettingWriter& writer) {
    AppliedSetting setting{one.board.domain, name, std::nullopt, {}};
    const std::string what =
        fmt::format("workload power profile of {} ({})", one.board.domain, one.board.name);
    const auto before = setter_.requested_profiles(one.board.uuid);
    const auto ours = last_.find(one.board.uuid);
    if (before && ours != last_.end() && *before != ours->second)
      setting.note =
          fmt::format("the {} was {} before this trial; this run had set {}: somebody else changed it", what,
                      one.names_of(*before), one.names_of(ours->second));
    const std::string wanted = one.number_of(name);
    const WriteAnswer answer = writer.write(one.path(), wanted);
    if (answer.reads) {
      last_[one.board.uuid] = *answer.reads;
      setting.stands = {{axis_, one.path(), *answer.reads}};
    }
    const auto enforced = enforced_once_it_is(one.board.uuid, wanted);
    if (enforced) setting.applied = one.names_of(*enforced);
    if (!answer.problem.empty())
      setting.problem = fmt::format("{}: set {}: {}", what, name, answer.problem);
    else if (answer.reads != wanted)
      setting.problem = fmt::format("{}: asked for {}, and asked for is {} now", what, name,
                                    answer.reads ? one.names_of(*answer.reads) : "what is not told");
    else if (enforced != wanted)
      setting.problem = fmt::format("{}: asked for {}, and the board enforces {}", what, name,
                                    enforced ? one.names_of(*enforced) : "what it does not tell");
    return setting;
  }

  // What the board enforces, with the time that it may take.
  std::optional<std::string> enforced_once_it_is(const std::string& uuid, const std::string& wanted) const {
    constexpr int looks = 5;
    std::optional<std::string> enforced;
    for (int i = 0; i < looks; ++i) {
      enforced = setter_.enforced_profiles(uuid);
      if (!enforced || *enforced == wanted) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return enforced;
  }

  const std::string axis_;
  const AxisOffer offer_;
  const NvidiaSetter setter_;
  const std::vector<ProfiledBoard> boards_;
  std::map<std::string, std::string> last_;  // what each read after we set it, by UUID
};

}  // namespace

KnobFinding find_nvidia_profile_knob(const KnobRequest& request, const std::vector<GpuBoard>& boards) {
  const auto smi = NvidiaSmi::find(request.sysfs);
  if (!smi) return {request.axis, nullptr, "nvidia-smi is not on PATH; install the driver's utilities"};
  const NvidiaSetter setter(*smi);
  std::vector<ProfiledBoard> profiled;
  for (const GpuBoard& board : boards) {
    profiled.push_back({board, setter.workload_profiles(board.uuid)});
    if (profiled.back().profiles.empty())
      return {request.axis, nullptr,
              fmt::format(
                  "{} ({}) offers no workload power profiles: boards from Blackwell on do, under driver 570 "
                  "and later",
                  board.domain, board.name)};
  }
  AxisOffer offer;
  offer.values.push_back({no_profile, std::nullopt});
  for (const WorkloadProfile& profile : profiled.front().profiles) {
    const bool everywhere = std::all_of(profiled.begin(), profiled.end(), [&](const ProfiledBoard& one) {
      return one.number_of(profile.name) != no_profile;
    });
    if (everywhere) offer.values.push_back({profile.name, std::nullopt});
  }
  return {request.axis,
          std::make_unique<NvidiaProfileKnob>(request.axis, std::move(offer), setter, std::move(profiled)),
          {}};
}

}  // namespace dvfs_plan
