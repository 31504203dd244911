#include "orchestrator/knobs/cpu_frequency_by_slurm.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>

#include "base/child.hpp"
#include "base/spawn.hpp"
#include "base/text.hpp"
#include "orchestrator/knobs/cpu_policies.hpp"

namespace dvfs_plan {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

class ClockHeldBySlurm : public Knob {
 public:
  ClockHeldBySlurm(const KnobRequest& request, std::vector<CpufreqPolicy> policies, AxisOffer offer,
                   std::string srun)
      : axis_(request.axis),
        policies_(std::move(policies)),
        offer_(std::move(offer)),
        sysfs_(request.sysfs),
        srun_(std::move(srun)) {}
  ~ClockHeldBySlurm() override { end_step(); }

  const std::string& axis() const override { return axis_; }
  AxisOffer offer() const override { return offer_; }
  // Slurm puts back what it set, also where this program dies: nothing of it is ours to save or to ask for.
  std::vector<SavedSetting> snapshot() const override { return {}; }
  std::vector<SettingText> requests(const AxisValue&) const override { return {}; }
  std::vector<std::string> writes() const override { return limit_files(policies_); }

  std::vector<AppliedSetting> apply(const AxisValue& value, SettingWriter&) override {
    const long khz = khz_of(value);
    if (held_khz_ != khz || !step_lives()) {
      end_step();
      begin_step(khz);
    }
    std::vector<AppliedSetting> applied;
    // Slurm starts a step within some tenths of a second, a busy controller within seconds.
    constexpr std::chrono::milliseconds patience{15'000}, pause{20};
    for (const auto began = std::chrono::steady_clock::now();;) {
      applied.clear();
      bool all = true;
      for (const CpufreqPolicy& policy : policies_) {
        applied.push_back(read_back(policy, value, khz));
        all = all && applied.back().problem.empty();
      }
      if (all || !step_lives() || std::chrono::steady_clock::now() - began > patience) break;
      std::this_thread::sleep_for(pause);
    }
    return applied;
  }

 private:
  void begin_step(long khz) {
    const std::string cpus = variable("SLURM_CPUS_ON_NODE");
    std::vector<std::string> argv{srun_, "--overlap", "--nodes=1", "--ntasks=1", "--mem=0", "--quiet"};
    if (!cpus.empty()) argv.push_back("--cpus-per-task=" + cpus);
    argv.push_back(fmt::format("--cpu-freq={}-{}", khz, khz));
    argv.insert(argv.end(), {"sleep", "infinity"});
    std::vector<std::string> environment{clock_holder_mark()};
    for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
    const Spawned step = spawn({.executable = srun_,
                                .argv = argv,
                                .environment = environment,
                                .can_be_ended = true,
                                .dies_with_us = true});
    step_ = step.pid;
    problem_ = step.pid > 0 ? "" : step.problem;
    held_khz_ = khz;
  }

  bool step_lives() {
    if (step_ <= 0) return false;
    int status = 0;
    const pid_t reaped = ::waitpid(step_, &status, WNOHANG);
    if (reaped == 0) return true;
    if (reaped < 0) {
      problem_ = "its step was ended by somebody";
      step_ = -1;
      return false;
    }
    problem_ = fmt::format("srun --cpu-freq={}-{} ended: {}", held_khz_, held_khz_,
                           WIFEXITED(status) ? fmt::format("it exited with {}", WEXITSTATUS(status))
                                             : fmt::format("signal {}", WTERMSIG(status)));
    step_ = -1;
    return false;
  }

  // Until Slurm has put back what it set.
  void end_step() {
    if (step_ <= 0) return;
    ::kill(step_, SIGTERM);
    constexpr int patience_ms = 10'000, pause_ms = 20;
    for (int waited = 0; step_lives(); waited += pause_ms) {
      if (waited == patience_ms) ::kill(step_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    problem_.clear();
  }

  AppliedSetting read_back(const CpufreqPolicy& policy, const AxisValue& value, long khz) const {
    const LimitsRead read{sysfs_.number(policy.path + "/scaling_min_freq"),
                          sysfs_.number(policy.path + "/scaling_max_freq")};
    AppliedSetting setting = clock_setting(axis_, policy, value, read);
    if (setting.applied && !holds_clock(read, khz)) {
      setting.problem = fmt::format("cpufreq {}: asked Slurm for {}, read back {}", policy.name, value.text,
                                    *setting.applied);
      setting.problem +=
          problem_.empty()
              ? "; does the site let steps set clocks? TaskPlugin must name task/affinity or task/cgroup "
                "(slurm.conf(5))"
              : "; " + problem_;
    }
    return setting;
  }

  std::string axis_;
  std::vector<CpufreqPolicy> policies_;
  AxisOffer offer_;
  const Sysfs& sysfs_;
  std::string srun_;
  pid_t step_ = -1;
  long held_khz_ = 0;
  std::string problem_;  // why there is no step
};

}  // namespace

std::string clock_holder_mark() {
  static const std::uint64_t unguessable =
      (static_cast<std::uint64_t>(std::random_device{}()) << 32) | std::random_device{}();
  return fmt::format("DVFS_PLAN_CLOCK_HELD_FOR={:016x}", unguessable);
}

KnobFinding cpu_frequency_by_slurm(const KnobRequest& request, std::vector<CpufreqPolicy> policies,
                                   AxisOffer offer) {
  const std::string srun = find_executable("srun", {}, variable("PATH"));
  if (variable("SLURM_JOB_ID").empty() || srun.empty())
    return {request.axis, nullptr,
            srun.empty() ? "'by: slurm' needs Slurm's commands, and srun is not in PATH"
                         : "'by: slurm' sets the clock of a job's CPUs, and this is not within a job; write  "
                           "machines: {slurm: "
                           "...}  or start dvfs-plan by sbatch"};
  return {request.axis,
          std::make_unique<ClockHeldBySlurm>(request, std::move(policies), std::move(offer), srun),
          {}};
}

}  // namespace dvfs_plan
