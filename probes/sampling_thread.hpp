// A thread that reads some probes when they are due, and does what else is to be done with them: who asks a
// device may wait for ever, and that is then this thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
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
  using Deadline = std::chrono::steady_clock::time_point;
  static Deadline deadline() {
    return std::chrono::steady_clock::now() + std::chrono::nanoseconds(longest_read);
  }

  // The clock must live as long as the process: a thread that is stuck is left to its end.
  SamplingThread(const Clock& clock, bool keep_lateness);
  ~SamplingThread();
  SamplingThread(const SamplingThread&) = delete;

  // Asked by who waits for it, every 50 ms: once true, nobody waits longer than half a second more.
  void hurry_when(std::function<bool()> asked) { hurries_ = std::move(asked); }

  using Hold = std::unique_lock<std::mutex>;
  // Holds it between two reads: it does nothing as long as that lives. Owns nothing if a read or a job has
  // not come to its end until then; at once, if that was found before.
  Hold hold(Deadline until = deadline()) const;

  // Changed only while it is held.
  std::vector<std::shared_ptr<SampledProbe>>& probes() { return state_->probes; }
  // While it is held: from then on it reads what is due, until rest().
  void go();
  void rest();
  SamplingCost cost() const;

  // What it is to do next with its probes, and then nothing until go(). False: it is still at what it did
  // before, and stuck.
  bool post(std::function<void(SampledProbe&)> job);
  // Whether that is done. If not, it will not be begun any more; what it has begun comes to nothing.
  bool wait(Deadline until);

 private:
  // The thread's too, which may outlive us.
  struct State {
    explicit State(const Clock& c) : clock(c) {}
    void run();
    void do_job(std::unique_lock<std::mutex>& lock);
    void read_due(std::unique_lock<std::mutex>& lock);
    void come_back();
    Nanoseconds next_due() const;

    const Clock& clock;
    std::vector<std::shared_ptr<SampledProbe>> probes;
    std::mutex mutex;  // of all that follows, and of the probes unless it is busy with them
    bool busy = false;
    bool given_up = false;  // somebody waited for it in vain: what it is busy with comes to nothing
    std::function<void(SampledProbe&)> job;
    int waiting = 0;  // for it to be busy no more: slow probes are always due, and it lets others in between
    std::condition_variable changed, free;
    bool sampling = false, quit = false, keep_lateness = false;
    SamplingCost cost;
  };
  void begin_thread();
  bool wait_until(Hold& lock, Deadline until, const std::function<bool()>& is_so) const;
  std::shared_ptr<State> state_;
  std::function<bool()> hurries_;
  std::thread thread_;  // begun when it is first needed
};

}  // namespace dvfs_plan
