// AMD's clocks and power limit through amdgpu's files. Documentation/gpu/amdgpu/thermal.rst.
//
// Clocks: one DPM level allowed under power_dpm_force_performance_level = manual; or, where overdrive is
// enabled (amdgpu.ppfeaturemask), both limits of pp_od_clk_voltage. Which levels are allowed cannot be read:
// they go with the performance level, whose former text is put back.
// Instinct boards (MI200 on) list their limits there with no range beside them, refuse both to be the same, and
// take a highest core clock under perf_determinism, their memory's not at all
// (drivers/gpu/drm/amd/pm/swsmu/smu13: aldebaran_ppt.c, smu_v13_0_6_ppt.c).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"
#include "orchestrator/knobs/gpu/gpu_knobs.hpp"
#include "orchestrator/settings/amdgpu_overdrive.hpp"
#include "orchestrator/settings/nvidia_doors.hpp"

namespace dvfs_plan {
namespace {

struct DpmLevel {
  int index = 0;
  double mhz = 0;
  bool active = false;
};

// "0: 500Mhz\n1: 1825Mhz *"
std::vector<DpmLevel> parse_levels(const std::string& text) {
  std::vector<DpmLevel> levels;
  for (const std::string& line : split_lines(text)) {
    const auto words = split_words(line);
    if (words.size() < 2 || !words[0].ends_with(':')) continue;
    const auto index = parse_number(std::string_view(words[0]).substr(0, words[0].size() - 1));
    const auto digits = words[1].find_first_not_of("0123456789");
    const auto mhz = parse_number(std::string_view(words[1]).substr(0, digits));
    // A sleeping board shows a level S: with its deep-sleep clock; it has no number.
    if (index && mhz) levels.push_back({static_cast<int>(*index), *mhz, words.back() == "*"});
  }
  return levels;
}

// Boards with fine-grained DPM list their lowest clock, the one they run at just now, and their highest; of
// these only the ends can be asked for (navi10_ppt.c). With two or three lines nobody can tell, so the ends
// it is.
std::vector<DpmLevel> selectable(std::vector<DpmLevel> levels) {
  if (levels.size() == 3) levels.erase(levels.begin() + 1);
  return levels;
}

// What a board's clock is set by.
enum class ClockDoor { level, both_limits, highest };

struct AmdBoard {
  std::string target, folder;
  ClockDoor by = ClockDoor::level;
  std::vector<DpmLevel> levels;
  OverdriveLimits range;  // of a table

