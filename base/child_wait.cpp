// Waiting for children: their output, their marks, their time limits and their end.
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/child.hpp"
#include "base/text.hpp"

namespace dvfs_plan {
namespace {

// Marks that bring their own time need not be read at once; each reading wakes us beside the workload.
constexpr Nanoseconds between_region_looks = 5'000'000;

// Takes away the front of what is kept, down to `cap` bytes.
void cut_front(CapturedOutput& captured, std::size_t cap) {
  const std::size_t excess = captured.tail.size() - cap;
  captured.cut_in_line = captured.tail[excess - 1] != '\n';
  captured.tail.erase(0, excess);
}

// The line may lie anywhere in megabytes of progress, and across two reads.
void look_for_lost_marks(CapturedOutput& captured, std::string_view bytes) {
  constexpr std::size_t longest = 200;
  if (!captured.lost_marks.empty()) return;
  captured.recent.append(bytes);
  const std::string_view text = captured.recent;
  const auto found = text.find(lost_marks_phrase);
  if (found == std::string_view::npos) {
    const std::size_t may_be_a_start = std::min(text.size(), lost_marks_phrase.size());
    captured.recent.erase(0, text.size() - may_be_a_start);
    return;
  }
  const auto line = text.substr(found + lost_marks_phrase.size(), longest);
  const auto end = line.find('\n');
  if (line.size() < longest && end == std::string_view::npos) return;  // the rest is still to come
  captured.lost_marks = printable(std::string(line.substr(0, end)));
}

// Keeps the last `cap` bytes of a stream; drops in bulk so that a flood costs little.
void keep_tail(CapturedOutput& captured, const char* bytes, std::size_t count, std::size_t cap) {
  captured.bytes += count;
  look_for_lost_marks(captured, {bytes, count});
  captured.tail.append(bytes, count);
  if (captured.tail.size() > 2 * cap + 65536) cut_front(captured, cap);
}

// False once the stream has ended.
bool drain(int fd, CapturedOutput& captured, std::size_t cap) {
  static thread_local std::array<char, 65536> buffer;
  for (int rounds = 0; rounds < 64; ++rounds) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0)
      keep_tail(captured, buffer.data(), static_cast<std::size_t>(count), cap);
    else if (count == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
  return true;  // there is more; the caller comes back after a look at its deadlines
}

// Marks without a time of their own get that of their arrival, which is no later than `latest`.
bool drain_regions(int fd, RegionMarks& regions, const Clock& clock, Nanoseconds latest = INT64_MAX) {
  static thread_local std::array<char, 65536> buffer;
  for (int rounds = 0; rounds < 64; ++rounds) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0)
      regions.feed({buffer.data(), static_cast<std::size_t>(count)}, std::min(clock.now(), latest));
    else if (count == 0 || errno != EINTR)
      return count < 0 && errno == EAGAIN;
  }
  return true;
}

// CLOCK_MONOTONIC of a process in a time namespace of its own is another one (time_namespaces(7)). Of one that is gone, or may not be asked,
// nothing is known.
bool has_our_clock(const std::string& process) {
  const auto clock_of = [](const std::string& who) {
    std::array<char, 64> text{};
    const ssize_t count = ::readlink(("/proc/" + who + "/ns/time").c_str(), text.data(), text.size());
    return std::string(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0);
  };
  const std::string number = process.substr(0, process.find('/'));
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return true;
  const std::string theirs = clock_of(number), ours = clock_of("self");
  return theirs.empty() || ours.empty() || theirs == ours;
}

constexpr Nanoseconds never = INT64_MAX;
constexpr Seconds longest_end_when_pressed{1};

}  // namespace

bool was_stopped(pid_t child) {
  siginfo_t info{};
  bool stopped = false;
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid == child) {
    stopped = true;
    info = {};
  }
  return stopped;
}

// One of the children that are waited for.
class ChildWait {
 public:
  ChildWait(Child& child, const ChildLimits& limits, const Clock& clock)
      : child_(child), limits_(limits), clock_(clock) {
    result.started = child.started_;
    result.regions = RegionMarks(child.started_, limits.region);
    result.regions.believe_only(has_our_clock);
    result.regions_problem = child.regions_problem_;
    deadline_ = limits.timeout.value() > 0 ? child.started_ + nanoseconds(limits.timeout) : never;
    regions_open_ = static_cast<bool>(child.regions_);
  }

