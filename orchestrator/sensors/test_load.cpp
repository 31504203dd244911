#include "orchestrator/sensors/test_load.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <thread>

#include "base/error.hpp"
#include "base/output.hpp"
#include "base/run_program.hpp"
#include "base/text.hpp"
#include "probes/gpu/cuda_load.hpp"

namespace dvfs_plan {
namespace {

// Some thirty turns: a sensor that is renewed every 100 ms says forty values meanwhile, one that averages
// over a second is seen to rise and fall.
constexpr Seconds load_length{5};
constexpr std::uint64_t seed = 20231;  // any: the same turns each time
// Starting CUDA takes a second or two, on a machine with many boards ten.
constexpr Seconds board_deadline{40};

unsigned cpus_to_load() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int cpus = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return static_cast<unsigned>(std::max(1, cpus - 1));
}

TestLoad load_cpus(const Clock& clock, const std::atomic<bool>& stop) {
  TestLoad load;
  Nanoseconds at = clock.now() + nanoseconds(Seconds{0.2});
  bool on = true;
  for (const Seconds turn : random_turns(load_length, seed)) {
    if (on) load.on.push_back({at, at + nanoseconds(turn)});
    at += nanoseconds(turn);
    on = !on;
  }
  const auto work = [&] {
    volatile double x = 1;
    for (const Window& turn : load.on) {
      if (!stop && clock.now() < turn.from)
        std::this_thread::sleep_for(std::chrono::nanoseconds(turn.from - clock.now()));
      while (!stop && clock.now() < turn.to) {
        for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < cpus_to_load(); ++i) threads.emplace_back(work);
  }
  if (stop) load.problem = "interrupted";
  return load;
}

TestLoad load_board(const GpuBoard& board, const std::atomic<bool>& stop) {
  TestLoad load;
  const ProgramAnswer answer =
      run_program("/proc/self/exe", {"load-board", board.uuid}, board_deadline, [&] { return stop.load(); });
  if (stop) {
    load.problem = "interrupted";
  } else if (answer.timed_out) {
    load.problem =
        fmt::format("the load on {} did not end within {:g} s", board.domain, board_deadline.value());
  } else if (answer.exit_code != 0) {
    load.problem = printable(answer.ran() ? std::string(trim(answer.output)) : answer.problem);
  }
  if (!load.problem.empty()) return load;
  for (const std::string& line : split_lines(answer.output)) {
    Window window;
    const char *at = line.data(), *end = at + line.size();
    const auto first = std::from_chars(at, end, window.from);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') continue;
    const auto second = std::from_chars(first.ptr + 1, end, window.to);
    if (second.ec == std::errc() && second.ptr == end && window.to > window.from) load.on.push_back(window);
  }
  return load;
}

}  // namespace

TestLoads test_loads(const std::vector<GpuBoard>& boards, const Clock& clock) {
  TestLoads loads;
  loads.of_domain[""] = [&clock, stop = loads.stop] { return load_cpus(clock, *stop); };
  for (const GpuBoard& board : boards) {
    if (board.vendor == GpuVendor::nvidia && !board.mig)
      loads.of_domain[board.domain] = [board, stop = loads.stop] { return load_board(board, *stop); };
  }
  return loads;
}

int run_board_load(const std::string& uuid) {
  // Whoever waits for it may be killed, and a driver may hang.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(static_cast<unsigned>(board_deadline.value()));
  const CudaLoad load = load_cuda_board(uuid, load_length, seed);
  if (!load.problem.empty()) {
    write_stderr(load.problem + "\n");
    return static_cast<int>(ExitCode::machine_refuses);
  }
  std::string text;
  for (const auto& [from, to] : load.on) text += fmt::format("{} {}\n", from, to);
  write_stdout(text);
  return 0;
}

}  // namespace dvfs_plan
