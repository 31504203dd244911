#include "probes/command_probe.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

class CommandProbe : public Probe {
 public:
  CommandProbe(CommandProbeSettings settings, Child child, Launcher& launcher)
      : settings_(std::move(settings)), child_(std::move(child)), launcher_(launcher) {
    launcher_.group().own(child_.pid());
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
  ~CommandProbe() override { launcher_.group().disown(child_.pid()); }

  const std::string& name() const override { return settings_.name; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return settings_.period; }

  void begin() override { before_the_trial_ = true; }

  void read(std::span<Sample> samples) override {
    for (Sample& sample : samples) sample = {std::nullopt, ended_ ? ReadingStatus::gone : ReadingStatus::ok};
    char buffer[4096];
    while (!ended_) {
      const ssize_t count = ::read(child_.output_fd(), buffer, sizeof buffer);
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
  void take_lines(std::span<Sample> samples) {
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
      for (std::size_t i = 0; i < words_.size(); ++i) {
        if (const auto value =
                parse_meter_line(std::string_view(partial_).substr(0, end), words_[i], channels_[i].unit)) {
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

  CommandProbeSettings settings_;
  Child child_;
  Launcher& launcher_;
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
  return std::make_unique<CommandProbe>(std::move(settings), std::move(*launched.child), launcher);
}

}  // namespace dvfs_plan
