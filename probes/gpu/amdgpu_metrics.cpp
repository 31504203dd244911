#include "probes/gpu/amdgpu_metrics.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dvfs_plan {
namespace {

constexpr double joules_per_count = 1.0 / 65536;
constexpr std::size_t longest_file = 8192;  // a page is what sysfs gives

// MI210, MI250, MI250X (Aldebaran): the layouts 1.1 to 1.3, which Radeon boards have too.
bool is_mi200(std::string_view pci_device) {
  return pci_device == "0x7408" || pci_device == "0x740c" || pci_device == "0x740f" || pci_device == "0x7410";
}

// Where energy_accumulator (64 bits) begins; nullopt: it is not known to be there.
std::optional<std::size_t> place_of_energy(unsigned format, unsigned content, std::size_t size,
                                           std::string_view pci_device) {
  if (format != 1) return std::nullopt;
  switch (content) {
    case 1:
    case 2:
    case 3:
      return is_mi200(pci_device) ? std::optional<std::size_t>(24) : std::nullopt;
    case 4:
      return 24;
    case 5:
      return 88;
    case 6:
      // Kernels before 6.13 had the engines' use in front of it; since then each partition has its own at the end, 1.3 KiB and more.
      return size > 1024 ? 16 : 88;
    case 7:
    case 8:
      return 24;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> energy_in_gpu_metrics(std::span<const std::byte> file, std::string_view pci_device) {
  constexpr std::size_t header = 4;
  if (file.size() < header) return std::nullopt;
  std::uint16_t size = 0;
  std::memcpy(&size, file.data(), sizeof size);
  if (size > file.size()) return std::nullopt;
  const auto place = place_of_energy(std::to_integer<unsigned>(file[2]), std::to_integer<unsigned>(file[3]),
                                     size, pci_device);
  std::uint64_t units = 0;
  if (!place || *place + sizeof units > size) return std::nullopt;
  std::memcpy(&units, file.data() + *place, sizeof units);
  if (units == 0 || units == UINT64_MAX) return std::nullopt;
  return static_cast<double>(units) * joules_per_count;
}

GpuMetricsEnergy::GpuMetricsEnergy(const Sysfs& sysfs, const std::string& folder)
    : fd_(::open(sysfs.real_path(folder + "/gpu_metrics").c_str(), O_RDONLY | O_CLOEXEC)),
      pci_device_(sysfs.text(folder + "/device").value_or("")) {}

Sample GpuMetricsEnergy::read() {
  if (!fd_) return {std::nullopt, ReadingStatus::absent};
  std::array<std::byte, longest_file> buffer;
  ssize_t count = 0;
  do count = ::pread(fd_.get(), buffer.data(), buffer.size(), 0);
  while (count < 0 && errno == EINTR);
  if (count < 0)
    return {std::nullopt, errno == ENODEV || errno == ENXIO ? ReadingStatus::gone : ReadingStatus::absent};
  const auto joules =
      energy_in_gpu_metrics(std::span(buffer).first(static_cast<std::size_t>(count)), pci_device_);
  return joules ? Sample{joules, ReadingStatus::ok} : Sample{std::nullopt, ReadingStatus::absent};
}

}  // namespace dvfs_plan