  void add(std::vector<pollfd>& waiting) {
    first_ = waiting.size();
    waiting.push_back({child_.pidfd_.get(), POLLIN, 0});
    waiting.push_back({output_open_ ? child_.output_.get() : -1, POLLIN, 0});
    waiting.push_back({errors_open_ ? child_.errors_.get() : -1, POLLIN, 0});
    look_later_ = regions_open_ && result.regions.all_sent() && clock_.now() < next_region_look_;
    waiting.push_back({regions_open_ && !look_later_ ? child_.regions_.fd() : -1, POLLIN, 0});
  }

  Nanoseconds wake() const { return look_later_ ? std::min(deadline_, next_region_look_) : deadline_; }

  // False once it is gone.
  bool take(const std::vector<pollfd>& waiting, Nanoseconds now) {
    result.child_was_stopped = was_stopped(child_.pid_) || result.child_was_stopped;
    if (waiting[first_].revents != 0) {
      finish(now);
      return false;
    }
    if (waiting[first_ + 3].revents != 0) {
      regions_open_ = drain_regions(child_.regions_.fd(), result.regions, clock_);
      next_region_look_ = now + between_region_looks;
    }
    if (waiting[first_ + 1].revents != 0)
      output_open_ = drain(child_.output_.get(), result.output, limits_.output_cap);
    if (waiting[first_ + 2].revents != 0)
      errors_open_ = drain(child_.errors_.get(), result.errors, limits_.output_cap);
    return true;
  }

  // False: it was killed long ago and does not end; it is not waited for any more.
  bool look_at_deadline(Nanoseconds now) {
    if (now < deadline_) return true;
    if (killed_) {
      take_rest(now, false);
      return false;
    }
    go_on_ending(now);
    if (result.end == ChildResult::End::not_launched) result.end = ChildResult::End::timed_out;
    return true;
  }

  // Asks it to end; the second time does not ask, and from the third on it is not waited for long.
  void end(ChildResult::End because, Nanoseconds now) {
    if (killed_)
      deadline_ = std::min(deadline_, now + nanoseconds(longest_end_when_pressed));
    else
      go_on_ending(now);
    if (because == ChildResult::End::interrupted || result.end == ChildResult::End::not_launched)
      result.end = because;
  }

  bool failed() const {
    return result.end != ChildResult::End::not_launched &&
           (result.end != ChildResult::End::exited || result.exit_code != 0);
  }

  ChildResult result;

 private:
  void end_group(int signal) const {
    ::kill(-child_.pid_, signal);
    ::kill(child_.pid_, signal);  // before its setsid() it has no group of its own
  }

  // SIGTERM first, then SIGKILL.
  void go_on_ending(Nanoseconds now) {
    killed_ = terminated_;
    terminated_ = true;
    end_group(killed_ ? SIGKILL : SIGTERM);
    deadline_ = now + nanoseconds(killed_ ? longest_end : limits_.grace);
  }

  void finish(Nanoseconds now) { take_rest(now, true); }

  void take_rest(Nanoseconds now, bool has_ended) {
    result.ended = now;
    if (has_ended)
      child_.reap(result);
    else
      child_.leave_behind(result);
    if (regions_open_) drain_regions(child_.regions_.fd(), result.regions, clock_, result.ended);
    result.regions.finish(result.ended);
    if (output_open_) drain(child_.output_.get(), result.output, limits_.output_cap);
    if (errors_open_) drain(child_.errors_.get(), result.errors, limits_.output_cap);
    for (CapturedOutput* stream : {&result.output, &result.errors}) {
      if (stream->tail.size() > limits_.output_cap) cut_front(*stream, limits_.output_cap);
    }
  }

  Child& child_;
  const ChildLimits& limits_;
  const Clock& clock_;
  Nanoseconds deadline_ = never, next_region_look_ = 0;
  std::size_t first_ = 0;  // of its descriptors among those that are polled
  bool terminated_ = false, killed_ = false, look_later_ = false;
  bool output_open_ = true, errors_open_ = true, regions_open_ = false;
};

namespace {

// Those that are still there, and their gate.
class Together {
 public:
  Together(std::vector<ChildWait>& all, const std::vector<std::string>& names, StartGate* gate)
      : all_(all), names_(names), gate_(gate) {
    for (ChildWait& one : all) left_.push_back(&one);
  }

