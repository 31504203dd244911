#include "probes/command_probe.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/control_group.hpp"
#include "base/end_processes.hpp"
#include "base/error.hpp"
#include "base/process_tree.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

// What a line says of a channel: "203.5 W" of "wall 203.5 W" and of "wall=203.5 W"; nullopt: it is of another.
std::optional<std::string_view> behind_channel(std::string_view line, std::string_view channel) {
  line = trim(line);
  if (!line.starts_with(channel) || line.size() == channel.size()) return std::nullopt;
  line.remove_prefix(channel.size());
  if (line[0] != ' ' && line[0] != '\t' && line[0] != '=') return std::nullopt;
  return trim(line.substr(1));
}

class CommandProbe : public Probe {
 public:
  CommandProbe(CommandProbeSettings settings, LaunchSpec launch, std::unique_ptr<ControlGroup> group,
               Child child, Launcher& launcher, const Clock& clock)
      : settings_(std::move(settings)),
        launch_(std::move(launch)),
        launcher_(launcher),
        clock_(clock),
        group_(std::move(group)) {
    for (const Channel& channel : settings_.channels) {
      words_.push_back(channel.name);
      Channel full = channel;
      full.name = settings_.name + ":" + channel.name;
      full.probe = settings_.name;
      full.told_when_new = true;
      full.source = join(settings_.launch.argv, " ");
      channels_.push_back(full);
    }
    said_.resize(channels_.size());
    last_kept_.resize(channels_.size());
    take_over(std::move(child));
  }
  ~CommandProbe() override {
    stop_listening();
    end_child();
  }

  const std::string& name() const override { return settings_.name; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return settings_.period; }

