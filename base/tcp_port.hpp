// TCP ports of this machine and of others: whether somebody answers, and who listens.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/units.hpp"

namespace dvfs_plan {

struct TcpAddress {
  std::string host;
  int port = 0;
};
// "HOST:PORT", "[::1]:PORT", "http://HOST:PORT/...", "http://HOST/..." (80); nullopt: it is none of these.
std::optional<TcpAddress> parse_tcp_address(const std::string& text);

// Whether a connection is taken there within `patience`, which is for the network: a closed port of this machine says so at once.
bool tcp_answers(const TcpAddress& address, Seconds patience);
// Whether anybody takes connections at this port of this machine, by IPv4 or IPv6.
bool port_answers(int port);

// A process that listens at this address of this machine (/proc/net/tcp, proc(5)); nullopt: none, one that this user may not look into, or
// the address is not one of the loopback device.
std::optional<pid_t> listener_of(const TcpAddress& address);

}  // namespace dvfs_plan
