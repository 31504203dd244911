// A PowerSensor3 on a USB port, which its kernel driver (cdc_acm) shows as /dev/ttyACM0. Nothing is set at it: it is told to tell
// what it is set up to measure (R), to send (S), and to stop (X). What it sends is added up by a thread; the energy of all its pairs, or
// of one, is a counter.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/acting_as.hpp"
#include "base/error.hpp"
#include "base/invoking_user.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "probes/meters/meter.hpp"
#include "probes/meters/powersensor3_stream.hpp"

namespace dvfs_plan {
namespace {

using Sensors = std::array<PowerSensor3Sensor, powersensor3_sensors>;

// Bytes of a serial line, with patience.
class SerialLine {
 public:
  SerialLine(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  bool send(char command) const { return ::write(fd_.get(), &command, 1) == 1; }
  // What comes within the time, as much as is asked for at most; less where it falls silent.
  std::vector<std::uint8_t> receive(std::size_t count, Nanoseconds patience) const {
    std::vector<std::uint8_t> bytes;
    const Nanoseconds until = system_clock().now() + patience;
    while (bytes.size() < count) {
      const auto left = (until - system_clock().now()) / 1'000'000;
      pollfd wait{fd_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) break;
      std::array<std::uint8_t, 4096> part;
      const ssize_t got = ::read(fd_.get(), part.data(), std::min(part.size(), count - bytes.size()));
      if (got <= 0) break;
      bytes.insert(bytes.end(), part.begin(), part.begin() + got);
    }
    return bytes;
  }
  // It may be sending since a run that was killed.
  void quieten() const {
    send('X');
    constexpr Nanoseconds patience = 50'000'000;
    constexpr int rounds = 20;
    for (int i = 0; i < rounds && !receive(1 << 16, patience).empty(); ++i) {
    }
    ::tcflush(fd_.get(), TCIFLUSH);
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

struct OpenedLine {
  std::optional<SerialLine> line;
  std::string problem, fix;
};

OpenedLine open_serial(const std::string& path) {
  if (!path.starts_with("/dev/"))
    return {{},
            fmt::format("'at' is the device that it is, /dev/ttyACM0; found '{}'", printable(path)),
            "ls /dev/ttyACM* shows those that are plugged in"};
  // Under sudo with the rights of who asks: it may be somebody else's terminal.
  const ActingAs owner(invoking_owner());
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    const int error = errno;
    return {{},
            system_error_text("open " + path, error),
            error == EACCES ? "sudo adduser $USER dialout, and log in again: that group may use serial lines"
                            : "ls /dev/ttyACM* shows those that are plugged in"};
  }
  termios terminal{};
  if (::tcgetattr(fd.get(), &terminal) != 0)
    return {{}, path + " is no serial line", "ls /dev/ttyACM* shows those that are plugged in"};
  // Its own host library waits at the same lock.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return {{}, path + " is in use by another program", fmt::format("sudo fuser {}  names it", path)};
  ::cfmakeraw(&terminal);
  terminal.c_cflag |= CLOCAL | CREAD;
  if (::tcsetattr(fd.get(), TCSANOW, &terminal) != 0)
    return {{}, system_error_text("set up " + path, errno), "is it a PowerSensor3?"};
  return {SerialLine(path, std::move(fd)), {}, {}};
}

// What the device is set up to measure; empty where it does not say so, and why.
std::optional<Sensors> read_sensors(const SerialLine& line, std::string& problem) {
  constexpr Nanoseconds patience = 1'000'000'000;
  line.quieten();
  line.send('R');
  Sensors sensors;
  for (std::size_t i = 0; i < sensors.size(); ++i) {
    const auto record = line.receive(powersensor3_record, patience);
    if (record.size() < powersensor3_record) {
      problem = record.empty() && i == 0
                    ? "it does not answer"
                    : fmt::format(
                          "it told {} of {} bytes of its sensor {}: an older firmware's records are shorter",
                          record.size(), powersensor3_record, i);
      return std::nullopt;
    }
    auto sensor = parse_powersensor3_record(record);
    if (!sensor) {
      problem = fmt::format("what it says of its sensor {} is no such record (firmware 1.x)", i);
      return std::nullopt;
    }
    sensors[i] = std::move(*sensor);
    line.send('s');
  }
  const auto done = line.receive(1, patience);
  if (done.size() != 1 || done[0] != 'D') {
    problem = "it did not end the list of its sensors as firmware 1.x does";
    return std::nullopt;
  }
  return sensors;
}

class PowerSensor3 : public Probe {
 public:
  PowerSensor3(const MeterRequest& request, SerialLine line, Sensors sensors, std::vector<int> pairs,
               const std::string& what)
      : name_(request.name),
        period_(request.period.value_or(Seconds{0.01})),
        line_(std::move(line)),
        pairs_(std::move(pairs)),
        stream_(std::move(sensors)),
        stop_(::eventfd(0, EFD_CLOEXEC)) {
    Channel energy;
    energy.name = name_ + ":energy";
    energy.probe = name_;
    energy.unit = "J";
    energy.kind = ChannelKind::counter;
    energy.domain = request.domain;
    energy.source = fmt::format("{} ({})", request.at, what);
    energy.late_by_s = request.late_by_s;
    channels_.push_back(energy);
    line_.send('S');
    listener_ = std::thread([this] { listen(); });
  }
  ~PowerSensor3() override {
    line_.send('X');
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof one) == sizeof one) listener_.join();
    ::tcflush(line_.fd(), TCIFLUSH);
  }

