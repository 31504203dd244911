#!/usr/bin/python3
"""The run is killed, and while its guardian puts back what takes a while the workload ends by itself and its number becomes that of somebody else's
process group: which is not ended with what the run left."""
import os
import pathlib
import subprocess
import sys
import time

import attack

LAST = pathlib.Path("/proc/sys/kernel/ns_last_pid")
NIGHT = """name: night
objective: time
""" + attack.QUIET + """repeat: 2
workloads: [{name: w, command: [sleep, "1"]}]
axes: {set.knob: [fast]}
set: {knob: {command: [sh, knob.sh, "{value}"], read: [cat, knob], values: [fast, before]}}
"""


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []


def take_number(pid):
    """A process group of somebody else's with this number, and a session of its own; None: another process was quicker."""
    LAST.write_text(str(pid - 1))
    taken = subprocess.Popen(["sleep", "777"], start_new_session=True)
    if taken.pid == pid:
        return taken
    taken.kill()
    taken.wait()
    return None


class NumbersOfOthers(attack.AttackCase):
    account = attack.Account("the run killed, its workload's number another's by the time that the guardian ends what is left")

    def test_a_group_that_took_the_workloads_number_lives(self):
        try:
            LAST.write_text(LAST.read_text())
        except OSError as refused:
            self.skipTest(f"nobody may choose a number here (CONFIG_CHECKPOINT_RESTORE): {refused}")
        nights = 5 if attack.LONG else 2
        begun = 0
        while self.account.survived < nights:
            self.assertLess(begun, 4 * nights, "its number was always somebody else's before")
            begun += 1
            (self.folder / "knob").write_text("before\n")
            # To set is quick, to put back takes a second and more.
            (self.folder / "knob.sh").write_text("[ \"$1\" = fast ] || sleep 2.5\necho \"$1\" >knob\n")
            run = self.start(NIGHT, "--fresh")
            work = []

            def finds_work():
                work[:] = [pid for pid in attack.children(run.pid) if command_of(pid) == [b"sleep", b"1"]]
                return bool(work) or run.poll() is not None
            self.wait_for(finds_work, what="the workload")
            self.assertIsNone(run.poll())
            attack.kill(run.pid)
            run.wait(timeout=30)
            began = time.monotonic()

            def has_gone():
                try:
                    os.waitpid(work[0], os.WNOHANG)  # adopted by us, who are the first process here
                except ChildProcessError:
                    pass
                return not os.path.exists(f"/proc/{work[0]}")
            self.wait_for(has_gone, what="the workload's end")
            other = take_number(work[0])
            if other is None:  # nothing was done to it
                continue
            self.account.tried += 1
            self.wait_for(lambda: (self.folder / "knob").read_text() == "before\n", what="the former value")
            self.account.put_back.append(1000 * (time.monotonic() - began))
            # Behind that the guardian ends what is left.
            self.wait_for(lambda: not any(command_of(int(one.name))[:1] == [str(attack.GUARDIAN).encode()] for one in pathlib.Path("/proc").glob("[0-9]*")), what="the guardian's end")
            self.assertIsNone(other.poll(), "somebody else's process was killed")
            other.kill()
            other.wait()
            self.account.survived += 1


if __name__ == "__main__":
    # Numbers of our own, which nobody else takes meanwhile.
    if os.getpid() != 1 and os.geteuid() == 0:
        os.execvp("unshare", ["unshare", "--pid", "--fork", "--mount-proc", "/usr/bin/python3", *sys.argv])
    attack.main()
