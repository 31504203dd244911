#include "base/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.hpp"

namespace dvfs_plan {
namespace {

using std::chrono::milliseconds;

// Of one who is told something while he reads, and of one who is told the last.
constexpr milliseconds patience{200};
constexpr std::size_t most_waiting = 1 << 14;

// Lines for one who may not read them: a stalled ssh, a paused pager. Written by a thread of their own; who
// hands them over waits for that as long as lines are being read, so that nothing of what was said is lost
// where the process is killed, and no longer than `patience` where they are not. Lives as long as the process:
// its thread may sit in write(2) for ever.
class PatientLines {
 public:
  PatientLines() : process_(::getpid()) {
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for those who can answer them
    try {
      std::thread([this] { run(); }).detach();
    } catch (const std::system_error&) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  bool is_of_this_process() const { return process_ == ::getpid(); }

  void say(std::string_view text) {
    std::unique_lock lock(mutex_);
    // However long it is, where nothing waits before it.
    if (!waiting_.empty() && waiting_.size() + text.size() > most_waiting) {
      dropped_ += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
      return;
    }
    waiting_ += text;
    came_.notify_one();
    const auto taken = [this] { return waiting_.empty() && !writes_; };
    if (!is_stalled_ && !taken_.wait_for(lock, patience, taken)) is_stalled_ = true;
  }

  void wait_until_read(milliseconds longest, const std::function<bool()>& stop) {
    constexpr milliseconds between_two_looks{50};
    const auto until = std::chrono::steady_clock::now() + longest;
    std::unique_lock lock(mutex_);
    const auto taken = [this] { return waiting_.empty() && !writes_; };
    while (!taken_.wait_for(lock, between_two_looks, taken)) {
      if (stop() || std::chrono::steady_clock::now() >= until) return;
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      came_.wait(lock, [this] { return !waiting_.empty(); });
      std::string text = std::move(waiting_);
      waiting_.clear();
      writes_ = true;
      lock.unlock();
      write_all(STDERR_FILENO, text);
      lock.lock();
      writes_ = false;
      if (waiting_.empty() && dropped_ > 0) {
        waiting_ =
            "\nnote: " + std::to_string(dropped_) + " lines were left out here, while nobody read them\n";
        dropped_ = 0;
      }
      if (!waiting_.empty()) continue;
      is_stalled_ = false;
      taken_.notify_all();
    }
  }

  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable came_, taken_;
  std::string waiting_;
  std::size_t dropped_ = 0;
  bool writes_ = false, is_stalled_ = false;
};

std::atomic<PatientLines*> lines{nullptr};

// nullptr where no thread may be started: the guardian's filter of system calls.
PatientLines* patient_lines() {
  PatientLines* now = lines.load();
  // A fork has the memory, and not the thread.
  if (now != nullptr && now->is_of_this_process()) return now;
  try {
    auto* const made = new PatientLines;
    if (lines.compare_exchange_strong(now, made)) return made;
    return now;  // another thread was first; the one that was made has nothing to say
  } catch (const std::system_error&) {
    return nullptr;
  }
}

// Without a thread: as much as there is room for. A terminal or a pipe with any room has some for a short piece.
void write_what_fits(int fd, std::string_view text) {
  constexpr std::size_t piece = 256;
  while (!text.empty()) {
    pollfd room{fd, POLLOUT, 0};
    if (::poll(&room, 1, static_cast<int>(patience.count())) <= 0) return;
    const std::string_view some = text.substr(0, piece);
    if (write_all(fd, some) != 0) return;
    text.remove_prefix(some.size());
  }
}

std::optional<bool> chosen_colour;  // by the command line, before there is a thread

bool has_a_reader(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest that is free is taken (open(2)): this one.
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != fd) return;
  }
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

void write_stdout(std::string_view text) {
  write_all(STDOUT_FILENO, text);
}

void write_stderr(std::string_view text) {
  if (!has_a_reader(STDERR_FILENO)) {
    write_all(STDERR_FILENO, text);
    return;
  }
  if (PatientLines* const patient = patient_lines())
    patient->say(text);
  else
    write_what_fits(STDERR_FILENO, text);
}

void wait_until_stderr_is_read(milliseconds longest, const std::function<bool()>& stop) {
  PatientLines* const patient = lines.load();
  if (patient != nullptr && patient->is_of_this_process()) patient->wait_until_read(longest, stop);
}

void write_answer(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == 0 || error == EPIPE) return;
  throw AnswerNotWritten(ExitCode::machine_refuses, system_error_text("write the answer to its end", error),
                         "is the disk full?");
}

bool is_terminal_stdout() {
  return ::isatty(STDOUT_FILENO) != 0;
}

bool uses_colour() {
  if (chosen_colour) return *chosen_colour;
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return is_terminal_stdout() && (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

void choose_colour(std::optional<bool> always) {
  chosen_colour = always;
}

int answer_columns() {
  winsize size{};
  return is_terminal_stdout() && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace dvfs_plan