  const std::string& name() const override { return name_; }
  const std::vector<Channel>& channels() const override { return channels_; }
  Seconds period() const override { return period_; }

  std::string begin() override {
    const std::lock_guard lock(mutex_);
    const std::string lost = std::exchange(lost_, {});
    anchor_.reset();
    return lost.empty() ? lost : fmt::format("{}: {}", name_, lost);
  }

  void read(std::span<Sample> samples) override {
    const std::lock_guard lock(mutex_);
    const Nanoseconds now = system_clock().now();
    if (up_to_date_.at == 0 && !gone_) return;  // it has only just begun
    constexpr Nanoseconds silence = 500'000'000;
    if (gone_ || now - heard_ > silence) {
      samples[0] = {std::nullopt, ReadingStatus::gone,
                    gone_ ? "the device is gone" : "it sends nothing any more"};
      return;
    }
    if (!lost_.empty()) {
      samples[0] = {std::nullopt, ReadingStatus::absent, lost_};
      return;
    }
    double joules = 0;
    for (const int pair : pairs_) joules += stream_.joules(pair);
    // As of then: what lies in the kernel's buffer, where we were kept from reading it, is of later.
    const Nanoseconds as_of =
        up_to_date_.at + nanoseconds(Seconds{stream_.device_s() - up_to_date_.device_s});
    samples[0] = {joules, ReadingStatus::ok, {}, as_of};
  }

