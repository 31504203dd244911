/* dvfs-mixed of the testbed: its time follows the P-state that is really in force.
 * seconds = MEMORY + CORE * 3000 / MHz; the machine's busy line is up meanwhile.
 * With STARTUP and STEPS it is busy for STARTUP seconds first, then marks the work as region "work" in STEPS
 * steps, and tells how many samples it did and how well. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <time.h>

#include "experiments/regions/dvfs_plan_regions.h"

static const double mhz[] = {3000, 3000, 2600, 2200, 1800, 1400, 1000};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(void) {
  const struct timespec one_ms = {0, 1000000};
  nanosleep(&one_ms, 0);
}

/* A share of the work at whatever clock is in force. */
static void work(double core, double memory, double share) {
  double done = 0, last = now();
  while (done < share) {
    nap();
    const unsigned p = inb(0x2ff);
    const double t = now();
    done += (t - last) / (memory + core * 3000 / mhz[p > 6 ? 0 : p]);
    last = t;
  }
}

int main(int argc, char** argv) {
  const double core = argc > 1 ? atof(argv[1]) : 0.5, memory = argc > 2 ? atof(argv[2]) : 0.2;
  const double startup = argc > 3 ? atof(argv[3]) : 0;
  const int steps = argc > 4 ? atoi(argv[4]) : 0;
  if (getenv("TESTBED_PORTS") == NULL && (ioperm(0x2ef, 1, 1) || ioperm(0x2ff, 1, 1))) { /* testbedctl grant: they are ours already */
    perror("ioperm");
    return 1;
  }
  outb(1, 0x2ef);
  const double start = now();
  while (now() < start + startup) nap();
  if (steps == 0) {
    work(core, memory, 1);
  } else {
    dvfs_plan_begin("work");
    for (int i = 0; i < steps; ++i) {
      dvfs_plan_begin("step");
      work(core, memory, 1.0 / steps);
      dvfs_plan_end("step");
    }
    dvfs_plan_end("work");
    dvfs_plan_metric("samples", 100.0 * steps, "1");
    dvfs_plan_metric("accuracy", 0.76, "1");
  }
  outb(0, 0x2ef);
  printf("elapsed %.6f s\n", now() - start);
  return 0;
}
