#include "probes/sampling_thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <ctime>

namespace dvfs_plan {
SamplingThread::SamplingThread(const Clock& clock, bool keep_lateness)
    : state_(std::make_shared<State>(clock)) {
  state_->keep_lateness = keep_lateness;
}

SamplingThread::~SamplingThread() {
  if (!thread_.joinable()) return;
  {
    const Hold held = hold();
    if (!held.owns_lock()) {
      thread_.detach();
      return;
    }
    state_->quit = true;
    state_->sampling = false;
  }
  state_->changed.notify_all();
  thread_.join();
}

SamplingThread::Hold SamplingThread::hold() const {
  State& state = *state_;
  ++state.waiting;
  Hold lock(state.mutex);
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(longest_read);
  const bool mine = state.read_ended.wait_until(lock, until, [&] { return !state.reading; });
  if (--state.waiting == 0) state.waiting.notify_all();
  return mine ? std::move(lock) : Hold();
}

void SamplingThread::go() {
  if (state_->probes.empty()) return;
  state_->sampling = true;
  if (!thread_.joinable()) thread_ = std::thread([state = state_] { state->run(); });
  state_->changed.notify_all();
}

void SamplingThread::rest() {
  state_->sampling = false;
  state_->changed.notify_all();
}

SamplingCost SamplingThread::cost() const {
  SamplingCost cost = state_->cost;
  clockid_t thread_time{};
  timespec used{};
  auto& thread = const_cast<std::thread&>(thread_);  // native_handle() is not const
  if (thread.joinable() && pthread_getcpuclockid(thread.native_handle(), &thread_time) == 0)
    clock_gettime(thread_time, &used);
  cost.cpu_seconds = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  return cost;
}

Nanoseconds SamplingThread::State::next_due() const {
  Nanoseconds next = INT64_MAX;
  for (const auto& probe : probes) next = std::min(next, probe->due());
  return next;
}

void SamplingThread::State::run() {
  pthread_setname_np(pthread_self(), "sampler");
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would be most of the jitter at 1 kHz
  std::unique_lock lock(mutex);
  while (!quit) {
    if (!sampling) {
      changed.wait(lock);
      continue;
    }
    const Nanoseconds due = next_due();
    if (clock.now() < due) {
      // Clock is CLOCK_MONOTONIC, and so is steady_clock.
      const std::chrono::steady_clock::time_point when{std::chrono::nanoseconds(due)};
      if (changed.wait_until(lock, when) == std::cv_status::no_timeout) continue;
    }
    if (waiting > 0) {
      lock.unlock();
      for (int others = waiting; others > 0; others = waiting) waiting.wait(others);
      lock.lock();
      continue;
    }
    const Nanoseconds now = clock.now();
    if (!sampling || now < due) continue;
    if (keep_lateness) cost.lateness.push_back(static_cast<float>(static_cast<double>(now - due) * 1e-9));
    for (const auto& probe : probes) {
      if (probe->due() > now) continue;
      reading = true;
      lock.unlock();
      probe->read_due(now);
      lock.lock();
      reading = false;
      if (waiting > 0) break;
    }
    if (waiting > 0) read_ended.notify_all();
    ++cost.wake_ups;
  }
}

}  // namespace dvfs_plan
