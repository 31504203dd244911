"""What the virtual machine costs, by arithmetic: the same table as tests/testbed/dvfs.asl and mixed.c."""

BUSY_WATTS = {"3 GHz": 42.0, "2.6 GHz": 30.0, "2.2 GHz": 21.5, "1.8 GHz": 15.5, "1.4 GHz": 11.5, "1 GHz": 9.0}
IDLE_WATTS = 20.0


def seconds(clock, core, memory):
    return memory + core * 3.0 / float(clock.split()[0])


def joules(clock, core, memory):
    """Both processors are set to one clock; one workload raises the busy line of the whole machine."""
    return (IDLE_WATTS + 2 * BUSY_WATTS[clock]) * seconds(clock, core, memory)