 private:
  void listen() {
    std::array<std::uint8_t, 1 << 16> buffer;
    for (;;) {
      pollfd waiting[] = {{line_.fd(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
      if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
      if (waiting[1].revents != 0) return;
      const ssize_t count = ::read(line_.fd(), buffer.data(), buffer.size());
      if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (!take(count, buffer)) return;
      // So that a thousand looks a second are made at its bytes, and not twenty thousand.
      ::usleep(1000);
    }
  }

  // False: the device is gone.
  bool take(ssize_t count, std::span<const std::uint8_t> buffer) {
    const std::lock_guard lock(mutex_);
    gone_ = count <= 0;
    if (gone_) return false;
    heard_ = system_clock().now();
    stream_.take(buffer.first(static_cast<std::size_t>(count)));
    int pending = 0;
    if (::ioctl(line_.fd(), FIONREAD, &pending) == 0 && pending == 0 && stream_.looks() > 0) {
      up_to_date_ = {heard_, stream_.device_s()};
      compare_clocks();
    }
    return true;
  }

  // What the kernel's buffer had no room for is not in the stream, and the device's clock of 10 bits does not show it: the machine's does.
  // USB holds bytes back for some ms; crystals differ by 1e-4 at most.
  void compare_clocks() {
    if (!anchor_) anchor_ = up_to_date_;
    const double by_us = seconds(heard_ - anchor_->at).value(),
                 by_it = stream_.device_s() - anchor_->device_s;
    constexpr double held_back_s = 0.05, clocks_differ = 1e-3;
    if (lost_.empty() && std::abs(by_us - by_it) > held_back_s + clocks_differ * by_us)
      lost_ = fmt::format(
          "it sent {:.3f} s worth of values in {:.3f} s: some were lost, and their energy with them", by_it,
          by_us);
  }

  const std::string name_;
  const Seconds period_;
  const SerialLine line_;
  const std::vector<int> pairs_;
  std::vector<Channel> channels_;

  struct Anchor {  // our clock, and the device's
    Nanoseconds at = 0;
    double device_s = 0;
  };
  std::mutex mutex_;  // of all below, while the listener runs
  PowerSensor3Stream stream_;
  Nanoseconds heard_ = 0;
  Anchor up_to_date_;             // when nothing was left to be read last
  std::optional<Anchor> anchor_;  // the same, first since the trial began
  std::string lost_;
  bool gone_ = false;
  UniqueFd stop_;  // ends the listener
  std::thread listener_;
};

std::string pair_text(const Sensors& sensors, int pair) {
  const std::string& name = sensors[static_cast<std::size_t>(2 * pair)].pair_name;
  return name.empty() || name == "NA" ? std::to_string(pair) : fmt::format("{} ({})", pair, name);
}

bool measures(const Sensors& sensors, int pair) {
  const auto at = static_cast<std::size_t>(2 * pair);
  return sensors[at].in_use && sensors[at + 1].in_use;
}

MeterFinding open_powersensor3(const MeterRequest& request) {
  MeterFinding finding;
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    finding.problem = fmt::format("meter '{}' (powersensor3) at {}: {}", request.name, request.at, why);
    finding.fix = fix;
    return std::move(finding);
  };
  OpenedLine opened = open_serial(request.at);
  if (!opened.line) return refuse(opened.problem, opened.fix);
  std::string problem;
  const auto sensors = read_sensors(*opened.line, problem);
  if (!sensors)
    return refuse(
        problem,
        fmt::format("is it a PowerSensor3? `psconfig -d {} -p` shows what it is set up for", request.at));
  std::vector<int> pairs;
  std::string those;
  for (int pair = 0; pair < powersensor3_pairs; ++pair) {
    if (!measures(*sensors, pair)) continue;
    those += (those.empty() ? "" : ", ") + pair_text(*sensors, pair);
    if (request.outlet.empty() || request.outlet == std::to_string(pair)) pairs.push_back(pair);
  }
  if (those.empty())
    return refuse("none of its pairs of sensors is switched on",
                  fmt::format("psconfig -d {} -s 0 -t MLX10 -o 1 -s 1 -t voltage -o 1", request.at));
  if (pairs.empty())
    return refuse(fmt::format("it has no pair '{}'; switched on are {}", printable(request.outlet), those),
                  "'outlet' is a pair's number; without it all of them are added up");
  std::vector<std::string> texts;
  for (const int pair : pairs) texts.push_back(pair_text(*sensors, pair));
  finding.probe = std::make_unique<PowerSensor3>(
      request, std::move(*opened.line), *sensors, pairs,
      fmt::format("PowerSensor3, {} {}", pairs.size() == 1 ? "pair" : "pairs", join(texts, ", ")));
  return finding;
}

const Registered<MeterKind> powersensor3(
    {.name = "powersensor3",
     .place = 50,
     .what = "a PowerSensor3 on a USB port: all pairs of sensors that are switched "
             "on, or one (`outlet`)",
     .takes_outlet = true,
     .open = open_powersensor3});

}  // namespace
}  // namespace dvfs_plan