  bool has_table() const { return by != ClockDoor::level; }
  const char* performance_level() const { return by == ClockDoor::highest ? "perf_determinism" : "manual"; }
  OverdriveLimits limits_for(int mhz) const { return {by == ClockDoor::highest ? range.low_mhz : mhz, mhz}; }
};

// Both limits of the core clock, and no OD_RANGE.
bool is_instinct(const std::string& table) {
  return overdrive_limits(table, OverdriveClock::core) && table.find("OD_RANGE") == std::string::npos;
}

class AmdClockKnob : public Knob {
 public:
  AmdClockKnob(std::string name, GpuAxis which, AxisOffer offer, std::vector<AmdBoard> boards,
               const Sysfs& sysfs)
      : axis_(std::move(name)),
        which_(which),
        offer_(std::move(offer)),
        boards_(std::move(boards)),
        sysfs_(sysfs) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::string clock_quantity() const override { return clock_quantity_of(which_); }
  bool whole_steps() const override { return true; }

  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const AmdBoard& board : boards_) {
      if (board.has_table()) {
        const std::string path = overdrive_setting(table_of(board), which_ == GpuAxis::core);
        const auto now = SettingAccess(sysfs_, nvidia_doors()).at(path).read().text;
        if (!now)
          throw Error(ExitCode::machine_refuses,
                      fmt::format("{} cannot be read now, so it could not be put back", table_of(board)),
                      "nothing was set");
        saved.push_back({axis_, path, *now});
      }
      save_or_refuse(axis_, level_of(board), sysfs_, saved);
    }
    return saved;
  }
  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const AmdBoard& board : boards_)
      paths.push_back(board.has_table() ? overdrive_setting(table_of(board), which_ == GpuAxis::core)
                                        : levels_of(board));
    return paths;
  }
  // Which DPM levels are allowed cannot be read; the overdrive table can.
  bool shown_by_clock_only() const override {
    return std::any_of(boards_.begin(), boards_.end(), [](const AmdBoard& b) { return !b.has_table(); });
  }

  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const AmdBoard& board : boards_) {
      for (SettingText& one : requests_of(board, mhz_of(value))) requests.push_back(std::move(one));
    }
    return requests;
  }
  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const AmdBoard& board : boards_) applied.push_back(apply_to(board, value, writer));
    return applied;
  }

 private:
  static std::string table_of(const AmdBoard& board) { return board.folder + "/pp_od_clk_voltage"; }
  std::string levels_of(const AmdBoard& board) const {
    return board.folder + (which_ == GpuAxis::core ? "/pp_dpm_sclk" : "/pp_dpm_mclk");
  }
  static std::string level_of(const AmdBoard& board) {
    return board.folder + "/power_dpm_force_performance_level";
  }

  static int mhz_of(const AxisValue& value) {
    return static_cast<int>(std::lround(value.hertz().value() / 1e6));
  }

  // The performance level first; then the table's limits, or the DPM level. The second is left out where there
  // is no such level.
  std::vector<SettingText> requests_of(const AmdBoard& board, int mhz) const {
    std::vector<SettingText> requests{{level_of(board), board.performance_level()}};
    if (board.has_table()) {
      const auto [low, high] = board.limits_for(mhz);
      requests.push_back(
          {overdrive_setting(table_of(board), which_ == GpuAxis::core), fmt::format("{} {}", low, high)});
      return requests;
    }
    const auto level = std::find_if(board.levels.begin(), board.levels.end(),
                                    [&](const DpmLevel& l) { return std::lround(l.mhz) == mhz; });
    if (level != board.levels.end()) requests.push_back({levels_of(board), std::to_string(level->index)});
    return requests;
  }

  AppliedSetting apply_to(const AmdBoard& board, const AxisValue& value, SettingWriter& writer) {
    AppliedSetting setting{board.target, value.text, std::nullopt, {}};
    const int mhz = mhz_of(value);
    const auto fail = [&](const std::string& what) {
      setting.problem = fmt::format("{} {}: set {}: {}", axis_, board.target, value.text, what);
      return setting;
    };
    const auto requests = requests_of(board, mhz);
    if (requests.size() < 2) return fail("there is no such level");
    const auto answers = writer.write(requests);
    if (!answers[0].problem.empty())
      return fail(fmt::format("power_dpm_force_performance_level to {}: {}", board.performance_level(),
                              answers[0].problem));
    if (!answers[1].problem.empty())
      return fail((board.has_table() ? "pp_od_clk_voltage" : levels_of(board)) + ": " + answers[1].problem);
    if (board.has_table()) {
      const auto clock = which_ == GpuAxis::core ? OverdriveClock::core : OverdriveClock::memory;
      const auto now = overdrive_limits(sysfs_.text(table_of(board)).value_or(""), clock);
      const auto wanted = board.limits_for(mhz);
      if (now && (now->high_mhz == now->low_mhz || board.by == ClockDoor::highest))
        setting.applied = fmt::format("{} MHz", now->high_mhz);
      if (!now || now->low_mhz != wanted.low_mhz || now->high_mhz != wanted.high_mhz)
        setting.problem = fmt::format(
            "{} {}: asked for {}, read back {}", axis_, board.target, value.text,
            now ? fmt::format("{} to {} MHz", now->low_mhz, now->high_mhz) : std::string("nothing"));
      if (setting.problem.empty()) setting.problem = level_problem(board);
      return setting;
    }
    const std::string file = levels_of(board);
    // The star marks the clock of now, not what is allowed: it tells only when it stands at the level.
    for (const DpmLevel& now : parse_levels(sysfs_.text(file).value_or(""))) {
      if (now.active && std::lround(now.mhz) == mhz) setting.applied = value.text;
    }
    setting.problem = level_problem(board);
    return setting;
  }

  std::string level_problem(const AmdBoard& board) const {
    const auto level = sysfs_.text(level_of(board));
    if (level == board.performance_level()) return {};
    return fmt::format("{} {}: power_dpm_force_performance_level reads '{}' after {} was set", axis_,
                       board.target, level.value_or("nothing"), board.performance_level());
  }

  std::string axis_;
  GpuAxis which_;
  AxisOffer offer_;
  std::vector<AmdBoard> boards_;
  const Sysfs& sysfs_;
};

