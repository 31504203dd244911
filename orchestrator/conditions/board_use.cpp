#include "orchestrator/conditions/board_use.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"

namespace dvfs_plan {

std::string BoardUse::others() const {
  if (!watch_) return {};
  std::vector<std::string> texts;
  for (const BoardProcess& process : watch_->processes().value_or(std::vector<BoardProcess>{})) {
    if (services_.contains(process.pid) || known_.contains({process.board, process.pid})) continue;
    // Seen from inside a container a process of the host may come without a usable number.
    texts.push_back(
        process.name.empty()
            ? fmt::format("a process ({}) outside this namespace on {}", process.pid, process.board)
            : fmt::format("pid {} ({}) on {}", process.pid, printable(process.name), process.board));
  }
  constexpr std::size_t most = 4;
  const std::size_t all = texts.size();
  if (all > most) texts.resize(most);
  return join(texts, ", ") + (all > most ? fmt::format(" and {} more", all - most) : "");
}

void BoardUse::are_ours(const std::set<pid_t>& services, bool all_now) {
  services_ = services;
  if (!all_now) return;
  known_.clear();
  if (services.empty() || !watch_) return;
  for (const BoardProcess& process : watch_->processes().value_or(std::vector<BoardProcess>{}))
    known_.emplace(process.board, process.pid);
}

void BoardUse::remember_memory() {
  if (watch_) before_ = watch_->memory_used();
}

std::string BoardUse::wait_for_memory(Interruption& interruption, const Clock& clock,
                                      bool& interrupted) const {
  constexpr double slack = 64.0 * 1048576;  // the driver keeps a little, and not always the same
  constexpr Seconds patience{10}, between_looks{0.02};
  if (!watch_) return {};
  const Nanoseconds until = clock.now() + nanoseconds(patience);
  for (;;) {
    std::string held;
    for (const auto& [board, bytes] : watch_->memory_used()) {
      const auto before = before_.find(board);
      if (before == before_.end() || bytes <= before->second + slack) continue;
      held += fmt::format("{}{} still has {:.0f} MiB in use that it had not before the trial",
                          held.empty() ? "" : "; ", board, (bytes - before->second) / 1048576);
    }
    if (held.empty() || clock.now() >= until) return held;
    if (!interruption.sleep_until(clock.now() + nanoseconds(between_looks), clock)) {
      interrupted = true;
      return {};
    }
  }
}

}  // namespace dvfs_plan
