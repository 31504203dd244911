#include "probes/gpu/smi_stream.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/text.hpp"
#include "probes/gpu/board_channel.hpp"

namespace dvfs_plan {
namespace {

struct Column {
  const char* quantity;
  std::vector<std::string> fields;  // the first that the driver knows
  const char* unit;
  ChannelKind kind;
  double scale;
  bool under_load_only = false;
  std::optional<double> averages_over_s = {};
};

const std::vector<Column>& known_columns() {
  const auto gauge = ChannelKind::gauge;
  const auto counter = ChannelKind::counter;
  static const std::vector<Column> columns{
      {"power_instant", {"power.draw.instant"}, "W", gauge, 1, false, {}},
      // A mean over 1 s; plain power.draw is that on Ampere and newer only.
      {"power_average", {"power.draw.average", "power.draw"}, "W", gauge, 1, false, 1.0},
      {"core_clock", {"clocks.current.sm"}, "Hz", gauge, 1e6, true, {}},
      {"memory_clock", {"clocks.current.memory"}, "Hz", gauge, 1e6, true, {}},
      {"utilisation", {"utilization.gpu"}, "%", gauge, 1, false, {}},
      {"temperature", {"temperature.gpu"}, "C", gauge, 1, false, {}},
      {"memory_temperature", {"temperature.memory"}, "C", gauge, 1, false, {}},
      {"memory_used", {"memory.used"}, "B", gauge, 1048576, false, {}},
      {"throttle_power_cap", {"clocks_event_reasons_counters.sw_power_cap"}, "s", counter, 1e-6, false, {}},
      {"throttle_thermal",
       {"clocks_event_reasons_counters.sw_thermal_slowdown"},
       "s",
       counter,
       1e-6,
       false,
       {}},
      {"throttle_hardware_thermal",
       {"clocks_event_reasons_counters.hw_thermal_slowdown"},
       "s",
       counter,
       1e-6,
       false,
       {}},
      {"throttle_power_brake",
       {"clocks_event_reasons_counters.hw_power_brake_slowdown"},
       "s",
       counter,
       1e-6,
       false,
       {}},
  };
  return columns;
}

// A supervisor in a shell, so that a program which died is started again by the process that may start
// children: launching from the sampler's thread would tie them to it. It tells who runs.
const char* const supervisor =
    R"(while :; do "$@" & echo "dvfs-plan: runs $!"; wait $!; echo "dvfs-plan: ended $?"; sleep 0.5; done)";
constexpr std::string_view tells_pid = "dvfs-plan: runs ", tells_end = "dvfs-plan: ended ";
// It prints a line each time; power takes a new value every 20 to 100 ms.
constexpr int interval_ms = 50;
constexpr Seconds silence_to_restart{2};
constexpr int most_vain_ends = 5;  // ends in a row without a line between

class SmiStream : public Probe {
 public:
  SmiStream(SmiStreamReader reader, Child child, const ProbeRequest& request)
      : reader_(std::move(reader)),
        child_(std::move(child)),
        launcher_(*request.launcher),
        clock_(*request.clock) {
    launcher_.group().own(child_.pid());
    heard_ = clock_.now();
  }
  ~SmiStream() override { launcher_.group().disown(child_.pid()); }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return reader_.channels(); }
  Seconds period() const override { return Seconds{interval_ms * 1e-3 / 2}; }

  void read(std::span<Sample> samples) override {
    for (Sample& sample : samples) sample = {std::nullopt, gone_ ? ReadingStatus::gone : ReadingStatus::ok};
    if (gone_) return;
    const int lines = reader_.lines(), ends = reader_.ends();
    char buffer[16384];
    for (;;) {
      const ssize_t count = ::read(child_.output_fd(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) gone_ = true;  // the supervisor itself is gone
      if (count <= 0) break;
      reader_.parse({buffer, static_cast<std::size_t>(count)}, samples);
    }
    const bool news = reader_.lines() > lines;
    if (news) heard_ = clock_.now();
    vain_ends_ = news ? 0 : vain_ends_ + reader_.ends() - ends;
    if (vain_ends_ >= most_vain_ends) gone_ = true;
    if (news) return;
    // Between two lives there is nothing to read, which is not the same as nothing new.
    if (gone_ || reader_.program() == 0 || fell_silent()) {
      for (Sample& sample : samples)
        sample = {std::nullopt, gone_ ? ReadingStatus::gone : ReadingStatus::absent};
    }
  }

 private:
  // Half a line and then nothing: the program hangs, and only a new one will say more.
  bool fell_silent() {
    const Nanoseconds now = clock_.now();
    if (seconds(now - heard_) < silence_to_restart) return false;
    heard_ = now;
    if (reader_.program() > 1) ::kill(reader_.program(), SIGKILL);
    return true;
  }

  const std::string name_ = "nvidia";
  SmiStreamReader reader_;
  Child child_;
  Launcher& launcher_;
  const Clock& clock_;
  Nanoseconds heard_ = 0;
  int vain_ends_ = 0;
  bool gone_ = false;
};

// Described, but nothing is started: what doctor shows.
class SilentStream : public Probe {
 public:
  explicit SilentStream(SmiStreamReader reader) : reader_(std::move(reader)) {}
  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return reader_.channels(); }
  Seconds period() const override { return Seconds{interval_ms * 1e-3}; }
  void read(std::span<Sample> samples) override {
    for (Sample& sample : samples) sample = {std::nullopt, ReadingStatus::absent};
  }

