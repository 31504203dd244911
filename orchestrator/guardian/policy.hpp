// What an administrator lets the users of this machine set: /etc/dvfs-plan/policy, lines of words, '#' begins
// a comment.
//
//   allow WHO WHAT...                    WHO: a group, user:NAME, or everybody. WHAT: a kind of setting (cpu.frequency, cpu.*, *),
//                                        `sensors`, or a file below /sys ('*' within one part of its path)
//   limit KIND at least|at most VALUE    "limit gpu.power_limit at least 300 W"
//   boards NAME...                       these only: UUIDs (GPU-...) or cards (card0)
//   session at most DURATION             then its settings are put back
//   session stalled DURATION             a run that does not answer for so long is let go
//   nvidia-smi PATH                      where it is, if not in /usr/bin
//
// Without the file: allow dvfs-plan * sensors. Who is root himself may what he may anyway; where nvidia-smi is, the file tells him too.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "orchestrator/guardian/known_settings.hpp"

namespace dvfs_plan {

inline constexpr const char* policy_file = "/etc/dvfs-plan/policy";
inline constexpr const char* group_name = "dvfs-plan";

// Who asks, and by what right.
struct Client {
  uid_t user = 0;
  gid_t group = 0;
  pid_t pid = 0;
  std::string name;                 // of the user
  std::vector<std::string> groups;  // names
  // Came by sudo: what is allowed to anybody is allowed to him, and no more.
  bool by_sudo = false;
  // Root himself, or the guardian is this user's own, without rights of its own: the kernel alone judges.
  bool unbound = false;
};

class Policy {
 public:
  Policy() = default;  // for clients that no policy binds
  // The file's, or the built-in one where there is none. Throws Error where it cannot be understood, or where
  // others than root may write it: then nobody may set anything.
  static Policy load(const std::string& file = policy_file);
  static Policy parse(const std::string& text, const std::string& file);

  // Why not, with the rule and the file; empty: it is allowed.
  std::string refusal(const Client& client) const;  // to have a session at all
  // To have it read, saved and put back: any setting of ours, and files that are allowed.
  std::string refusal_to_save(const Client& client, const std::string& path) const;
  std::string refusal_to_set(const Client& client, const std::string& path, const std::string& text) const;
  std::string refusal_of_sensors(const Client& client) const;

  bool is_built_in() const { return file_.empty(); }

  std::optional<Seconds> longest_session;
  Seconds stalled_after{300};
  std::optional<std::string> nvidia_smi;  // where it is

 private:
  struct Allow {
    std::string who;
    std::vector<std::string> what;
    int line = 0;
  };
  struct Limit {
    std::string kind;
    bool at_least = false;
    double value = 0;
    std::string text;
    int line = 0;
  };
  void take_line(const std::vector<std::string>& words, int line);
  static bool is_meant(const Client& client, const std::string& who);
  bool allows(const Client& client, const std::string& what) const;
  std::string nobody_said(const Client& client, const std::string& what) const;
  std::string at(int line) const;

  std::string file_;  // empty: the built-in one
  std::vector<Allow> allowed_;
  std::vector<Limit> limits_;
  std::vector<std::string> boards_;
  int boards_line_ = 0;
};

}  // namespace dvfs_plan
