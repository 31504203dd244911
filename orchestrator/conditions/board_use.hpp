// Boards between trials: nobody else is on them, and what a trial took of their memory is given back before
// the next begins.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/interruption.hpp"
#include "probes/gpu/board_watch.hpp"

namespace dvfs_plan {

class BoardUse {
 public:
  // `watch` may be nullptr: then nothing is known, and nothing is waited for.
  explicit BoardUse(std::unique_ptr<BoardWatch> watch) : watch_(std::move(watch)) {}

  // "pid 4711 (python) on gpu-0", of processes that are not ours; "" if there is none to be seen. Called
  // while no workload runs, so whoever is there is somebody else, but for services.
  std::string others() const;
  // Processes of services, by their ids; `all_now`: so is whoever is on the boards now, as one cannot tell by
  // the id inside a container.
  void are_ours(const std::set<pid_t>& services, bool all_now);

  // Whether the boards tell who is on them at all.
  bool lists_processes() const { return watch_ != nullptr && watch_->processes().has_value(); }

  void remember_memory();  // just before a launch
  // Waits until the boards' memory is back at what it was then, or patience is over: what is left then, in
  // words. `interrupted` is set if somebody asks to stop meanwhile.
  std::string wait_for_memory(Interruption& interruption, const Clock& clock, bool& interrupted) const;

 private:
  std::unique_ptr<BoardWatch> watch_;
  std::map<std::string, double> before_;
  std::set<pid_t> services_;
  std::set<std::pair<std::string, pid_t>> known_;  // board and process
};

}  // namespace dvfs_plan
