#include "probes/attribute_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/protected_sensors.hpp"

namespace dvfs_plan {
namespace {

Sample failed(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return {std::nullopt, ReadingStatus::denied};
    case ENODEV:
    case ENXIO:
    case ENOENT:
      return {std::nullopt, ReadingStatus::gone};
    default:
      return {std::nullopt, ReadingStatus::absent};  // EAGAIN, EIO, ENODATA: not now, perhaps later
  }
}

}  // namespace

AttributeReader::AttributeReader(const Sysfs& sysfs, const std::string& path, double scale,
                                 bool zero_is_absent)
    : real_path_(sysfs.real_path(path)),
      fd_(::open(real_path_.c_str(), O_RDONLY | O_CLOEXEC)),
      open_error_(fd_ ? 0 : errno),
      scale_(scale),
      zero_is_absent_(zero_is_absent) {
  if (open_error_ != EACCES || sysfs.sensors() == nullptr) return;
  fd_ = sysfs.sensors()->open_file(path).fd;
  if (fd_) open_error_ = 0;
}

Sample AttributeReader::read() {
  if (!fd_ && open_error_ == ENODEV) fd_.reset(::open(real_path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd_) return failed(open_error_);
  char text[64];
  ssize_t count = 0;
  do count = ::pread(fd_.get(), text, sizeof text, 0);
  while (count < 0 && errno == EINTR);
  if (count < 0) {
    const int error = errno;
    if (error == ENODEV) {
      fd_.reset();
      open_error_ = ENODEV;
    }
    return failed(error);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text, text + count, value);
  if (error != std::errc{} || end == text) return {std::nullopt, ReadingStatus::absent};
  if (value == 0 && zero_is_absent_) return {std::nullopt, ReadingStatus::absent};
  return {value * scale_, ReadingStatus::ok};
}

}  // namespace dvfs_plan
