// A number in a kernel attribute file, read again and again through one open descriptor: pread(2) from
// offset 0 makes sysfs produce the value anew (Documentation/filesystems/sysfs.rst).
#pragma once

#include <string>

#include "base/sysfs.hpp"
#include "base/unique_fd.hpp"
#include "probes/probe.hpp"

namespace dvfs_plan {

class AttributeReader {
 public:
  // `scale` turns the file's unit into the channel's: 1e-6 for microwatts.
  // `zero_is_absent`: the file says 0 where there is nothing to say, as a clock does that is switched off.
  AttributeReader(const Sysfs& sysfs, const std::string& path, double scale, bool zero_is_absent = false);
  // What has gone (ENODEV: its CPU was switched off) is gone in this reading, and looked for under the same name before the next one.
  Sample read();

 private:
  const std::string real_path_;
  UniqueFd fd_;
  int open_error_ = 0;
  double scale_;
  bool zero_is_absent_;
};

}  // namespace dvfs_plan
