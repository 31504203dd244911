// One end of a connection between a run and the guardian: a stream socket of the AF_UNIX family (unix(7)).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"
#include "orchestrator/guard/message.hpp"

namespace dvfs_plan {

// Who is at the other end, as the kernel says (SO_PEERCRED): whoever connected, or made the pair.
struct Peer {
  pid_t pid = 0;
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
};

class Connection {
 public:
  explicit Connection(UniqueFd socket);

  int fd() const { return socket_.get(); }
  std::optional<Peer> peer() const;

  // False if it could not be said within `patience` (the other end has gone, or does not read).
  // `passed`: a descriptor of ours that the other end gets a copy of (SCM_RIGHTS); -1: none.
  bool send(const Message& message, std::chrono::milliseconds patience, int passed = -1);

  enum class Heard { something, nothing_yet, end };
  // Takes what has come. `takes_descriptors`: those that were passed are kept for take_descriptor(); else the
  // kernel throws them away.
  Heard hear(bool takes_descriptors);
  std::optional<Message> next() { return decoder_.next(); }
  const std::string& problem() const { return decoder_.problem(); }
  UniqueFd take_descriptor();

 private:
  UniqueFd socket_;
  MessageDecoder decoder_;
  std::deque<UniqueFd> passed_;
};

// Both ends of a new connection; empty descriptors where the kernel gives none.
struct ConnectedPair {
  UniqueFd ours, theirs;
};
ConnectedPair connected_pair();

}  // namespace dvfs_plan
