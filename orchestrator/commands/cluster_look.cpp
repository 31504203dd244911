#include "orchestrator/commands/cluster_look.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "orchestrator/cluster/look.hpp"
#include "results/store/plan_copy.hpp"

namespace dvfs_plan {

ScratchResult::ScratchResult(const std::string& beside)
    : path_(fmt::format("{}.look.{}", beside, ::getpid())) {
  remove();
}

void ScratchResult::remove() const {
  remove_database(path_);
  ::unlink((path_ + ".new").c_str());
}

namespace {

Store open_look(const std::string& path, std::string_view bytes) {
  write_file(path, look_content(bytes));
  return Store::open(path, Database::Mode::read_only);
}

}  // namespace

OpenLook::OpenLook(const ClusterContext& night, const std::string& name)
    : file_(night.path), store_(open_look(file_.path(), night.folder.read(name))) {}

std::optional<std::string> ClusterLook::ask_a_node(const CollectorLock& lock) {
  const SharedFolder& folder = night_.folder;
  const std::string job = jobs_.submit({.without = jobs_.choose().others});
  night_.progress.say(fmt::format("job {} asks a node what it offers", job));
  Nanoseconds asked = 0, gone = 0;
  std::string said;
  for (;;) {
    lock.require_held();
    for (const std::string& name : folder.names(look_ending)) {
      if (name.starts_with(job + "_")) return name;
    }
    for (const std::string& name : folder.names(fault_ending)) {
      const TaskFault fault = read_fault(folder.read(name));
      if (!fault.task.starts_with(job + "_")) continue;
      throw Error(ExitCode::machine_refuses, fmt::format("node {} cannot run it: {}", fault.node, fault.why),
                  "nothing was submitted");
    }
    if (night_.clock.now() - asked > nanoseconds(between_questions)) {
      asked = night_.clock.now();
      const auto tasks = jobs_.tasks_of({job});
      const bool alive =
          tasks && std::any_of(tasks->begin(), tasks->end(), [](const SlurmTask& t) { return !t.ended(); });
      if (tasks && !alive && gone == 0) gone = night_.clock.now();
      if (tasks && alive && tasks->front().node.empty() && tasks->front().reason != "None" &&
          said != tasks->front().reason) {
        said = tasks->front().reason;
        night_.progress.say(fmt::format("job {} waits: {}", job, printable(said)));
      }
    }
    if (gone != 0 && night_.clock.now() - gone > nanoseconds(patience_of_folder))
      throw Error(ExitCode::machine_refuses, fmt::format("job {} ended without an answer", job),
                  fmt::format("what it printed is in {}/{}_0.log; {} must be a folder that the nodes see too",
                              folder.logs(), job, folder.path()));
    if (!night_.interruption.sleep_until(night_.clock.now() + nanoseconds(between_looks), night_.clock)) {
      jobs_.slurm().cancel({job});
      night_.progress.say("interrupted before anything was submitted");
      return std::nullopt;
    }
  }
}

void ClusterLook::keep(const std::string& name) const {
  const std::string unfinished = night_.path + ".new";
  Store::remove_unfinished(unfinished);
  write_file(unfinished, look_content(night_.folder.read(name)));
  ::chmod(unfinished.c_str(), 0644);
  if (::link(unfinished.c_str(), night_.path.c_str()) != 0) {
    const int error = errno;
    ::unlink(unfinished.c_str());
    throw Error(ExitCode::machine_refuses, system_error_text("create result file " + night_.path, error),
                "choose another place with --output");
  }
  ::unlink(unfinished.c_str());
}

std::string ClusterLook::of_plan(Store& store) const {
  const std::string hash = store.plan_hash(), created = store.experiment().created_at;
  // A file that was changed and changed back has the plan of before, and other blocks.
  const std::size_t stages = store.stages().stages.size();
  for (const std::string& name : night_.folder.names(look_ending)) {
    try {
      OpenLook look(night_, name);
      if (look.store().plan_hash() == hash && look.store().experiment().created_at == created &&
          look.store().stages().stages.size() == stages)
        return name;
    } catch (const Error&) {
      // Damaged: perhaps it is not the one, and of one that has grown it is made again.
    }
  }
  // Of one that has grown no node has looked at all of it: its blocks go by the result itself.
  if (stages > 0) {
    const ScratchResult copy(night_.path);
    copy_plan(store, copy.path());
    const std::string name = look_name(fmt::format("grown {} {}", stages, hash.substr(0, 16)));
    const std::string why = night_.folder.hand_in(name, look_bytes(read_file(copy.path())));
    if (!why.empty()) throw Error(ExitCode::machine_refuses, why, "the same command tries again");
    return name;
  }
  throw Error(ExitCode::machine_refuses,
              fmt::format("{} does not hold the plan of {}", night_.folder.path(), night_.path),
              night_.shell_text() + " --fresh  submits anew; the old result is kept");
}

}  // namespace dvfs_plan
