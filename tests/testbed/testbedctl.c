/* testbedctl grant COMMAND... | as UID GROUP COMMAND... | unbind | cap N | meter works|dead|frozen|drifts | busy 0|1: faults of the testbed's firmware on command. */
#define _DEFAULT_SOURCE
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <unistd.h>

int main(int argc, char** argv) {
  /* grant COMMAND...: it may use the ports that the workload needs, whoever it becomes (ioperm(2) outlives execve). */
  if (argc > 2 && strcmp(argv[1], "grant") == 0) {
    if (ioperm(0x2ef, 1, 1) || ioperm(0x2ff, 1, 1)) return 1;
    setenv("TESTBED_PORTS", "granted", 1);
    execvp(argv[2], argv + 2);
    return 127;
  }
  /* as UID GROUP COMMAND...: the same, as that user of that group, without a shell between: signals to it meet COMMAND. */
  if (argc > 4 && strcmp(argv[1], "as") == 0) {
    const gid_t user = (gid_t)atoi(argv[2]), group = (gid_t)atoi(argv[3]);
    if (ioperm(0x2ef, 1, 1) || ioperm(0x2ff, 1, 1)) return 1;
    setenv("TESTBED_PORTS", "granted", 1);
    setenv("HOME", "/data", 1);
    if (setgroups(1, &group) || setgid(user) || setuid(user)) return 1;
    execvp(argv[4], argv + 4);
    return 127;
  }
  /* unbind: the power meter's driver lets it go. */
  if (argc == 2 && strcmp(argv[1], "unbind") == 0) {
    FILE* driver = fopen("/sys/bus/acpi/drivers/power_meter/unbind", "w");
    return driver && fputs("ACPI000D:00", driver) >= 0 && fclose(driver) == 0 ? 0 : 1;
  }
  if (argc != 3 || ioperm(0x3ff, 1, 1) || ioperm(0x2ef, 1, 1)) {
    fprintf(stderr, "usage: testbedctl unbind | cap N | meter works|dead|frozen|drifts | busy 0|1 (as root)\n");
    return 2;
  }
  const unsigned char now = inb(0x3ff);
  if (strcmp(argv[1], "cap") == 0) {
    outb((unsigned char)((now & 0xf0) | (atoi(argv[2]) & 0x0f)), 0x3ff);
  } else if (strcmp(argv[1], "meter") == 0) {
    const int mode = strcmp(argv[2], "dead") == 0 ? 1 : strcmp(argv[2], "frozen") == 0 ? 2 : strcmp(argv[2], "drifts") == 0 ? 3 : 0;
    outb((unsigned char)((now & 0x0f) | (mode << 4)), 0x3ff);
  } else {
    outb((unsigned char)atoi(argv[2]), 0x2ef);
  }
  return 0;
}
