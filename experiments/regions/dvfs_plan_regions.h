/* Marks the parts of a program that count, for dvfs-plan. C99 and C++; header only; nothing to link.
 *
 *   #include "dvfs_plan_regions.h"
 *
 *   dvfs_plan_begin("train");
 *   for (...) { dvfs_plan_begin("step"); ...; dvfs_plan_end("step"); }
 *   dvfs_plan_end("train");
 *   dvfs_plan_metric("samples", 64000, "");
 *
 * In C++, dvfs_plan_region region("train"); marks a scope. Without DVFS_PLAN_REGION_FD in the environment every
 * call returns at once. A mark is one write(2) of one line, so threads may mark too. Names: one word, at most
 * 64 characters. Times are CLOCK_MONOTONIC nanoseconds, taken here.
 *
 * Copy this file into your program: it may be used under the terms of the MIT licence, or as public domain.
 */
#ifndef DVFS_PLAN_REGIONS_H
#define DVFS_PLAN_REGIONS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static inline int dvfs_plan_region_fd(void) {
  static int fd = -2; /* not looked up yet */
  if (fd == -2) {
    const char* text = getenv("DVFS_PLAN_REGION_FD");
    fd = text != NULL && *text != '\0' ? atoi(text) : -1;
  }
  return fd;
}

/* "WORD NAME NANOSECONDS\n", put together by hand: printf would take half of a mark's time. */
static inline void dvfs_plan_mark(const char* word, const char* name) {
  char line[128], digits[24];
  struct timespec now;
  unsigned long long ns;
  size_t at = strlen(word), length = strlen(name);
  int n = 0;
  const int fd = dvfs_plan_region_fd();
  if (fd < 0) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  ns = (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
  if (length > 64) length = 64;
  memcpy(line, word, at);
  memcpy(line + at, name, length);
  at += length;
  line[at++] = ' ';
  do {
    digits[n++] = (char)('0' + ns % 10);
    ns /= 10;
  } while (ns != 0);
  while (n > 0) line[at++] = digits[--n];
  line[at++] = '\n';
  if (write(fd, line, at) < 0) return; /* nobody listens any more */
}

static inline void dvfs_plan_begin(const char* name) { dvfs_plan_mark("begin ", name); }
static inline void dvfs_plan_end(const char* name) { dvfs_plan_mark("end ", name); }

/* A number of the workload: samples, tokens, accuracy. `unit` may be "". */
static inline void dvfs_plan_metric(const char* name, double value, const char* unit) {
  char number[40], line[192];
  char* comma;
  int length;
  const int fd = dvfs_plan_region_fd();
  if (fd < 0) return;
  snprintf(number, sizeof number, "%.17g", value);
  comma = strchr(number, ','); /* the program's locale may write 0,5 */
  if (comma != NULL) *comma = '.';
  length = snprintf(line, sizeof line, "metric %.64s %s %.32s\n", name, number, unit);
  if (length > 0 && (size_t)length < sizeof line && write(fd, line, (size_t)length) < 0) return;
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