 private:
  const std::string name_ = "nvidia";
  SmiStreamReader reader_;
};

}  // namespace

std::vector<std::string> SmiStreamReader::fields() {
  std::vector<std::string> fields{"uuid"};
  for (const Column& column : known_columns())
    fields.insert(fields.end(), column.fields.begin(), column.fields.end());
  return fields;
}

SmiStreamReader::SmiStreamReader(const std::vector<GpuBoard>& boards,
                                 const std::vector<std::string>& columns) {
  for (const GpuBoard& board : boards) {
    if (board.vendor != GpuVendor::nvidia) continue;
    for (const Column& column : known_columns()) {
      const auto field = std::find_if(column.fields.begin(), column.fields.end(), [&](const std::string& f) {
        return std::find(columns.begin(), columns.end(), f) != columns.end();
      });
      if (field == column.fields.end()) continue;
      Channel channel = board_channel("nvidia", board, column.quantity, column.unit);
      channel.kind = column.kind;
      channel.source = fmt::format("nvidia-smi {} of {} ({})", *field, board.uuid, board.name);
      channel.under_load_only = column.under_load_only;
      if (*field != "power.draw") channel.averages_over_s = column.averages_over_s;
      channels_.push_back(channel);
      places_.push_back({board.uuid, *field, column.scale});
    }
  }
}

void SmiStreamReader::parse(std::string_view text, std::span<Sample> samples) {
  partial_.append(text);
  for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
    line(trim(std::string_view(partial_).substr(0, end)), samples);
    partial_.erase(0, end + 1);
  }
  constexpr std::size_t longest_line = 65536;
  if (partial_.size() > longest_line) partial_.clear();
}

void SmiStreamReader::line(std::string_view text, std::span<Sample> samples) {
  if (text.empty()) return;
  // A program that died in the middle of a line leaves half of it in front of what the supervisor says.
  if (const auto at = text.find(tells_pid); at != std::string_view::npos) {
    program_ = static_cast<pid_t>(parse_number(text.substr(at + tells_pid.size())).value_or(0));
    table_ = {};
    return;
  }
  if (text.find(tells_end) != std::string_view::npos) {
    ++ends_;
    program_ = 0;
    return;
  }
  if (text.starts_with("uuid,") || text.find(", uuid,") != std::string_view::npos ||
      text.ends_with(", uuid")) {
    table_.set_header(text);
    return;
  }
  const auto cells = table_.has_header() ? table_.cells(text) : std::nullopt;
  const auto uuid = cells ? table_.index_of("uuid") : std::nullopt;
  if (!uuid) {
    ++malformed_;
    return;
  }
  ++lines_;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i].uuid != (*cells)[*uuid]) continue;
    const auto column = table_.index_of(places_[i].column);
    const auto number = column ? smi_number((*cells)[*column]) : std::nullopt;
    if (number)
      samples[i] = {*number * places_[i].scale, ReadingStatus::ok};
    else
      samples[i] = {std::nullopt, ReadingStatus::absent};
  }
}

ProbeFinding start_smi_stream(const NvidiaSmi& smi, const ProbeRequest& request) {
  ProbeFinding finding{"nvidia", nullptr, {}, {}};
  const auto [table, problem] = smi.query(SmiStreamReader::fields());
  if (!problem.empty()) {
    finding.problem = problem;
    finding.fix = "run nvidia-smi by hand: it should list the boards";
    return finding;
  }
  // Only what at least one of the boards has a value for.
  std::vector<std::string> columns{"uuid"};
  for (const std::string& column : table.columns()) {
    bool any = false;
    for (std::size_t row = 0; row < table.size(); ++row) any = any || table.number(row, column);
    if (any) columns.push_back(column);
  }
  SmiStreamReader reader(request.boards, columns);
  const bool power = std::any_of(reader.channels().begin(), reader.channels().end(),
                                 [](const Channel& c) { return c.unit == "W"; });
  if (!power) {
    finding.problem = "nvidia-smi tells no power of these boards";
    finding.fix = "some consumer boards have no power sensor; nvidia-smi -q -d POWER shows it";
    return finding;
  }
  if (request.launcher == nullptr) {
    finding.probe = std::make_unique<SilentStream>(std::move(reader));
    return finding;
  }
  std::vector<std::string> uuids;
  for (const GpuBoard& board : request.boards) {
    if (board.vendor == GpuVendor::nvidia) uuids.push_back(board.uuid);
  }
  LaunchSpec launch;
  launch.executable = "/bin/sh";
  launch.argv = {"sh",
                 "-c",
                 supervisor,
                 "sh",
                 smi.program(),
                 "-i",
                 join(uuids, ","),
                 "--query-gpu=" + join(columns, ","),
                 "--format=csv",
                 "-lms",
                 std::to_string(interval_ms)};
  for (char** entry = environ; *entry != nullptr; ++entry) launch.environment.emplace_back(*entry);
  launch.environment.push_back(std::string(run_variable) + "=" + request.run);
  launch.discard_errors = true;
  auto launched = request.launcher->launch(launch, *request.clock);
  if (!launched.child) {
    finding.problem = "nvidia-smi cannot be started: " + launched.problem;
    return finding;
  }
  finding.probe = std::make_unique<SmiStream>(std::move(reader), std::move(*launched.child), request);
  return finding;
}

}  // namespace dvfs_plan
