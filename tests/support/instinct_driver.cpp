#include "tests/support/instinct_driver.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

// The board's DPM table of the core clock (MI300X).
constexpr int lowest_mhz = 500, highest_mhz = 2100;

}  // namespace

InstinctDriver::InstinctDriver(std::string folder) : folder_(std::move(folder)) {
  const std::string file = folder_ + "/pp_od_clk_voltage";
  std::ofstream(file) << table();
  watch_ = UniqueFd(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDWR | O_CLOEXEC));
  stop_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
  if (!watch_ || ::fanotify_mark(watch_.get(), FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, file.c_str()) != 0) {
    obstacle_ = fmt::format("fanotify: {} (it takes CAP_SYS_ADMIN)", std::strerror(errno));
    return;
  }
  thread_ = std::thread([this] { answer(); });
}

InstinctDriver::~InstinctDriver() {
  const std::uint64_t one = 1;
  if (thread_.joinable() && ::write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

std::vector<std::string> InstinctDriver::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

int InstinctDriver::deterministic_at() const {
  const std::lock_guard lock(mutex_);
  return deterministic_at_;
}

std::string InstinctDriver::table() const {
  return fmt::format("OD_SCLK:\n0: {}Mhz\n1: {}Mhz\nOD_MCLK:\n0: 900Mhz\n1: 1300Mhz\n", low_, high_);
}

void InstinctDriver::answer() {
  for (;;) {
    std::array<pollfd, 2> waits{{{watch_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    ::poll(waits.data(), waits.size(), -1);
    if (waits[1].revents != 0) return;  // whoever waits is let through when watch_ closes
    fanotify_event_metadata event{};
    if (::read(watch_.get(), &event, sizeof event) != sizeof event) continue;
    const UniqueFd file(event.fd);  // opens nothing anew, so that it waits for nobody
    std::array<char, 4096> text{};
    const ssize_t length = ::pread(file.get(), text.data(), text.size(), 0);
    {
      const std::lock_guard lock(mutex_);
      const std::string written(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
      const bool is_edit = !written.starts_with("OD_");
      follow_level();
      if (is_edit) take(std::string(trim(written)));
      const std::string now = table();
      if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), now.data(), now.size(), 0) < 0)
        refused_.push_back("the table could not be written");
    }
    const fanotify_response answer{event.fd, FAN_ALLOW};
    if (::write(watch_.get(), &answer, sizeof answer) != sizeof answer) return;
  }
}

// set_performance_level.
void InstinctDriver::follow_level() {
  std::string level;
  std::ifstream file(folder_ + "/power_dpm_force_performance_level");
  std::getline(file, level);
  if (level == level_) return;
  if (level_ == "perf_determinism") {
    deterministic_at_ = 0;
    high_ = highest_mhz;
  }
  if (level == "auto") low_ = lowest_mhz, high_ = highest_mhz;
  level_ = level;
}

// usr_edit_dpm_table, set_soft_freq_limited_range.
void InstinctDriver::take(const std::string& written) {
  const auto words = split_words(written);
  const bool editable = level_ == "manual" || level_ == "perf_determinism";
  const auto mhz = words.size() == 3 ? parse_number(words[2]) : std::nullopt;
  if (editable && mhz && words[0] == "s" && words[1] == "0" && *mhz >= lowest_mhz) {
    custom_low_ = static_cast<int>(*mhz);
  } else if (editable && mhz && words[0] == "s" && words[1] == "1" && *mhz <= highest_mhz) {
    custom_high_ = static_cast<int>(*mhz);
  } else if (editable && written == "c") {
    const int low = custom_low_ == 0 ? low_ : custom_low_, high = custom_high_ == 0 ? high_ : custom_high_;
    if (level_ == "manual" ? low >= high : high < lowest_mhz) {
      refused_.push_back(fmt::format("c with {} to {} MHz", low, high));
      return;
    }
    low_ = level_ == "manual" ? low : lowest_mhz;
    high_ = high;
    if (level_ == "perf_determinism") deterministic_at_ = high;
  } else {
    refused_.push_back(written);
  }
}

}  // namespace dvfs_plan
