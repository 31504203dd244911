#include "probes/ipmi_device.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

using BmcClock = std::chrono::steady_clock;

class KernelsBmc : public BmcDoor {
 public:
  explicit KernelsBmc(UniqueFd fd) : fd_(std::move(fd)) {}

  Answer ask(std::uint8_t net_function, std::uint8_t command, std::span<const std::uint8_t> data,
             Seconds patience) override {
    const auto until = BmcClock::now() + std::chrono::duration_cast<BmcClock::duration>(
                                             std::chrono::duration<double>(patience.value()));
    ipmi_system_interface_addr address{};
    address.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE;
    address.channel = IPMI_BMC_CHANNEL;
    std::vector<std::uint8_t> copy(data.begin(), data.end());
    ipmi_req request{};
    request.addr = reinterpret_cast<unsigned char*>(&address);
    request.addr_len = sizeof address;
    request.msgid = ++last_;
    request.msg.netfn = net_function;
    request.msg.cmd = command;
    request.msg.data_len = static_cast<unsigned short>(copy.size());
    request.msg.data = copy.data();
    if (::ioctl(fd_.get(), IPMICTL_SEND_COMMAND, &request) != 0)
      return {{}, system_error_text("IPMICTL_SEND_COMMAND", errno)};
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - BmcClock::now()).count();
      pollfd wait{fd_.get(), POLLIN, 0};
      const int ready = left > 0 ? ::poll(&wait, 1, static_cast<int>(left)) : 0;
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return {{}, fmt::format("the BMC did not answer within {:g} s", patience.value())};
      if (auto answer = receive()) return std::move(*answer);
    }
  }

 private:
  // nullopt: it belongs to none that anybody waits for.
  std::optional<Answer> receive() {
    std::array<std::uint8_t, IPMI_MAX_MSG_LENGTH> bytes{};
    ipmi_system_interface_addr address{};
    ipmi_recv received{};
    received.addr = reinterpret_cast<unsigned char*>(&address);
    received.addr_len = sizeof address;
    received.msg.data = bytes.data();
    received.msg.data_len = bytes.size();
    if (::ioctl(fd_.get(), IPMICTL_RECEIVE_MSG_TRUNC, &received) != 0 && errno != EMSGSIZE) {
      if (errno == EAGAIN || errno == EINTR) return std::nullopt;
      return Answer{{}, system_error_text("IPMICTL_RECEIVE_MSG", errno)};
    }
    if (received.recv_type != IPMI_RESPONSE_RECV_TYPE || received.msgid != last_) return std::nullopt;
    return Answer{{bytes.begin(), bytes.begin() + received.msg.data_len}};
  }

  UniqueFd fd_;
  long last_ = 0;
};

}  // namespace

FoundBmc open_bmc(const Sysfs& sysfs) {
  FoundBmc found;
  // A recorded tree describes another machine's.
  if (!sysfs.root().empty()) {
    found.problem = "a BMC is not part of a recorded machine";
    return found;
  }
  found.path = "/dev/ipmi0";
  UniqueFd fd(::open(found.path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const int error = fd ? 0 : errno;
  if (error == ENOENT || error == ENXIO || error == ENODEV) {
    found.problem = "no /dev/ipmi0: the kernel knows of no BMC";
    found.fix = "on a server: sudo modprobe -a ipmi_si ipmi_devintf";
  } else if (error == EACCES) {
    found.problem =
        "/dev/ipmi0 may be opened by root alone: who may ask a BMC may switch the machine off as well";
    found.fix =
        "run as root himself, with run_as: USER for the workloads (under sudo a run is yours), or read it by "
        "a program of yours that may (docs/meters.md)";
  } else if (error != 0) {
    found.problem = system_error_text("open /dev/ipmi0", error);
  } else {
    found.door = std::make_unique<KernelsBmc>(std::move(fd));
  }
  return found;
}

}  // namespace dvfs_plan
