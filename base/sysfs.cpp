#include "base/sysfs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "base/units.hpp"

namespace dvfs_plan {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Runs of digits compare as numbers: policy2 < policy10.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      unsigned long x = 0, y = 0;
      const char* end_a = std::from_chars(&a[i], a.data() + a.size(), x).ptr;
      const char* end_b = std::from_chars(&b[j], b.data() + b.size(), y).ptr;
      if (x != y) return x < y;
      i = static_cast<std::size_t>(end_a - a.data());
      j = static_cast<std::size_t>(end_b - b.data());
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

bool Attribute::absent() const {
  return !text && (error == ENOENT || error == ENODEV || error == ENXIO || error == ENOTDIR);
}

bool Attribute::denied() const {
  return !text && (error == EACCES || error == EPERM);
}

Attribute Sysfs::read(std::string_view path) const {
  UniqueFd fd(::open(real_path(path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {std::nullopt, errno};
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {std::nullopt, errno};
    if (count == 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > (1U << 20)) break;  // no attribute is that long; /sys may hold a device's memory
  }
  return {std::string(trim(text)), 0};
}

std::optional<double> Sysfs::number(std::string_view path) const {
  const auto value = text(path);
  return value ? parse_number(*value) : std::nullopt;
}

std::optional<std::string> Sysfs::link_name(std::string_view path) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(real_path(path), error);
  if (error) return std::nullopt;
  return target.filename().string();
}

bool Sysfs::exists(std::string_view path) const {
  return ::access(real_path(path).c_str(), F_OK) == 0;
}

bool Sysfs::writable(std::string_view path) const {
  return ::faccessat(AT_FDCWD, real_path(path).c_str(), W_OK, AT_EACCESS) == 0;
}

int Sysfs::write(std::string_view path, std::string_view value) const {
  // O_TRUNC means nothing to sysfs, and keeps a recorded tree in tests from holding a longer former value.
  UniqueFd fd(::open(real_path(path).c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  if (!fd) return errno;
  for (;;) {
    const ssize_t count = ::write(fd.get(), value.data(), value.size());
    if (count == static_cast<ssize_t>(value.size())) return 0;
    if (count < 0 && errno == EINTR) continue;
    return count < 0 ? errno : EIO;
  }
}

Attribute Sysfs::read_until(std::string_view path, const std::function<bool(const std::string&)>& accept,
                            int patience_ms) const {
  for (int waited = 0;; ++waited) {
    Attribute now = read(path);
    if (!now.text || accept(*now.text) || waited >= patience_ms) return now;
    ::usleep(1000);
  }
}

std::vector<std::string> Sysfs::list(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(real_path(path), error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  constexpr int most_cpus = 1 << 16;
  std::vector<int> cpus;
  text = trim(text);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    int first = 0;
    auto [at, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc{}) return std::nullopt;
    int last = first;
    const char* end = part.data() + part.size();
    if (at != end) {
      if (*at != '-') return std::nullopt;
      const auto range = std::from_chars(at + 1, end, last);
      if (range.ec != std::errc{} || range.ptr != end) return std::nullopt;
    }
    if (first < 0 || last < first || last >= most_cpus) return std::nullopt;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (j > i) text += '-' + std::to_string(cpus[j]);
    i = j + 1;
  }
  return text;
}

}  // namespace dvfs_plan
