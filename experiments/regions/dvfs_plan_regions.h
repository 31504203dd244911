/* Marks the parts of a program that count, for dvfs-plan. C99 with POSIX 2008 (under -std=c99 define
 * _POSIX_C_SOURCE 200809L before the first include) and C++; header only; nothing to link.
 *
 *   #include "dvfs_plan_regions.h"
 *
 *   dvfs_plan_begin("train");
 *   for (...) { dvfs_plan_begin("step"); ...; dvfs_plan_end("step"); }
 *   dvfs_plan_end("train");
 *   dvfs_plan_metric("samples", 64000, "");
 *
 * In C++, dvfs_plan_region region("train"); marks a scope. Without DVFS_PLAN_REGIONS in the environment every call
 * returns at once. A mark is one write(2) of one line, so threads may mark too. Names: one word, at most 64
 * characters. Times are CLOCK_MONOTONIC nanoseconds, taken here. Each mark says which process made it, and which
 * rank where RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK or SLURM_PROCID tell: processes that mark the same
 * name are kept apart.
 *
 * Marks go to the FIFO whose path DVFS_PLAN_REGIONS holds. Before each mark it is made sure that the descriptor still
 * is that FIFO, so that a program which closed it and opened a file of its own in its place is not written to. Marks
 * that cannot be written are counted, and told with the next one or on standard error. Spaces in names become '_'.
 *
 * Copy this file into your program: it may be used under the terms of the MIT licence, or as public domain.
 */
#ifndef DVFS_PLAN_REGIONS_H
#define DVFS_PLAN_REGIONS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct dvfs_plan_channel {
  int fd;           /* -1: not opened */
  int useless;      /* there is no FIFO to be had: nothing is tried again */
  dev_t device;     /* of the FIFO */
  ino_t inode;
  int told;         /* that marks are lost: once is enough */
  unsigned long lost;
  int has_errors;   /* standard error, as it was when the program began: */
  dev_t errors_device;
  ino_t errors_inode;
};

static struct dvfs_plan_channel dvfs_plan_channel_ = {-1, 0, 0, 0, 0, 0, 0, 0, 0};

static inline struct dvfs_plan_channel* dvfs_plan_here(void) { return &dvfs_plan_channel_; }

/* What number 2 is now may be a file of the program's own. */
__attribute__((constructor)) static void dvfs_plan_remember_errors(void) {
  struct stat info;
  dvfs_plan_channel_.has_errors = fstat(STDERR_FILENO, &info) == 0;
  if (!dvfs_plan_channel_.has_errors) return;
  dvfs_plan_channel_.errors_device = info.st_dev;
  dvfs_plan_channel_.errors_inode = info.st_ino;
}

/* dvfs-plan finds this line in what the program prints, and does not count the trial. */
static inline void dvfs_plan_tell_lost(const char* why, const char* path, const char* reason) {
  struct dvfs_plan_channel* here = dvfs_plan_here();
  struct stat info;
  char line[512];
  int n;
  if (here->told || !here->has_errors || fstat(STDERR_FILENO, &info) != 0 || info.st_dev != here->errors_device ||
      info.st_ino != here->errors_inode)
    return;
  here->told = 1;
  n = snprintf(line, sizeof line, "dvfs-plan: region marks are lost: %s %s: %s\n", why, path, reason);
  if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0) return;
}

/* "/3" for rank 3, or "". Looked up once; threads that do so at the same time write the same. */
static inline const char* dvfs_plan_rank(void) {
  static const char* const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  static char rank[24];
  static int known;
  size_t i;
  int n;
  if (__atomic_load_n(&known, __ATOMIC_ACQUIRE)) return rank;
  for (i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    const char* value = getenv(ranks[i]);
    if (value == NULL || *value < '0' || *value > '9') continue;
    for (n = 0; n < 20 && value[n] >= '0' && value[n] <= '9'; ++n) rank[n + 1] = value[n];
    rank[0] = '/';
    break;
  }
  __atomic_store_n(&known, 1, __ATOMIC_RELEASE);
  return rank;
}

