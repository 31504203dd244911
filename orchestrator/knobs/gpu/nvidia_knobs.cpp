// NVIDIA's clocks and power limit. Locks where the board offers them, application clocks where it does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "orchestrator/knobs/gpu/gpu_knobs.hpp"
#include "orchestrator/settings/setting_access.hpp"

namespace dvfs_plan {

// One board as its knobs see it. Application clocks are a pair, so the knobs of memory and core share what
// each of them asked for.
class NvidiaClocks {
 public:
  NvidiaClocks(NvidiaSetter setter, GpuBoard board) : setter_(std::move(setter)), board_(std::move(board)) {
    pairs_ = setter_.smi().supported_clocks(board_.uuid);
    const auto table =
        setter_.smi().query({"compute_cap", "power.min_limit", "power.max_limit"}, board_.uuid).table;
    // Without the field (older drivers) it is tried, and the board's refusal believed.
    const double capability = table.number(0, "compute_cap").value_or(99);
    core_locks_ = capability >= 7.0;    // Volta
    memory_locks_ = capability >= 8.0;  // Ampere
    lowest_w_ = table.number(0, "power.min_limit");
    highest_w_ = table.number(0, "power.max_limit");
    former_application_clocks_ = setter_.application_clocks(board_.uuid);
  }

  const GpuBoard& board() const { return board_; }
  const NvidiaSetter& setter() const { return setter_; }
  const std::vector<NvidiaSmi::ClockPair>& pairs() const { return pairs_; }
  std::optional<double> lowest_w() const { return lowest_w_; }
  std::optional<double> highest_w() const { return highest_w_; }

  double highest_memory() const {
    double highest = 0;
    for (const auto& pair : pairs_) highest = std::max(highest, pair.memory_mhz);
    return highest;
  }

  // Clocks of an axis that may be asked for.
  std::vector<double> offered(GpuAxis axis) const {
    std::vector<double> mhz;
    for (const auto& pair : pairs_) mhz.push_back(axis == GpuAxis::memory ? pair.memory_mhz : pair.core_mhz);
    return mhz;
  }

  std::vector<SavedSetting> snapshot(GpuAxis axis, const std::string& knob) const {
    std::vector<SavedSetting> saved;
    saved.push_back({knob, lock_path(axis), "reset"});
    if (former_application_clocks_)
      saved.push_back(
          {knob, nvidia_setting(board_.uuid, "clocks.applications"), *former_application_clocks_});
    return saved;
  }

  // The clock as such, however it is set: application clocks are a pair that both knobs write.
  std::string lock_path(GpuAxis axis) const {
    return nvidia_setting(board_.uuid, axis == GpuAxis::memory ? "lock.memory" : "lock.core");
  }
  bool has_lock(GpuAxis axis) const { return axis == GpuAxis::memory ? memory_locks_ : core_locks_; }
  void changed_by_others() { last_application_clocks_.clear(); }

  // What set() asks for: the lock, or the application clocks that take its place where there is none.
  std::optional<SettingText> request(GpuAxis axis, int mhz) const {
    if (has_lock(axis)) return SettingText{lock_path(axis), std::to_string(mhz)};
    if (!former_application_clocks_) return std::nullopt;
    return SettingText{nvidia_setting(board_.uuid, "clocks.applications"), pair_with(axis, mhz)};
  }

  AppliedSetting set(GpuAxis axis, int mhz, const std::string& text, SettingWriter& writer) {
    AppliedSetting setting{board_.domain, text, std::nullopt, {}};
    bool& locks = axis == GpuAxis::memory ? memory_locks_ : core_locks_;
    (axis == GpuAxis::memory ? memory_ : core_) = mhz;
    if (locks) {
      const WriteAnswer answer = writer.write(lock_path(axis), std::to_string(mhz));
      // The answer repeats the bounds it took; nothing else can be read back of a lock.
      if (answer.problem.empty()) setting.applied = text;
      setting.problem = describe(axis, text, answer.problem);
      // The board has said that it does not offer locks: the next attempt takes application clocks.
      if (answer.unsupported && former_application_clocks_) locks = false;
      return setting;
    }
    return set_application_clocks(axis, mhz, text, writer);
  }

 private:
  std::string describe(GpuAxis axis, const std::string& text, const std::string& problem) const {
    if (problem.empty()) return {};
    return fmt::format("{} of {} ({}): set {}: {}", axis == GpuAxis::memory ? "memory clock" : "core clock",
                       board_.domain, board_.name, text, problem);
  }

