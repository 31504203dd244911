/* dvfs-mixed of the testbed: its time follows the P-state that is really in force.
 * seconds = MEMORY + CORE * 3000 / MHz; the machine's busy line is up meanwhile.
 * With STARTUP and STEPS it is busy for STARTUP seconds first, then marks the work as region "work" in STEPS
 * steps, and tells how many samples it did and how well. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

/* --serve PORT CORE MEMORY: an HTTP server of one thread; each request is that work, the busy line is up meanwhile. */
static int serve(int port, double core, double memory) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listening, (struct sockaddr*)&at, sizeof at) || listen(listening, 1000)) {
    perror("listen");
    return 1;
  }
  for (;;) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    char request[4096];
    const int client = accept(listening, 0, 0);
    if (client < 0) continue;
    if (read(client, request, sizeof request) > 0) {
      outb(1, 0x2ef);
      work(core, memory, 1);
      outb(0, 0x2ef);
      if (write(client, answer, sizeof answer - 1) < 0) perror("write");
    }
    close(client);
  }
}

int main(int argc, char** argv) {
  const int serves = argc == 5 && strcmp(argv[1], "--serve") == 0;
  const double core = argc > 1 ? atof(argv[1]) : 0.5, memory = argc > 2 ? atof(argv[2]) : 0.2;
  const double startup = argc > 3 ? atof(argv[3]) : 0;
  const int steps = argc > 4 ? atoi(argv[4]) : 0;
  if (getenv("TESTBED_PORTS") == NULL && (ioperm(0x2ef, 1, 1) || ioperm(0x2ff, 1, 1))) { /* testbedctl grant: they are ours already */
    perror("ioperm");
    return 1;
  }
  if (serves) return serve(atoi(argv[2]), atof(argv[3]), atof(argv[4]));
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