  void wait(Interruption* interruption, const Clock& clock) {
    int signals_seen = interruption != nullptr ? interruption->count() : 0;
    bool asked_to_end = false, spoiled = false;
    std::vector<pollfd> waiting;
    while (!left_.empty()) {
      waiting.clear();
      Nanoseconds wake = never;
      for (ChildWait* one : left_) {
        one->add(waiting);
        wake = std::min(wake, one->wake());
      }
      waiting.push_back({interruption != nullptr ? interruption->fd() : -1, POLLIN, 0});
      waiting.push_back({gate_ != nullptr ? gate_->wants_lines() : -1, POLLOUT, 0});
      // A signal that came before this wait was taken from its descriptor already: it must not be slept over.
      if (interruption != nullptr && !asked_to_end && interruption->pending() != 0) wake = 0;
      timespec left{};
      if (wake != never) {
        const Nanoseconds remaining = std::max<Nanoseconds>(0, wake - clock.now());
        left = {.tv_sec = remaining / 1'000'000'000, .tv_nsec = remaining % 1'000'000'000};
      }
      ::ppoll(waiting.data(), waiting.size(), wake == never ? nullptr : &left, nullptr);
      const Nanoseconds now = clock.now();
      if ((waiting.back().revents & POLLOUT) != 0) gate_->add_lines();
      std::erase_if(left_, [&](ChildWait* one) { return !one->take(waiting, now); });
      if (interruption != nullptr && interruption->pending() != 0 &&
          (interruption->count() > signals_seen || !asked_to_end)) {
        // The first signal asks the work to end, a second one does not ask.
        for (ChildWait* one : left_) one->end(ChildResult::End::interrupted, now);
        asked_to_end = true;
        signals_seen = interruption->count();
      }
      std::erase_if(left_, [&](ChildWait* one) { return !one->look_at_deadline(now); });
      look_at_gate(now);
      const bool failed = !gate_problem.empty() || std::any_of(all_.begin(), all_.end(),
                                                               [](const ChildWait& w) { return w.failed(); });
      if (failed && !std::exchange(spoiled, true)) {
        for (ChildWait* one : left_) {
          if (!one->failed()) one->end(ChildResult::End::ended_with_others, now);
        }
      }
    }
  }

  std::optional<Nanoseconds> gate_opened;
  std::string gate_problem;

 private:
  void look_at_gate(Nanoseconds now) {
    if (gate_ == nullptr || gate_->is_open() || !gate_problem.empty()) return;
    const auto ready = [](const ChildWait& one) { return one.result.regions.ready; };
    if (std::all_of(all_.begin(), all_.end(), ready)) {
      gate_->open();
      gate_opened = now;
      return;
    }
    if (std::none_of(all_.begin(), all_.end(), ready)) return;
    // Whose time is over first is chance where all have the same: what they waited for is why.
    const bool waited_too_long = std::any_of(all_.begin(), all_.end(), [&](const ChildWait& one) {
      return ready(one) && one.result.end == ChildResult::End::timed_out;
    });
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto end = all_[i].result.end;
      if (ready(all_[i]) || (end == ChildResult::End::not_launched && !waited_too_long)) continue;
      // Others wait for it in vain. How it failed is told anyway.
      if (end == ChildResult::End::timed_out || end == ChildResult::End::not_launched)
        gate_problem =
            fmt::format("{} was not ready within the time limit, while others waited for it", names_[i]);
      else if (end == ChildResult::End::exited && all_[i].result.exit_code == 0)
        gate_problem = fmt::format(
            "{} ended without announcing that it was ready, while others waited for it: either all that run "
            "at once announce it, or none",
            names_[i]);
      return;
    }
  }

  std::vector<ChildWait>& all_;
  const std::vector<std::string>& names_;
  StartGate* gate_;
  std::vector<ChildWait*> left_;
};

}  // namespace

ChildrenResult wait_for_all(std::vector<Child>& children, const std::vector<ChildLimits>& limits,
                            const std::vector<std::string>& names, StartGate* gate,
                            Interruption* interruption, const Clock& clock) {
  std::vector<ChildWait> waits;
  waits.reserve(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) waits.emplace_back(children[i], limits[i], clock);
  if (interruption != nullptr) interruption->take_continued();
  Together together(waits, names, gate);
  together.wait(interruption, clock);
  const bool stopped = interruption != nullptr && interruption->take_continued();
  ChildrenResult result;
  result.gate_opened = together.gate_opened;
  result.gate_problem = together.gate_problem;
  for (ChildWait& one : waits) {
    one.result.stopped_meanwhile = stopped;
    result.each.push_back(std::move(one.result));
  }
  return result;
}

ChildResult Child::wait(const ChildLimits& limits, Interruption* interruption, const Clock& clock) {
  if (interruption != nullptr) interruption->take_continued();
  std::vector<ChildWait> alone;
  alone.emplace_back(*this, limits, clock);
  Together(alone, {}, nullptr).wait(interruption, clock);
  alone[0].result.stopped_meanwhile = interruption != nullptr && interruption->take_continued();
  return std::move(alone[0].result);
}

}  // namespace dvfs_plan
