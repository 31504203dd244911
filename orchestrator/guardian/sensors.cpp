#include "orchestrator/guardian/sensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "orchestrator/guardian/known_settings.hpp"

namespace dvfs_plan {

OpenedFile open_sensor(const Sysfs& sysfs, const std::string& path) {
  if (!known_sensor(path)) return {UniqueFd(), printable(path) + " is no sensor that is handed out"};
  UniqueFd fd(::open(sysfs.real_path(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return {UniqueFd(), system_error_text("open " + path, errno)};
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return {UniqueFd(), path + " is no attribute file"};
  return {std::move(fd)};
}

OpenedFile open_power_event(const std::string& type, const std::string& config, const std::string& cpu) {
  const std::string folder = "/sys/bus/event_source/devices/power/";
  const Sysfs sysfs;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  unsigned long number = 0;
  int on = -1;
  const auto whole = [](const std::string& text, auto& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
  };
  const auto cpus = parse_cpu_list(sysfs.text(folder + "cpumask").value_or(""));
  bool listed = false;
  if (whole(config, number)) {
    for (const std::string& event : sysfs.list(folder + "events"))
      listed = listed || sysfs.text(folder + "events/" + event) == fmt::format("event=0x{:02x}", number);
  }
  if (!listed || sysfs.text(folder + "type") != type || !whole(type, attributes.type) || !whole(cpu, on) ||
      !cpus || std::find(cpus->begin(), cpus->end(), on) == cpus->end())
    return {UniqueFd(), "this is no event of the power PMU"};
  attributes.config = number;
  UniqueFd fd(
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, -1, on, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!fd) return {UniqueFd(), system_error_text("perf_event_open", errno)};
  return {std::move(fd)};
}

}  // namespace dvfs_plan