/* "4711", or "4711/3" for rank 3, into `to`, which has room for 48; returns its end. Made anew for each mark: a child
 * after fork(2) has a name of its own. */
static inline char* dvfs_plan_put_process(char* to) {
  const char* rank = dvfs_plan_rank();
  char digits[24];
  int n = 0;
  unsigned long pid = (unsigned long)getpid();
  do {
    digits[n++] = (char)('0' + pid % 10);
    pid /= 10;
  } while (pid != 0);
  while (n > 0) *to++ = digits[--n];
  while (*rank != '\0') *to++ = *rank++;
  return to;
}

/* The FIFO, opened for reading too: it can then neither end nor send SIGPIPE when nobody listens any more. */
static inline int dvfs_plan_open(struct dvfs_plan_channel* here) {
  const char* path = getenv("DVFS_PLAN_REGIONS");
  struct stat info;
  int fd, higher, is_fifo;
  if (path == NULL || *path == '\0') {
    here->useless = 1;
    return -1;
  }
  fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  is_fifo = fd >= 0 && fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode);
  if (!is_fifo) {
    /* Too many open files may pass; what is not there, or is no FIFO, stays so. */
    const int passes = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == EINTR || errno == ENOMEM);
    dvfs_plan_tell_lost("cannot open the FIFO", path, fd < 0 ? strerror(errno) : "it is no FIFO");
    if (fd >= 0) close(fd);
    here->useless = !passes;
    if (passes) ++here->lost;
    return -1;
  }
  higher = fcntl(fd, F_DUPFD_CLOEXEC, 100); /* out of the way of programs that expect low numbers */
  if (higher >= 0) {
    close(fd);
    fd = higher;
  }
  here->device = info.st_dev;
  here->inode = info.st_ino;
  here->fd = fd;
  return fd;
}

/* A descriptor that is the FIFO at this moment; -1 if there is none. */
static inline int dvfs_plan_region_fd(void) {
  struct dvfs_plan_channel* here = dvfs_plan_here();
  struct stat info;
  if (here->useless) return -1;
  if (here->fd >= 0 && fstat(here->fd, &info) == 0 && info.st_dev == here->device && info.st_ino == here->inode)
    return here->fd;
  return dvfs_plan_open(here);
}

static inline double dvfs_plan_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One line, whole or not at all (pipe(7)). Waits up to a second for room in a full FIFO. */
static inline int dvfs_plan_write(int fd, const char* line, size_t length, int may_wait) {
  double until = 0;
  for (;;) {
    struct pollfd room;
    if (write(fd, line, length) == (ssize_t)length) return 1;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !may_wait) return 0;
    if (until == 0) until = dvfs_plan_seconds() + 1;
    if (dvfs_plan_seconds() >= until) return 0;
    room.fd = fd;
    room.events = POLLOUT;
    poll(&room, 1, 100);
  }
}

/* Once a mark was lost no later one waits until there is room again: nobody may be reading at all. */
static inline void dvfs_plan_send(int fd, const char* line, size_t length) {
  struct dvfs_plan_channel* here = dvfs_plan_here();
  if (here->lost > 0) {
    char told[120];
    int n = snprintf(told, sizeof told, "lost %lu ", here->lost);
    char* at = dvfs_plan_put_process(told + n);
    *at++ = '\n';
    if (!dvfs_plan_write(fd, told, (size_t)(at - told), 0)) {
      ++here->lost;
      return;
    }
    here->lost = 0;
  }
  if (dvfs_plan_write(fd, line, length, 1)) return;
  ++here->lost;
  dvfs_plan_tell_lost("cannot write to", "the FIFO", "nobody reads it");
}

/* A word: spaces and what ends a line become '_'. */
static inline char* dvfs_plan_put(char* to, const char* text, size_t most) {
  size_t i;
  for (i = 0; i < most && text[i] != '\0'; ++i) *to++ = text[i] <= ' ' && text[i] > 0 ? '_' : text[i];
  return to;
}