  AppliedSetting set_application_clocks(GpuAxis axis, int mhz, const std::string& text,
                                        SettingWriter& writer) {
    AppliedSetting setting{board_.domain, text, std::nullopt, {}};
    if (!former_application_clocks_) {
      setting.problem = describe(axis, text, "the board offers neither clock locks nor application clocks");
      return setting;
    }
    const auto before = setter_.application_clocks(board_.uuid);
    if (before && !last_application_clocks_.empty() && *before != last_application_clocks_)
      setting.note = fmt::format(
          "the application clocks of {} were {} MHz before this trial; this run had set {}: somebody else "
          "changed them",
          board_.domain, *before, last_application_clocks_);
    const std::string wanted = pair_with(axis, mhz);
    const WriteAnswer answer = writer.write(nvidia_setting(board_.uuid, "clocks.applications"), wanted);
    const auto& now = answer.reads;
    if (now) last_application_clocks_ = *now;
    if (now == wanted) setting.applied = text;
    if (!answer.problem.empty())
      setting.problem = describe(axis, text, answer.problem);
    else if (now != wanted)
      setting.problem =
          describe(axis, text, fmt::format("read back {} (memory,core)", now.value_or("nothing")));
    return setting;
  }

  // The application clocks, "MEMORY,CORE", that asking for one of the two comes to.
  std::string pair_with(GpuAxis axis, int mhz) const {
    const int memory = axis == GpuAxis::memory ? mhz : memory_.value_or(static_cast<int>(highest_memory()));
    return fmt::format("{},{}", memory, axis == GpuAxis::core ? mhz : core_at(memory));
  }

  // A core clock that goes with a memory clock: the one asked for if it does, else the highest.
  int core_at(int memory) const {
    double best = 0;
    for (const auto& pair : pairs_) {
      if (std::lround(pair.memory_mhz) != memory) continue;
      if (core_ && std::lround(pair.core_mhz) == *core_) return *core_;
      best = std::max(best, pair.core_mhz);
    }
    return static_cast<int>(best);
  }

  NvidiaSetter setter_;
  GpuBoard board_;
  std::vector<NvidiaSmi::ClockPair> pairs_;
  bool core_locks_ = true, memory_locks_ = true;
  std::optional<double> lowest_w_, highest_w_;
  std::optional<std::string> former_application_clocks_;
  std::string last_application_clocks_;
  std::optional<int> memory_, core_;  // asked for last
};

namespace {

using Boards = std::vector<std::shared_ptr<NvidiaClocks>>;

class NvidiaClockKnob : public Knob {
 public:
  NvidiaClockKnob(std::string name, GpuAxis which, AxisOffer offer, Boards boards, std::string other)
      : axis_(std::move(name)),
        which_(which),
        offer_(std::move(offer)),
        boards_(std::move(boards)),
        other_(std::move(other)) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  std::string clock_quantity() const override { return clock_quantity_of(which_); }
  bool whole_steps() const override { return true; }

  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const auto& board : boards_) {
      for (SavedSetting& setting : board->snapshot(which_, axis_)) saved.push_back(std::move(setting));
    }
    return saved;
  }

  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const auto& board : boards_) {
      if (auto one = board->request(which_, mhz_of(value))) requests.push_back(std::move(*one));
    }
    return requests;
  }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const auto& board : boards_)
      applied.push_back(board->set(which_, mhz_of(value), value.text, writer));
    return applied;
  }

  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const auto& board : boards_) paths.push_back(board->lock_path(which_));
    return paths;
  }
  void changed_by_others() override {
    for (const auto& board : boards_) board->changed_by_others();
  }
  bool shown_by_clock_only() const override {
    return std::any_of(boards_.begin(), boards_.end(),
                       [&](const auto& board) { return board->has_lock(which_); });
  }

  std::optional<AllowedPairs> allowed_pairs() const override {
    if (which_ != GpuAxis::core) return std::nullopt;
    AllowedPairs allowed{axis_, other_, {}};
    for (const auto& pair : boards_.front()->pairs()) {
      const bool everywhere = std::all_of(boards_.begin() + 1, boards_.end(), [&](const auto& board) {
        return std::any_of(board->pairs().begin(), board->pairs().end(), [&](const auto& p) {
          return p.core_mhz == pair.core_mhz && p.memory_mhz == pair.memory_mhz;
        });
      });
      if (everywhere) allowed.pairs.emplace_back(pair.core_mhz * 1e6, pair.memory_mhz * 1e6);
    }
    return allowed;
  }

 private:
  static int mhz_of(const AxisValue& value) {
    return static_cast<int>(std::lround(value.hertz().value() / 1e6));
  }

  std::string axis_;
  GpuAxis which_;
  AxisOffer offer_;
  Boards boards_;
  std::string other_;  // the axis of the other clock of these boards
};

