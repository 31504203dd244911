#include "base/tcp_port.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <set>

#include "base/sysfs.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace dvfs_plan {
namespace {

bool connects(const addrinfo& to, Seconds patience) {
  const UniqueFd socket(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return false;
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  pollfd wait{socket.get(), POLLOUT, 0};
  if (::poll(&wait, 1, static_cast<int>(patience.value() * 1000)) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// How /proc/net/tcp writes the addresses at which one listens who is reached at `host`; empty: it is no address of the loopback device.
std::set<std::string> listening_at(const std::string& host) {
  const std::string name = host == "localhost" ? "127.0.0.1" : host;
  std::set<std::string> addresses{"00000000", "00000000000000000000000000000000"};  // all of the machine's
  in_addr v4{};
  if (::inet_pton(AF_INET, name.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127)
    addresses.insert(fmt::format("{:08X}", v4.s_addr));
  else if (name == "::1")
    addresses.insert("00000000000000000000000001000000");
  else
    addresses.clear();
  return addresses;
}

// Inodes of the sockets that listen there.
std::set<std::string> listening_inodes(const TcpAddress& address) {
  constexpr const char* listening = "0A";
  const Sysfs proc;
  const auto addresses = listening_at(address.host);
  const std::string port = fmt::format(":{:04X}", address.port);
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    for (const std::string& line : split_lines(proc.text(table).value_or(""))) {
      const auto words = split_words(line);
      if (words.size() > 9 && words[1].ends_with(port) && words[3] == listening &&
          addresses.contains(words[1].substr(0, words[1].find(':'))))
        inodes.insert(words[9]);
    }
  }
  return inodes;
}

}  // namespace

std::optional<TcpAddress> parse_tcp_address(const std::string& text) {
  std::string rest = text;
  std::string port = "";
  for (const auto& [scheme, usual] : {std::pair{"http://", "80"}, std::pair{"https://", "443"}}) {
    if (!rest.starts_with(scheme)) continue;
    rest = rest.substr(std::string_view(scheme).size());
    rest = rest.substr(0, rest.find('/'));
    port = usual;
  }
  const auto colon = rest.rfind(':');
  if (colon != std::string::npos && rest.find(']', colon) == std::string::npos) {
    port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size() || number < 1 || number > 65535 ||
      rest.empty())
    return std::nullopt;
  return TcpAddress{rest, number};
}

bool tcp_answers(const TcpAddress& address, Seconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
    return false;
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (connects(*one, patience)) return true;
  }
  return false;
}

bool port_answers(int port) {
  return tcp_answers({"127.0.0.1", port}, Seconds{1}) || tcp_answers({"::1", port}, Seconds{1});
}

std::optional<pid_t> listener_of(const TcpAddress& address) {
  const auto inodes = listening_inodes(address);
  if (inodes.empty()) return std::nullopt;
  const Sysfs proc;
  for (const std::string& name : proc.list("/proc")) {
    const auto pid = parse_number(name);
    if (!pid) continue;
    for (const std::string& fd : proc.list("/proc/" + name + "/fd")) {
      const auto link = proc.link_name("/proc/" + name + "/fd/" + fd);
      if (link && link->starts_with("socket:[") && inodes.contains(link->substr(8, link->size() - 9)))
        return static_cast<pid_t>(*pid);
    }
  }
  return std::nullopt;
}

}  // namespace dvfs_plan