static inline char* dvfs_plan_put_nanoseconds(char* to) {
  char digits[24];
  struct timespec now;
  unsigned long long ns;
  int n = 0;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ns = (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
  do {
    digits[n++] = (char)('0' + ns % 10);
    ns /= 10;
  } while (ns != 0);
  while (n > 0) *to++ = digits[--n];
  return to;
}

/* "WORD NAME NANOSECONDS PROCESS\n", put together by hand: printf would take half of a mark's time. */
static inline void dvfs_plan_mark(const char* word, const char* name) {
  const int former_errno = errno;
  char line[200];
  char* at = line;
  const int fd = dvfs_plan_region_fd();
  if (fd >= 0) {
    while (*word != '\0') *at++ = *word++;
    *at++ = ' ';
    at = dvfs_plan_put(at, name, 64);
    *at++ = ' ';
    at = dvfs_plan_put_nanoseconds(at);
    *at++ = ' ';
    at = dvfs_plan_put_process(at);
    *at++ = '\n';
    dvfs_plan_send(fd, line, (size_t)(at - line));
  }
  errno = former_errno;
}

static inline void dvfs_plan_begin(const char* name) { dvfs_plan_mark("begin", name); }
static inline void dvfs_plan_end(const char* name) { dvfs_plan_mark("end", name); }

/* A number of the workload: samples, tokens, accuracy. `unit` may be "". */
static inline void dvfs_plan_metric(const char* name, double value, const char* unit) {
  const int former_errno = errno;
  char number[40], line[300];
  char* at = line;
  char* comma;
  const int fd = dvfs_plan_region_fd();
  if (fd >= 0) {
    snprintf(number, sizeof number, "%.17g", value);
    comma = strchr(number, ','); /* the program's locale may write 0,5 */
    if (comma != NULL) *comma = '.';
    memcpy(at, "metric ", 7);
    at = dvfs_plan_put(at + 7, name, 64);
    *at++ = ' ';
    at = dvfs_plan_put(at, number, sizeof number);
    *at++ = ' ';
    at = dvfs_plan_put(at, unit != NULL && *unit != '\0' ? unit : "-", 32);
    *at++ = ' ';
    at = dvfs_plan_put_process(at);
    *at++ = ' ';
    at = dvfs_plan_put_nanoseconds(at);
    *at++ = '\n';
    dvfs_plan_send(fd, line, (size_t)(at - line));
  }
  errno = former_errno;
}

/* Where several run at once: announces that this one is ready (data loaded, warm), and returns when all are. One call
 * a program. */
static inline void dvfs_plan_wait_for_others(void) {
  const int former_errno = errno;
  const char* gate = getenv("DVFS_PLAN_GO");
  const int fd = gate != NULL && *gate != '\0' ? dvfs_plan_region_fd() : -1;
  if (fd >= 0) {
    char line[80] = "ready ";
    char* at = dvfs_plan_put_process(line + 6);
    int opened;
    *at++ = '\n';
    dvfs_plan_send(fd, line, (size_t)(at - line));
    do { /* a FIFO: to open it is to wait */
      opened = open(gate, O_RDONLY | O_CLOEXEC);
    } while (opened < 0 && errno == EINTR);
    if (opened >= 0) close(opened);
  }
  errno = former_errno;
}

#ifdef __cplusplus
class dvfs_plan_region {
 public:
  explicit dvfs_plan_region(const char* name) : name_(name), pid_(getpid()) { dvfs_plan_begin(name_); }
  // A child that was forked inside and unwinds did not begin it.
  ~dvfs_plan_region() {
    if (pid_ == getpid()) dvfs_plan_end(name_);
  }
  dvfs_plan_region(const dvfs_plan_region&) = delete;
  dvfs_plan_region& operator=(const dvfs_plan_region&) = delete;

 private:
  const char* name_;
  pid_t pid_;
};
#endif

#endif
