// A thread that reads some probes when they are due. It reads nothing as long as somebody holds it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "probes/sampled_probe.hpp"

namespace dvfs_plan {

// A driver's read takes milliseconds; one that takes longer than this may never come back.
constexpr Nanoseconds longest_read = 5'000'000'000;

// What sampling costs.
struct SamplingCost {
  std::uint64_t wake_ups = 0;
  double cpu_seconds = 0;       // of the threads
  std::vector<float> lateness;  // seconds after the planned time, a wake-up each; kept if asked for
};

class SamplingThread {
 public:
  SamplingThread(const Clock& clock, bool keep_lateness);
  // One that is stuck in a read is left to the end of the process.
  ~SamplingThread();
  SamplingThread(const SamplingThread&) = delete;

  using Hold = std::unique_lock<std::mutex>;
  // Holds it between two reads. It owns nothing if a read did not come to its end within longest_read.
  Hold hold() const;

  // Changed only while it is held, as all that follows.
  std::vector<std::shared_ptr<SampledProbe>>& probes() { return state_->probes; }
  // From the end of the hold on it reads, until rest().
  void go();
  void rest();
  SamplingCost cost() const;

 private:
  // The thread's too, which may outlive us.
  struct State {
    explicit State(const Clock& c) : clock(c) {}
    void run();
    Nanoseconds next_due() const;

    const Clock& clock;
    std::vector<std::shared_ptr<SampledProbe>> probes;
    // Of all that follows, and of the probes unless one is being read.
    std::mutex mutex;
    bool reading = false;
    std::condition_variable read_ended;
    // Slow probes are always due: it goes to sleep for those who wait.
    std::atomic<int> waiting{0};
    std::condition_variable changed;
    bool sampling = false, quit = false, keep_lateness = false;
    SamplingCost cost;
  };
  std::shared_ptr<State> state_;
  std::thread thread_;  // begun by the first go()
};

}  // namespace dvfs_plan
