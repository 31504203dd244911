// Reading and writing the kernel's attribute files below an injected root ("" on a real machine, a
// recorded tree in tests). Paths are as the kernel documents them: "/sys/class/hwmon".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dvfs_plan {

class ProtectedSensors;

// What an attribute said, or the errno with which it would not.
struct Attribute {
  std::optional<std::string> text;  // trimmed
  int error = 0;                    // errno; 0 when text is there

  bool absent() const;  // the file, or the device behind it, is not there
  bool denied() const;  // it is there, this user may not read it
};

class Sysfs {
 public:
  explicit Sysfs(std::string root = {}) : root_(std::move(root)) {}

  // Who opens sensors that this user may not; nullptr: nobody. It must outlive us.
  void use(ProtectedSensors* sensors) { sensors_ = sensors; }
  ProtectedSensors* sensors() const { return sensors_; }

  const std::string& root() const { return root_; }
  std::string real_path(std::string_view path) const { return root_ + std::string(path); }

  Attribute read(std::string_view path) const;
  std::optional<std::string> text(std::string_view path) const { return read(path).text; }
  std::optional<double> number(std::string_view path) const;
  std::optional<std::string> link_name(std::string_view path) const;  // last part of where a link points
  bool exists(std::string_view path) const;
  bool writable(std::string_view path) const;

  // Writes in one write(2), as sysfs wants it. Returns 0 or errno. Never creates a file.
  int write(std::string_view path, std::string_view value) const;

  // Reads until `accept` likes what it reads or `patience_ms` are over; returns the last answer. The kernel
  // takes a cpufreq limit in a work item of its own (freq_qos, drivers/cpufreq/cpufreq.c): right after the
  // write an attribute may still say the old value.
  Attribute read_until(std::string_view path, const std::function<bool(const std::string&)>& accept,
                       int patience_ms) const;

  // Names in a folder, in natural order (policy2 before policy10); empty if the folder is not there.
  std::vector<std::string> list(std::string_view path) const;

 private:
  std::string root_;
  ProtectedSensors* sensors_ = nullptr;
};

// "0-3,8" as the kernel prints cpu lists (Documentation/admin-guide/cputopology.rst); nullopt if malformed.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);
std::string format_cpu_list(std::vector<int> cpus);

}  // namespace dvfs_plan
