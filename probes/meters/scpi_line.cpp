#include "probes/meters/scpi_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/usb/tmc.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <chrono>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

constexpr std::size_t longest_answer = 4096;

std::string without_line_end(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

class TcpLine : public ScpiLine {
 public:
  TcpLine(std::string host, std::string port) : host_(std::move(host)), port_(std::move(port)) {}

  Answer ask(const std::string& query, Seconds patience) override {
    const bool kept = connected_;
    Answer answer = ask_once(query, patience);
    // A connection that the other side closed meanwhile shows at the next question.
    if (kept && closed_) answer = ask_once(query, patience);
    return answer;
  }

 private:
  Answer ask_once(const std::string& query, Seconds patience) {
    const auto until =
        std::chrono::steady_clock::now() +
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(patience.value()));
    closed_ = false;
    if (!connected_) {
      stream_ = {};
      stream_.expires_at(until);
      stream_.connect(host_, port_);
      if (!stream_) return broken("connect to");
      boost::system::error_code none;
      stream_.socket().set_option(boost::asio::ip::tcp::no_delay(true), none);
      connected_ = true;
    }
    stream_.expires_at(until);
    stream_ << query << '\n' << std::flush;
    std::array<char, longest_answer> text;
    stream_.getline(text.data(), text.size());
    if (!stream_) {
      if (!stream_.error() && static_cast<std::size_t>(stream_.gcount()) + 1 >= text.size()) {
        connected_ = false;
        return {{}, fmt::format("{}: an answer to {} of more than {} bytes", name(), query, longest_answer)};
      }
      closed_ = stream_.error() != boost::asio::error::timed_out;
      return broken(fmt::format("ask {} of", query));
    }
    return {without_line_end(text.data())};
  }

  std::string name() const { return host_ + ":" + port_; }

  Answer broken(const std::string& what) {
    connected_ = false;
    const auto error = stream_.error();
    return {{},
            fmt::format("{} {}: {}", what, name(),
                        error == boost::asio::error::timed_out ? "no answer in time"
                        : error                                ? error.message()
                                                               : "the connection was closed")};
  }

  std::string host_, port_;
  boost::asio::ip::tcp::iostream stream_;
  bool connected_ = false, closed_ = false;
};

class UsbLine : public ScpiLine {
 public:
  UsbLine(std::string path, UniqueFd device) : path_(std::move(path)), device_(std::move(device)) {}

  Answer ask(const std::string& query, Seconds patience) override {
    if (broken_) ::ioctl(device_.get(), USBTMC_IOCTL_CLEAR);
    broken_ = true;
    auto milliseconds = static_cast<__u32>(patience.value() * 1000);
    ::ioctl(device_.get(), USBTMC_IOCTL_SET_TIMEOUT, &milliseconds);
    const std::string line = query + "\n";
    if (::write(device_.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      return {{}, system_error_text(fmt::format("ask {} of {}", query, path_), errno)};
    std::string text;
    std::array<char, longest_answer> part;
    // The driver hands over a message in pieces where the instrument sends it so.
    while (text.find('\n') == std::string::npos) {
      const ssize_t count = ::read(device_.get(), part.data(), part.size());
      if (count < 0) return {{}, system_error_text(fmt::format("ask {} of {}", query, path_), errno)};
      if (count == 0) break;
      text.append(part.data(), static_cast<std::size_t>(count));
      if (text.size() > longest_answer)
        return {{}, fmt::format("{}: an answer to {} of more than {} bytes", path_, query, longest_answer)};
    }
    broken_ = false;
    return {without_line_end(text)};
  }

 private:
  std::string path_;
  UniqueFd device_;
  bool broken_ = false;
};

FoundScpiLine open_usb(const std::string& at) {
  UniqueFd device(::open(at.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (device) {
    __u8 capability = 0;
    if (::ioctl(device.get(), USBTMC488_IOCTL_GET_CAPS, &capability) == 0 || errno != ENOTTY)
      return {std::make_unique<UsbLine>(at, std::move(device)), {}};
    return {nullptr, at + " is no instrument of the kernel's usbtmc driver",
            "ls /dev/usbtmc* shows those that are plugged in"};
  }
  const int error = errno;
  return {
      nullptr, system_error_text("open " + at, error),
      error == EACCES
          ? fmt::format(
                "sudo setfacl -m u:$USER:rw {} (until it is unplugged), or a udev rule: docs/meters.md", at)
          : std::string(
                "ls /dev/usbtmc* shows those that are plugged in; `modprobe usbtmc` loads their driver")};
}

}  // namespace

FoundScpiLine open_scpi_line(const std::string& at) {
  if (at.starts_with("/dev/")) return open_usb(at);
  constexpr std::string_view scheme = "tcp://";
  const auto bad = [&] {
    return FoundScpiLine{
        nullptr,
        fmt::format("'at' is where it answers, tcp://192.168.1.30:5025 or /dev/usbtmc0; found '{}'",
                    printable(at)),
        "its manual says which port takes SCPI without VXI-11; by USB there is none to find"};
  };
  if (!at.starts_with(scheme)) return bad();
  std::string host = at.substr(scheme.size()), port = "5025";
  const auto bracket = host.rfind(']'), colon = host.rfind(':');
  if (colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const bool number =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  if (host.empty() || !number || host.find_first_of("/@?# \t\r\n") != std::string::npos) return bad();
  return {std::make_unique<TcpLine>(host, port), {}};
}

}  // namespace dvfs_plan
