/* dvfs-mixed of the testbed: its time follows the P-state that is really in force.
 * seconds = MEMORY + CORE * 3000 / MHz; the machine's busy line is up meanwhile. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>
#include <time.h>

static const double mhz[] = {3000, 3000, 2600, 2200, 1800, 1400, 1000};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  const double core = argc > 1 ? atof(argv[1]) : 0.5, memory = argc > 2 ? atof(argv[2]) : 0.2;
  if (ioperm(0x2ef, 1, 1) || ioperm(0x2ff, 1, 1)) {
    perror("ioperm");
    return 1;
  }
  outb(1, 0x2ef);
  const double start = now();
  double done = 0, last = start;
  while (done < 1) {
    const struct timespec nap = {0, 1000000};
    nanosleep(&nap, 0);
    const unsigned p = inb(0x2ff);
    const double t = now();
    done += (t - last) / (memory + core * 3000 / mhz[p > 6 ? 0 : p]);
    last = t;
  }
  outb(0, 0x2ef);
  printf("elapsed %.6f s\n", now() - start);
  return 0;
}
