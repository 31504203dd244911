#include "probes/command_probe.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

class CommandProbe : public Probe {
 public:
  CommandProbe(CommandProbeSettings settings, LaunchSpec launch, Child child, Launcher& launcher,
               const Clock& clock)
      : settings_(std::move(settings)), launch_(std::move(launch)), launcher_(launcher), clock_(clock) {
    take_over(std::move(child));
    for (const Channel& channel : settings_.channels) {
      words_.push_back(channel.name);
      Channel full = channel;
      full.name = settings_.name + ":" + channel.name;
      full.probe = settings_.name;
      full.told_when_new = true;
      full.source = join(settings_.launch.argv, " ");
      channels_.push_back(full);
    }
  }
  ~CommandProbe() override {
    if (child_) launcher_.group().disown(child_->pid());
  }

  const std::string& name() const override { return settings_.name; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return settings_.period; }

  // One that has ended, or says nothing any more, is started again, as long as that is of any use.
  std::string begin() override {
    before_the_trial_ = true;
    const std::string why = ended_ ? "it had ended" : fell_silent() ? "it said nothing any more" : "";
    if (why.empty() || vain_starts_ >= most_vain_starts) return {};
    ++vain_starts_;
    if (child_) launcher_.group().disown(child_->pid());
    child_.reset();  // ends it
    partial_.clear();
    ended_ = true;
    auto launched = launcher_.launch(launch_, clock_);
    if (!launched.child) return fmt::format("{}, and it cannot be started again: {}", why, launched.problem);
    take_over(std::move(*launched.child));
    return fmt::format("{}, and was started again ({} of {} times without a value between)", why,
                       vain_starts_, most_vain_starts);
  }

  void read(std::span<Sample> samples) override {
    for (Sample& sample : samples) sample = {std::nullopt, ended_ ? ReadingStatus::gone : ReadingStatus::ok};
    char buffer[4096];
    while (!ended_) {
      const ssize_t count = ::read(child_->output_fd(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) break;
      if (count == 0) {
        ended_ = true;
        break;
      }
      partial_.append(buffer, static_cast<std::size_t>(count));
      take_lines(samples);
    }
    before_the_trial_ = false;
  }

 private:
  void take_over(Child child) {
    child_.emplace(std::move(child));
    launcher_.group().own(child_->pid());
    ended_ = false;
    heard_ = clock_.now();
  }

  // Of one that speaks seldom by nature nothing follows from a pause.
  bool fell_silent() const {
    constexpr Seconds shortest{5};
    constexpr double updates = 20;
    const double expected = std::max(settings_.every.value_or(Seconds{0}).value(), longest_pause_.value());
    if (!said_something_ ||
        seconds(clock_.now() - heard_).value() <= std::max(shortest.value(), updates * expected))
      return false;
    // Between trials nobody reads what it says.
    pollfd said{child_->output_fd(), POLLIN, 0};
    return ::poll(&said, 1, 0) == 0;
  }

  void note_value() {
    const Nanoseconds now = clock_.now();
    if (said_something_ && vain_starts_ == 0 && !before_the_trial_)
      longest_pause_ = std::max(longest_pause_, seconds(now - heard_));
    said_something_ = true;
    vain_starts_ = 0;
    heard_ = now;
  }

  void take_lines(std::span<Sample> samples) {
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      for (std::size_t i = 0; i < words_.size(); ++i) {
        if (const auto value =
                parse_meter_line(std::string_view(partial_).substr(0, end), words_[i], channels_[i].unit)) {
          note_value();
          const bool cannot_be = !impossible_because(channels_[i], *value).empty();
          // Said before the trial began, it spoils none; said in it, it is not covered up by a later line.
          if (cannot_be && before_the_trial_) continue;
          if (samples[i].value && !impossible_because(channels_[i], *samples[i].value).empty()) continue;
          samples[i] = {*value, ReadingStatus::ok, partial_.substr(0, end)};
        }
      }
      partial_.erase(0, end + 1);
    }
    constexpr std::size_t longest_line = 4096;
    if (partial_.size() > longest_line) partial_.clear();
  }

  static constexpr int most_vain_starts = 5;  // in a row without a value between

  CommandProbeSettings settings_;
  LaunchSpec launch_;
  std::optional<Child> child_;
  Launcher& launcher_;
  const Clock& clock_;
  Nanoseconds heard_ = 0;
  Seconds longest_pause_{0};
  int vain_starts_ = 0;
  bool said_something_ = false;
  std::vector<std::string> words_;
  std::vector<Channel> channels_;
  std::string partial_;
  bool ended_ = false;
  bool before_the_trial_ = false;  // what is in the pipe now was said before
};

}  // namespace

std::optional<double> parse_meter_line(std::string_view line, std::string_view channel,
                                       std::string_view unit) {
  line = trim(line);
  if (!line.starts_with(channel) || line.size() == channel.size()) return std::nullopt;
  line.remove_prefix(channel.size());
  if (line[0] != ' ' && line[0] != '\t' && line[0] != '=') return std::nullopt;
  if (line[0] == '=') line.remove_prefix(1);
  const auto value = parse_quantity(line);
  const auto wanted = parse_quantity(fmt::format("1 {}", unit));
  if (!value || !wanted) return std::nullopt;
  if (value->dimension == Dimension::none) return value->value;
  if (value->dimension != wanted->dimension) return std::nullopt;
  return value->value;
}

std::unique_ptr<Probe> start_command_probe(CommandProbeSettings settings, Launcher& launcher,
                                           const Clock& clock) {
  LaunchSpec launch = settings.launch;
  if (settings.every) {
    // The repetition is the shell's; the command stays an argv that nothing interprets.
    launch.argv.insert(launch.argv.begin(),
                       {"sh", "-c", "n=$1; shift; while :; do \"$@\"; sleep \"$n\"; done", "sh",
                        fmt::format("{:g}", settings.every->value())});
    launch.argv[5] = launch.executable;
    launch.executable = "/bin/sh";
  }
  auto launched = launcher.launch(launch, clock);
  if (!launched.child) {
    throw Error(ExitCode::machine_refuses, fmt::format("probe '{}': {}", settings.name, launched.problem),
                "check the probe's 'command' in the experiment file");
  }
  return std::make_unique<CommandProbe>(std::move(settings), std::move(launch), std::move(*launched.child),
                                        launcher, clock);
}

}  // namespace dvfs_plan