KnobFinding find_amdgpu_power(const KnobRequest& request, const std::vector<GpuBoard>& boards) {
  std::vector<PowerFile> files;
  for (const GpuBoard& board : boards) {
    for (const std::string& hwmon : request.sysfs.list(board.folder + "/hwmon")) {
      const std::string cap = board.folder + "/hwmon/" + hwmon + "/power1_cap";
      const auto lowest = request.sysfs.number(cap + "_min"), highest = request.sysfs.number(cap + "_max");
      // Kernels before 6.7 say that the least is 0 W, which no board holds; a quarter is what they still do.
      const double least = lowest.value_or(0) > 0 ? *lowest : highest.value_or(0) / 4;
      if (request.sysfs.exists(cap) && highest && *highest > 0)
        files.push_back({board.domain, cap, least * 1e-6, *highest * 1e-6});
    }
  }
  if (files.size() != boards.size())
    return {request.axis, nullptr, "amdgpu offers no power1_cap for " + boards.front().name};
  return make_power_file_knob(request, std::move(files));
}

}  // namespace

KnobFinding find_amdgpu_knob(GpuAxis axis, const KnobRequest& request, const std::vector<GpuBoard>& boards) {
  if (axis == GpuAxis::power_limit) return find_amdgpu_power(request, boards);
  const auto clock = axis == GpuAxis::core ? OverdriveClock::core : OverdriveClock::memory;
  std::vector<AmdBoard> found;
  std::vector<double> common;
  bool all_by_table = true;
  for (const GpuBoard& board : boards) {
    AmdBoard one{board.domain, board.folder, ClockDoor::level, {}, {}};
    const char* file = axis == GpuAxis::core ? "/pp_dpm_sclk" : "/pp_dpm_mclk";
    one.levels = selectable(parse_levels(request.sysfs.text(board.folder + file).value_or("")));
    const std::string table = request.sysfs.text(board.folder + "/pp_od_clk_voltage").value_or("");
    if (is_instinct(table)) {
      if (axis != GpuAxis::core)
        return {request.axis, nullptr,
                fmt::format("{} ({}): amdgpu takes no clock for the memory of such boards", board.domain,
                            board.name)};
      if (one.levels.size() > 1) {
        one.by = ClockDoor::highest;
        one.range = {static_cast<int>(std::lround(one.levels.front().mhz)),
                     static_cast<int>(std::lround(one.levels.back().mhz))};
      }
    } else if (const auto range = overdrive_range(table, clock); range && overdrive_limits(table, clock)) {
      one.by = ClockDoor::both_limits;
      one.range = *range;
    }
    if (request.sysfs.text(board.folder + "/power_dpm_force_performance_level") == "manual") {
      return {
          request.axis, nullptr,
          fmt::format(
              "{} ({}): power_dpm_force_performance_level is 'manual'; which levels are allowed cannot be "
              "read, so it could not be put back: echo auto | sudo tee "
              "{}/power_dpm_force_performance_level",
              board.domain, board.name, board.folder)};
    }
    if (!one.has_table() && one.levels.empty()) {
      return {request.axis, nullptr,
              fmt::format("{} ({}) lists no levels in {}{}: its clock cannot be set", board.domain,
                          board.name, board.folder, file)};
    }
    all_by_table = all_by_table && one.has_table();
    std::vector<double> mine;
    for (const DpmLevel& level : one.levels) mine.push_back(level.mhz);
    if (found.empty()) common = mine;
    std::erase_if(common, [&](double mhz) { return std::find(mine.begin(), mine.end(), mhz) == mine.end(); });
    found.push_back(one);
  }
  AxisOffer offer;
  if (all_by_table) {
    double lowest = 0, highest = 1e9;
    for (const AmdBoard& board : found) {
      lowest = std::max<double>(lowest, board.range.low_mhz);
      highest = std::min<double>(highest, board.range.high_mhz);
    }
    constexpr double step_mhz = 50;
    offer = offer_of_mhz_range(lowest, highest, step_mhz);
    offer.continuous = AxisOffer::Continuous{lowest * 1e6, highest * 1e6};
  } else {
    for (AmdBoard& board : found) board.by = ClockDoor::level;
    offer = offer_of_mhz(common);
  }
  if (offer.values.empty())
    return {request.axis, nullptr, "the boards have no clock in common; name one: " + request.axis + "@0"};
  return {
      request.axis,
      std::make_unique<AmdClockKnob>(request.axis, axis, std::move(offer), std::move(found), request.sysfs),
      {}};
}

}  // namespace dvfs_plan
