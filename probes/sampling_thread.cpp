#include "probes/sampling_thread.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace dvfs_plan {

SamplingThread::SamplingThread(const Clock& clock, bool keep_lateness)
    : state_(std::make_shared<State>(clock)) {
  state_->keep_lateness = keep_lateness;
}

SamplingThread::~SamplingThread() {
  if (!thread_.joinable()) return;
  {
    const Hold held = hold();
    const Hold lock = held.owns_lock() ? Hold() : Hold(state_->mutex);
    state_->quit = true;
    state_->sampling = false;
    if (!held.owns_lock()) {
      thread_.detach();
      return;
    }
  }
  state_->changed.notify_all();
  thread_.join();
}

bool SamplingThread::wait_until(Hold& lock, Deadline until, const std::function<bool()>& is_so) const {
  if (!hurries_) return state_->free.wait_until(lock, until, is_so);
  constexpr std::chrono::milliseconds look{50}, in_a_hurry{500};
  bool hurries = false;
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (!hurries && hurries_()) {
      hurries = true;
      until = std::min(until, now + in_a_hurry);
    }
    if (state_->free.wait_until(lock, std::min(until, now + look), is_so)) return true;
    if (now >= until) return false;
  }
}

SamplingThread::Hold SamplingThread::hold(Deadline until) const {
  State& state = *state_;
  Hold lock(state.mutex);
  ++state.waiting;
  const auto is_free = [&] { return !state.busy; };
  const bool mine = state.given_up ? is_free() : wait_until(lock, until, is_free);
  if (--state.waiting == 0) state.changed.notify_all();
  if (mine) return lock;
  state.given_up = true;
  return {};
}

void SamplingThread::begin_thread() {
  if (!thread_.joinable()) thread_ = std::thread([state = state_] { state->run(); });
}

void SamplingThread::go() {
  if (state_->probes.empty()) return;
  state_->sampling = true;
  begin_thread();
  state_->changed.notify_all();
}

void SamplingThread::rest() {
  state_->sampling = false;
}

bool SamplingThread::post(std::function<void(SampledProbe&)> job) {
  const Hold lock(state_->mutex);
  if (state_->given_up) return false;
  state_->job = std::move(job);
  state_->sampling = false;
  begin_thread();
  state_->changed.notify_all();
  return true;
}

bool SamplingThread::wait(Deadline until) {
  State& state = *state_;
  Hold lock(state.mutex);
  if (state.given_up) return false;
  if (wait_until(lock, until, [&] { return !state.busy && !state.job; })) return true;
  state.job = nullptr;
  state.given_up = state.busy;
  return false;
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

// It is free again. If it was given up meanwhile, what its probes said is of no trial any more.
void SamplingThread::State::come_back() {
  busy = false;
  if (std::exchange(given_up, false)) {
    sampling = false;
    for (const auto& probe : probes) probe->take();
  }
  free.notify_all();
}

void SamplingThread::State::do_job(std::unique_lock<std::mutex>& lock) {
  const auto work = std::exchange(job, nullptr);
  busy = true;
  lock.unlock();
  for (const auto& probe : probes) work(*probe);
  lock.lock();
  come_back();
}

void SamplingThread::State::read_due(std::unique_lock<std::mutex>& lock) {
  const Nanoseconds now = clock.now();
  busy = true;
  for (const auto& probe : probes) {
    if (probe->due() > now) continue;
    lock.unlock();
    probe->read_due(now);
    lock.lock();
    if (waiting > 0 || job || quit || given_up) break;
  }
  come_back();
  ++cost.wake_ups;
}

void SamplingThread::State::run() {
  pthread_setname_np(pthread_self(), "sampler");
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // the default of 50 us would be most of the jitter at 1 kHz
  std::unique_lock lock(mutex);
  while (!quit) {
    if (job) {
      do_job(lock);
      continue;
    }
    if (!sampling || waiting > 0) {
      changed.wait(lock);
      continue;
    }
    const Nanoseconds due = next_due();
    if (clock.now() < due) {
      // Clock is CLOCK_MONOTONIC, and so is steady_clock.
      changed.wait_until(lock, Deadline{std::chrono::nanoseconds(due)});
      continue;
    }
    if (keep_lateness)
      cost.lateness.push_back(static_cast<float>(static_cast<double>(clock.now() - due) * 1e-9));
    read_due(lock);
  }
}

}  // namespace dvfs_plan
