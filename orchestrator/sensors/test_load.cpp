#include "orchestrator/sensors/test_load.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <charconv>
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

TestLoad load_cpus(const Clock& clock, Interruption& interruption) {
  TestLoad load;
  std::vector<Window> turns;
  Nanoseconds at = clock.now() + nanoseconds(Seconds{0.2});
  const Nanoseconds origin = at;
  bool on = true;
  for (const Seconds turn : random_turns(load_length, seed)) {
    if (on) turns.push_back({at, at + nanoseconds(turn)});
    at += nanoseconds(turn);
    on = !on;
  }
  const auto work = [&] {
    volatile double x = 1;
    for (const Window& turn : turns) {
      if (clock.now() < turn.from)
        std::this_thread::sleep_for(std::chrono::nanoseconds(turn.from - clock.now()));
      while (clock.now() < turn.to) {
        for (int i = 0; i < 2000; ++i) x = x * 1.0000001 + 1e-9;
      }
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < cpus_to_load(); ++i) threads.emplace_back(work);
  interruption.sleep_until(at, clock);
  threads.clear();
  load.on = turns;
  if (clock.now() < origin) load.problem = "interrupted";
  return load;
}

TestLoad load_board(const GpuBoard& board) {
  TestLoad load;
  const ProgramAnswer answer = run_program("/proc/self/exe", {"load-board", board.uuid}, board_deadline);
  if (answer.exit_code != 0) {
    load.problem = answer.ran() ? std::string(trim(answer.output)) : answer.problem;
    return load;
  }
  for (const std::string& line : split_lines(answer.output)) {
    const auto words = split_words(line);
    Window window;
    if (words.size() != 2) continue;
    std::from_chars(words[0].data(), words[0].data() + words[0].size(), window.from);
    std::from_chars(words[1].data(), words[1].data() + words[1].size(), window.to);
    load.on.push_back(window);
  }
  return load;
}

}  // namespace

TestLoads test_loads(const std::vector<GpuBoard>& boards, const Clock& clock, Interruption& interruption) {
  TestLoads loads;
  loads.of_domain[""] = [&clock, &interruption] { return load_cpus(clock, interruption); };
  for (const GpuBoard& board : boards) {
    if (board.vendor == GpuVendor::nvidia && !board.mig)
      loads.of_domain[board.domain] = [board] { return load_board(board); };
  }
  return loads;
}

int run_board_load(const std::string& uuid) {
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