class NvidiaPowerLimit : public Knob {
 public:
  NvidiaPowerLimit(std::string axis, AxisOffer offer, Boards boards)
      : axis_(std::move(axis)), offer_(std::move(offer)), boards_(std::move(boards)) {}

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }

  std::vector<SavedSetting> snapshot() const override {
    std::vector<SavedSetting> saved;
    for (const auto& board : boards_) {
      const auto now = board->setter().power_limit(board->board().uuid);
      // What is not on record must not be set.
      if (!now)
        throw Error(ExitCode::machine_refuses,
                    fmt::format("the power limit of {} ({}) cannot be read now, so it could not be put back",
                                board->board().domain, board->board().name),
                    "nothing was set; look whether nvidia-smi answers");
      saved.push_back({axis_, nvidia_setting(board->board().uuid, "power.limit"), *now});
    }
    return saved;
  }

  std::vector<SettingText> requests(const AxisValue& value) const override {
    std::vector<SettingText> requests;
    for (const auto& board : boards_) requests.push_back(request_of(*board, value));
    return requests;
  }

  std::vector<std::string> writes() const override {
    std::vector<std::string> paths;
    for (const auto& board : boards_) paths.push_back(nvidia_setting(board->board().uuid, "power.limit"));
    return paths;
  }
  void changed_by_others() override { last_.clear(); }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter& writer) override {
    std::vector<AppliedSetting> applied;
    for (const auto& board : boards_) applied.push_back(apply_to(*board, value, writer));
    return applied;
  }

 private:
  static SettingText request_of(const NvidiaClocks& board, const AxisValue& value) {
    return {nvidia_setting(board.board().uuid, "power.limit"), fmt::format("{:g}", value.watts().value())};
  }

  AppliedSetting apply_to(const NvidiaClocks& board, const AxisValue& value, SettingWriter& writer) {
    const std::string& uuid = board.board().uuid;
    AppliedSetting setting{board.board().domain, value.text, std::nullopt, {}};
    const auto before = board.setter().power_limit(uuid);
    const auto ours = last_.find(uuid);
    if (before && ours != last_.end() && *before != ours->second)
      setting.note = fmt::format(
          "the power limit of {} was {} W before this trial; this run had set {} W: somebody else changed it",
          board.board().domain, *before, ours->second);
    const SettingText request = request_of(board, value);
    const WriteAnswer answer = writer.write(request.path, request.text);
    const auto& now = answer.reads;
    if (now) {
      last_[uuid] = *now;
      setting.stands = {{axis_, request.path, *now}};
      if (const auto watts = parse_number(*now)) {
        setting.power_limit = Watts{*watts};
        setting.applied = format_quantity(*watts, Dimension::power);
      }
    }
    if (!answer.problem.empty())
      setting.problem = fmt::format("power limit of {} ({}): set {}: {}", board.board().domain,
                                    board.board().name, value.text, answer.problem);
    return setting;
  }

  std::string axis_;
  AxisOffer offer_;
  Boards boards_;
  std::map<std::string, std::string> last_;  // what each read after we set it, by UUID
};

// Clocks that every board offers.
std::vector<double> common_clocks(const Boards& boards, GpuAxis axis) {
  std::vector<double> common = boards.front()->offered(axis);
  for (const auto& board : boards) {
    const auto mine = board->offered(axis);
    std::erase_if(common, [&](double mhz) { return std::find(mine.begin(), mine.end(), mhz) == mine.end(); });
  }
  return common;
}

}  // namespace

KnobFinding find_nvidia_knob(GpuAxis axis, const KnobRequest& request, const std::vector<GpuBoard>& boards) {
  const auto smi = NvidiaSmi::find(request.sysfs);
  if (!smi) {
    return {request.axis, nullptr,
            fmt::format("nvidia-smi, which sets {}, is not on PATH; install the driver's utilities",
                        boards.front().name)};
  }
  Boards clocks;
  for (const GpuBoard& board : boards) {
    auto& known = request.nvidia[board.uuid];
    if (!known) known = std::make_shared<NvidiaClocks>(NvidiaSetter(*smi), board);
    clocks.push_back(known);
  }
  if (axis == GpuAxis::power_limit) {
    double lowest = 0, highest = 1e9;
    for (const auto& board : clocks) {
      if (!board->lowest_w() || !board->highest_w()) {
        return {request.axis, nullptr,
                fmt::format("{} ({}) has no power limit that can be set: power.min_limit is not told "
                            "(laptops and vGPUs)",
                            board->board().domain, board->board().name)};
      }
      lowest = std::max(lowest, *board->lowest_w());
      highest = std::min(highest, *board->highest_w());
    }
    if (lowest > highest)
      return {request.axis, nullptr, "the boards have no power limit in common; name one: gpu.power_limit@0"};
    return {request.axis,
            std::make_unique<NvidiaPowerLimit>(request.axis, offer_of_watts(lowest, highest), clocks),
            {}};
  }
  const auto common = common_clocks(clocks, axis);
  if (common.empty()) {
    const bool lists_none = clocks.front()->pairs().empty();
    return {request.axis, nullptr,
            lists_none
                ? fmt::format("{} ({}) lists no supported clocks (nvidia-smi -q -d SUPPORTED_CLOCKS): its "
                              "clocks cannot be set; gpu.power_limit may",
                              clocks.front()->board().domain, clocks.front()->board().name)
                : "the boards have no clock in common; name one: " + request.axis + "@0"};
  }
  const std::string other = std::string(axis == GpuAxis::core ? "gpu.memory" : "gpu.core") +
                            (request.target.empty() ? "" : "@" + request.target);
  return {request.axis,
          std::make_unique<NvidiaClockKnob>(request.axis, axis, offer_of_mhz(common), clocks, other),
          {}};
}

}  // namespace dvfs_plan
