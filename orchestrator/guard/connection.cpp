#include "orchestrator/guard/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace dvfs_plan {

using Steady = std::chrono::steady_clock;

Connection::Connection(UniqueFd socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
  ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC);
}

std::optional<Peer> Connection::peer() const {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return std::nullopt;
  return Peer{found.pid, found.uid, found.gid};
}

bool Connection::send(const Message& message, std::chrono::milliseconds patience, int passed) {
  const std::string bytes = encode(message);
  const auto until = Steady::now() + patience;
  for (std::size_t sent = 0; sent < bytes.size();) {
    iovec part{const_cast<char*>(bytes.data()) + sent, bytes.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (passed >= 0 && sent == 0) {
      header.msg_control = control.data();
      header.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof passed);
      std::memcpy(CMSG_DATA(rights), &passed, sizeof passed);
    }
    const ssize_t count = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
    if (left <= 0) return false;
    pollfd wait{socket_.get(), POLLOUT, 0};
    ::poll(&wait, 1, static_cast<int>(std::min<long>(left, 1000)));
  }
  return true;
}

Connection::Heard Connection::hear(bool takes_descriptors) {
  std::array<char, 65536> buffer;
  iovec part{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  constexpr std::size_t most = 8;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most * sizeof(int))> control{};
  if (takes_descriptors) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  const ssize_t count = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  if (count < 0)
    return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK ? Heard::nothing_yet : Heard::end;
  for (cmsghdr* one = CMSG_FIRSTHDR(&header); one != nullptr; one = CMSG_NXTHDR(&header, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t many = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < many; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(one) + i * sizeof fd, sizeof fd);
      passed_.emplace_back(fd);
    }
  }
  if (count == 0) return Heard::end;
  decoder_.add({buffer.data(), static_cast<std::size_t>(count)});
  return Heard::something;
}

UniqueFd Connection::take_descriptor() {
  if (passed_.empty()) return {};
  UniqueFd first = std::move(passed_.front());
  passed_.pop_front();
  return first;
}

ConnectedPair connected_pair() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return {};
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace dvfs_plan
