/* Marks the parts of a program that count, for dvfs-plan. C99 (POSIX 2008) and C++; header only; nothing to link.
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
 * that cannot be written are counted, and told with the next one or on standard error.
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
  int fd;            /* -1: not opened */
  int useless;       /* there is no FIFO to be had: nothing is tried again */
  pid_t pid;         /* whose marks `process` names: another one after fork(2) */
  dev_t device;      /* of the FIFO */
  ino_t inode;
  unsigned long lost;
  char process[40];  /* "4711" or "4711/3" */
};

static inline struct dvfs_plan_channel* dvfs_plan_here(void) {
  static struct dvfs_plan_channel channel = {-1, 0, 0, 0, 0, 0, ""};
  return &channel;
}

/* dvfs-plan finds this line in what the program prints, and does not count the trial. */
static inline void dvfs_plan_tell_lost(const char* why, const char* path) {
  fprintf(stderr, "dvfs-plan: region marks are lost: %s %s: %s\n", why, path, strerror(errno));
}

static inline void dvfs_plan_name_process(struct dvfs_plan_channel* here) {
  static const char* const ranks[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
  size_t i;
  here->pid = getpid();
  snprintf(here->process, sizeof here->process, "%ld", (long)here->pid);
  for (i = 0; i < sizeof ranks / sizeof ranks[0]; ++i) {
    const char* rank = getenv(ranks[i]);
    if (rank == NULL || *rank < '0' || *rank > '9') continue;
    snprintf(here->process, sizeof here->process, "%ld/%ld", (long)here->pid, strtol(rank, NULL, 10));
    return;
  }
}

/* The FIFO, opened for reading too: it can then neither end nor send SIGPIPE when nobody listens any more. */
static inline int dvfs_plan_open(struct dvfs_plan_channel* here) {
  const char* path = getenv("DVFS_PLAN_REGIONS");
  struct stat info;
  int fd, higher;
  if (path == NULL || *path == '\0') {
    here->useless = 1;
    return -1;
  }
  fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 || fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) {
    dvfs_plan_tell_lost("cannot open the FIFO", path);
    if (fd >= 0) close(fd);
    here->useless = 1;
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
  if (here->pid != getpid()) dvfs_plan_name_process(here);
  if (here->fd >= 0 && fstat(here->fd, &info) == 0 && info.st_dev == here->device && info.st_ino == here->inode)
    return here->fd;
  return dvfs_plan_open(here);
}

/* One line, whole or not at all (pipe(7)). A FIFO that stays full for a second loses the mark, which is counted. */
static inline int dvfs_plan_write(int fd, const char* line, size_t length) {
  int waits;
  for (waits = 0; waits < 10; ++waits) {
    struct pollfd room;
    if (write(fd, line, length) == (ssize_t)length) return 1;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return 0;
    room.fd = fd;
    room.events = POLLOUT;
    poll(&room, 1, 100);
  }
  return 0;
}

static inline void dvfs_plan_send(int fd, const char* line, size_t length) {
  struct dvfs_plan_channel* here = dvfs_plan_here();
  if (here->lost > 0) {
    char told[96];
    const int n = snprintf(told, sizeof told, "lost %lu %s\n", here->lost, here->process);
    if (n > 0 && dvfs_plan_write(fd, told, (size_t)n)) here->lost = 0;
  }
  if (dvfs_plan_write(fd, line, length)) return;
  if (here->lost++ == 0) dvfs_plan_tell_lost("cannot write to", "the FIFO");
}

static inline char* dvfs_plan_put(char* to, const char* text, size_t most) {
  size_t length = strlen(text);
  if (length > most) length = most;
  memcpy(to, text, length);
  return to + length;
}

/* "WORD NAME NANOSECONDS PROCESS\n", put together by hand: printf would take half of a mark's time. */
static inline void dvfs_plan_mark(const char* word, const char* name) {
  char line[160], digits[24];
  char* at = line;
  struct timespec now;
  unsigned long long ns;
  int n = 0;
  const int fd = dvfs_plan_region_fd();
  if (fd < 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ns = (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
  at = dvfs_plan_put(at, word, 8);
  at = dvfs_plan_put(at, name, 64);
  *at++ = ' ';
  do {
    digits[n++] = (char)('0' + ns % 10);
    ns /= 10;
  } while (ns != 0);
  while (n > 0) *at++ = digits[--n];
  *at++ = ' ';
  at = dvfs_plan_put(at, dvfs_plan_here()->process, 40);
  *at++ = '\n';
  dvfs_plan_send(fd, line, (size_t)(at - line));
}

static inline void dvfs_plan_begin(const char* name) { dvfs_plan_mark("begin ", name); }
static inline void dvfs_plan_end(const char* name) { dvfs_plan_mark("end ", name); }

/* A number of the workload: samples, tokens, accuracy. `unit` may be "". */
static inline void dvfs_plan_metric(const char* name, double value, const char* unit) {
  char number[40], line[256];
  char* comma;
  int length;
  const int fd = dvfs_plan_region_fd();
  if (fd < 0) return;
  snprintf(number, sizeof number, "%.17g", value);
  comma = strchr(number, ','); /* the program's locale may write 0,5 */
  if (comma != NULL) *comma = '.';
  length = snprintf(line, sizeof line, "metric %.64s %s %.32s %s\n", name, number,
                    unit != NULL && *unit != '\0' ? unit : "-", dvfs_plan_here()->process);
  if (length > 0 && (size_t)length < sizeof line) dvfs_plan_send(fd, line, (size_t)length);
}

#ifdef __cplusplus
class dvfs_plan_region {
 public:
  explicit dvfs_plan_region(const char* name) : name_(name) { dvfs_plan_begin(name_); }
  ~dvfs_plan_region() { dvfs_plan_end(name_); }
  dvfs_plan_region(const dvfs_plan_region&) = delete;
  dvfs_plan_region& operator=(const dvfs_plan_region&) = delete;

 private:
  const char* name_;
};
#endif

#endif