  // One that has ended, or says nothing any more, is started again, as long as that is of any use.
  std::string begin() override {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      before_the_trial_ = true;
      // Of what was said before the trial the last value alone is of use; what cannot be spoils none.
      for (std::size_t i = 0; i < said_.size(); ++i) {
        std::erase_if(said_[i], [&](const Sample& one) { return cannot_be(i, one); });
        if (said_[i].size() > 1) said_[i].erase(said_[i].begin(), std::prev(said_[i].end()));
      }
      why = ended_ ? "it had ended" : fell_silent() ? "it said nothing any more" : "";
      if (why.empty() || vain_starts_ >= most_vain_starts) return not_understood();
      ++vain_starts_;
      if (!errors_.empty()) why += fmt::format(", and said '{}'", errors_told());
      errors_.clear();
    }
    stop_listening();
    end_child();
    ended_ = true;
    auto launched = launcher_.launch(launch_, clock_);
    if (!launched.child) return fmt::format("{}, and it cannot be started again: {}", why, launched.problem);
    take_over(std::move(*launched.child));
    return fmt::format("{}, and was started again ({} of {} times without a value between)", why,
                       vain_starts_, most_vain_starts);
  }

  void read(std::span<Sample> samples) override {
    const std::lock_guard lock(mutex_);
    bool any = false;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = {};
      if (said_[i].empty()) continue;
      samples[i] = std::move(said_[i].front());
      said_[i].pop_front();
      any = true;
    }
    before_the_trial_ = false;
    // What it said last is read before it is told that it has ended.
    if (any || !ended_) return;
    for (Sample& sample : samples) sample.status = ReadingStatus::gone;
  }

  std::string last_words() const override {
    const std::lock_guard lock(mutex_);
    return errors_told();
  }

  bool has_more() const override {
    const std::lock_guard lock(mutex_);
    return std::any_of(said_.begin(), said_.end(), [](const auto& of_one) { return !of_one.empty(); });
  }

 private:
  void take_over(Child child) {
    began_tick_ = started_at_tick(child.pid()).value_or(current_tick());
    child_.emplace(std::move(child));
    launcher_.group().own(child_->pid());
    if (!settings_.mark.empty()) launcher_.group().own_marked(settings_.mark);
    if (group_) launcher_.group().own_group(group_.get());
    ended_ = false;
    heard_ = clock_.now();
    partial_.clear();
    stop_.reset(::eventfd(0, EFD_CLOEXEC));
    // What it says is as old as the look that finds it, unless it is listened to all the time.
    listener_ = std::thread([this, fd = child_->output_fd(), errors = child_->errors_fd(),
                             stop = stop_.get()] { listen(fd, errors, stop); });
  }

  // And what left its session: a meter's helpers. Those that emptied their environment are known by the control
  // group, or, where there is none, by coming to us when their parent is gone.
  void end_child() {
    if (child_) launcher_.group().disown(child_->pid());
    child_.reset();
    constexpr int rounds = 5;  // one that is just being started has the mark a moment later
    for (int i = 0; i < rounds && end_helpers(); ++i) ::usleep(5000);
    if (!settings_.mark.empty()) launcher_.group().disown_marked(settings_.mark);
    if (group_) launcher_.group().disown_group(group_.get());
    launcher_.group().end_left_behind(began_tick_);
  }

  // False: there was none.
  bool end_helpers() {
    const bool marked = !settings_.mark.empty() && kill_marked(settings_.mark);
    return (group_ && kill_control_group(*group_)) || marked;
  }

  void stop_listening() {
    if (!listener_.joinable()) return;
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof one) < 0) return;
    listener_.join();
  }

  void listen(int fd, int errors, int stop) {
    char buffer[65536];
    for (;;) {
      pollfd waiting[] = {{fd, POLLIN, 0}, {stop, POLLIN, 0}, {errors, POLLIN, 0}};
      if (::poll(waiting, 3, -1) < 0 && errno != EINTR) return;
      if (waiting[1].revents != 0) return;
      if (waiting[2].revents != 0 && !take_errors(errors)) errors = -1;
      if (waiting[0].revents == 0) continue;
      const ssize_t count = ::read(fd, buffer, sizeof buffer);
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      const std::lock_guard lock(mutex_);
      if (count <= 0) {
        ended_ = true;
        return;
      }
      partial_.append(buffer, static_cast<std::size_t>(count));
      take_lines(clock_.now());
      // One that floods is not listened to more often than this.
      if (count == sizeof buffer) ::usleep(1000);
    }
  }

  // False: there will be no more. A full pipe would stop the meter, so all is read, and the end of it kept.
  bool take_errors(int fd) {
    char buffer[4096];
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    if (count == 0) return false;
    const std::lock_guard lock(mutex_);
    errors_.append(buffer, static_cast<std::size_t>(count));
    if (errors_.size() > longest_errors) errors_.erase(0, errors_.size() - longest_errors);
    return true;
  }

  // The last lines, on one.
  std::string errors_told() const {
    constexpr std::size_t told = 3;
    auto lines = split_lines(std::string(trim(valid_utf8(errors_))));
    if (lines.size() > told) lines.erase(lines.begin(), lines.end() - told);
    return printable(join(lines, "; "));
  }

  // Of one that speaks seldom by nature nothing follows from a pause.
  bool fell_silent() const {
    constexpr Seconds shortest{5};
    constexpr double updates = 20;
    const double expected = std::max(settings_.every.value_or(Seconds{0}).value(), longest_pause_.value());
    return said_something_ &&
           seconds(clock_.now() - heard_).value() > std::max(shortest.value(), updates * expected);
  }

  // Lines came, and none was of any use: said once.
  std::string not_understood() {
    if (said_something_ || strange_line_.empty() || told_of_strange_) return {};
    told_of_strange_ = true;
    return fmt::format("it says what is not understood: '{}'; wanted are lines such as '{} 12.5 {}'",
                       printable(strange_line_), words_.front(), channels_.front().unit);
  }

  void note_value(Nanoseconds now) {
    if (said_something_ && vain_starts_ == 0 && !before_the_trial_)
      longest_pause_ = std::max(longest_pause_, seconds(now - heard_));
    said_something_ = true;
    vain_starts_ = 0;
    heard_ = now;
  }

  void take_lines(Nanoseconds now) {
    std::size_t from = 0;
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', from)) {
      take_line(std::string_view(partial_).substr(from, end - from), now);
      from = end + 1;
    }
    partial_.erase(0, from);
    constexpr std::size_t longest_line = 4096;
    if (partial_.size() > longest_line) {
      note_strange(std::string_view(partial_).substr(0, longest_shown));
      partial_.clear();
    }
  }

  void take_line(std::string_view line, Nanoseconds now) {
    bool of_use = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto value = parse_meter_line(line, words_[i], channels_[i].unit);
      if (!value) continue;
      of_use = true;
      note_value(now);
      keep(i, {*value, ReadingStatus::ok, {}, now}, line);
    }
    if (!of_use && !names_no_number(line, now)) note_strange(line);
  }

  // "wall nan W", "wall 1,234 W", "wall 5 VA": a value of a channel that cannot be read, or not as what it is. Within a trial it spoils it, as
  // one that cannot be does.
  bool names_no_number(std::string_view line, Nanoseconds now) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto rest = behind_channel(line, words_[i]);
      if (!rest) continue;
      if (!is_meant_as_number(std::string(rest->substr(0, rest->find(' '))))) continue;
      if (!said_something_) note_strange(line);
      keep(i, {std::numeric_limits<double>::quiet_NaN(), ReadingStatus::ok, {}, now}, line);
      return true;
    }
    return false;
  }

  bool cannot_be(std::size_t i, const Sample& sample) const {
    return sample.value && !impossible_because(channels_[i], *sample.value).empty();
  }

  void keep(std::size_t i, Sample sample, std::string_view line) {
    std::deque<Sample>& queue = said_[i];
    const bool impossible = cannot_be(i, sample);
    // Said before the trial began, it spoils none.
    if (impossible && before_the_trial_) return;
    // Its text is for the error that names it.
    if (impossible) sample.text = line.substr(0, longest_shown);
    const bool too_soon = !settings_.keeps_each || *sample.told_at - last_kept_[i] < shortest_apart;
    if (too_soon && !queue.empty()) {
      // What cannot be is not covered up by a later line.
      if (!cannot_be(i, queue.back())) queue.back() = std::move(sample);
      return;
    }
    last_kept_[i] = *sample.told_at;
    queue.push_back(std::move(sample));
    // Nobody reads between the trials.
    if (queue.size() > most_kept) queue.pop_front();
  }

  void note_strange(std::string_view line) {
    if (strange_line_.empty()) strange_line_ = line.substr(0, longest_shown);
  }

  static constexpr int most_vain_starts = 5;  // in a row without a value between
  static constexpr std::size_t longest_shown = 80;
  static constexpr std::size_t longest_errors = 300;
  static constexpr Nanoseconds shortest_apart = 1'000'000;  // of one that floods the last of each ms is kept
  static constexpr std::size_t most_kept = 10'000;

  CommandProbeSettings settings_;
  LaunchSpec launch_;
  Launcher& launcher_;
  const Clock& clock_;
  std::vector<std::string> words_;
  std::vector<Channel> channels_;
  std::unique_ptr<ControlGroup> group_;  // that it and its helpers are in, where one may be made
  std::optional<Child> child_;
  std::int64_t began_tick_ = 0;
  UniqueFd stop_;  // ends the listener
  std::thread listener_;

  mutable std::mutex mutex_;              // of all below, while the listener runs
  std::vector<std::deque<Sample>> said_;  // of each channel, and not read yet
  std::vector<Nanoseconds> last_kept_;    // of each channel, when
  Nanoseconds heard_ = 0;
  Seconds longest_pause_{0};
  int vain_starts_ = 0;
  bool said_something_ = false, told_of_strange_ = false;
  std::string strange_line_;  // the first of no channel
  std::string partial_;
  std::string errors_;  // the end of its standard error
  bool ended_ = false;
  bool before_the_trial_ = false;
};

}  // namespace

std::optional<double> parse_meter_line(std::string_view line, std::string_view channel,
                                       std::string_view unit) {
  const auto text = behind_channel(line, channel);
  if (!text) return std::nullopt;
  const auto value = parse_quantity(*text);
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
  std::unique_ptr<ControlGroup> group;
  if (auto made = launcher.group().make_beside("meter." + settings.name))
    group = std::make_unique<ControlGroup>(std::move(*made));
  if (group) launch.control_group = group->entrance();
  auto launched = launcher.launch(launch, clock);
  if (!launched.child) {
    throw Error(ExitCode::machine_refuses, fmt::format("probe '{}': {}", settings.name, launched.problem),
                "check the probe's 'command' in the experiment file");
  }
  return std::make_unique<CommandProbe>(std::move(settings), std::move(launch), std::move(group),
                                        std::move(*launched.child), launcher, clock);
}

}  // namespace dvfs_plan
