#!/usr/bin/python3
"""Nobody reads what the run says (a stalled ssh, a paused pager), or its guardian is stopped: it goes on all the same, and a signal ends it with the
setting put back."""
import fcntl
import os
import pathlib
import pty
import re
import signal
import subprocess
import termios
import time

import attack

F_SETPIPE_SZ = 1031
NOISY = "echo 1 >&2; sleep 0.02"  # a trial's line each 20 ms


class NobodyReads(attack.AttackCase):
    account = attack.Account("nobody reads stderr or stdout; the guardian is stopped")

    def ends_by_a_signal(self, run, number=signal.SIGTERM, expected=()):
        self.account.tried += 1
        sent = time.monotonic()
        run.send_signal(number)
        self.account.put_back.append(self.ms_until_put_back(sent))
        self.assertIn(run.wait(timeout=60), expected or (128 + number,))
        self.account.survived += 1

    def full_pipe(self):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        os.set_blocking(writer, False)
        try:
            while True:
                os.write(writer, b"x" * 512)
        except BlockingIOError:
            pass
        os.set_blocking(writer, True)
        self.addCleanup(os.close, reader)
        return reader, writer

    def goes_on(self, run):
        """Trials are finished although nobody reads."""
        self.wait_until_set(run)
        now = len(self.finished())
        self.wait_for(lambda: len(self.finished()) >= now + 5, what="five more trials")
        self.assertIsNone(run.poll())

    def test_a_pipe_that_is_full(self):
        reader, writer = self.full_pipe()
        run = self.start(attack.night("sleep 0.02", 2000), stderr=writer)
        os.close(writer)
        self.goes_on(run)
        self.ends_by_a_signal(run)

    def test_a_terminal_that_was_paused(self):
        """Ctrl-S, and a terminal's buffer that nobody empties: with progress in colours, as on any terminal."""
        for paused in (True, False):
            with self.subTest(paused=paused):
                terminal, line = pty.openpty()
                if paused:
                    termios.tcflow(line, termios.TCOOFF)
                run = self.start(attack.night("sleep 0.02", 2000), "--fresh", stderr=line)
                self.goes_on(run)
                self.ends_by_a_signal(run, signal.SIGINT)
                os.close(terminal)
                os.close(line)

    def test_who_reads_again_is_told_what_he_missed(self):
        reader, writer = self.full_pipe()
        run = self.start(attack.night("true", 1200), stderr=writer)
        os.close(writer)
        # 32 KiB wait for him; what comes then is counted.
        self.wait_for(lambda: len(self.finished()) > 1800 or run.poll() is not None, 240, "1800 trials")
        said = b""
        while piece := os.read(reader, 65536):
            said += piece
        self.assertEqual(run.wait(timeout=60), 0)
        text = said.decode().lstrip("x")
        left_out = re.search(r"\nnote: (\d+) lines were left out here, while nobody read them\n", text)
        self.assertIsNotNone(left_out, text[-300:])
        self.assertEqual(int(left_out[1]) + text.count(" s\n"), 2400)  # a line a trial
        self.assertIn("all of it is in ", text)

    def test_the_last_words_wait_for_a_reader_who_pauses(self):
        """An error, with what to do, is said when all else is over: a pager that is paused for a moment, a busy machine."""
        reader, writer = self.full_pipe()
        self.account.tried += 1
        asked = subprocess.Popen([attack.PROGRAM, "check", "nonesuch.yaml"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writer)
        os.close(writer)
        time.sleep(2)
        self.assertIsNone(asked.poll())
        said = b""
        while piece := os.read(reader, 65536):
            said += piece
        self.assertEqual(asked.wait(timeout=60), 2)
        self.assertIn(b"nonesuch.yaml", said)
        self.account.survived += 1

    def test_a_report_that_nobody_reads(self):
        """All is put back and stored by then: a signal ends the process, which is only waiting."""
        reader, writer = self.full_pipe()
        run = self.start(attack.night("true", 3), stdout=writer)
        os.close(writer)
        self.wait_for(lambda: len(self.finished()) == 6, what="the last trial")
        self.wait_for(lambda: not self.is_set())
        time.sleep(1)
        self.assertIsNone(run.poll())
        self.ends_by_a_signal(run, expected=(-signal.SIGTERM, 143))

    def test_a_guardian_that_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal.Signals(number).name):
                run = self.start(attack.night("sleep 0.1", 2000), "--fresh")
                self.wait_until_set(run)
                attack.kill(self.guardian_of(run), signal.SIGSTOP)
                self.ends_by_a_signal(run, number)
        run = self.start(attack.night("sleep 0.05", 2000), "--fresh")
        self.wait_until_set(run)
        attack.kill(self.guardian_of(run), signal.SIGSTOP)
        self.goes_on(run)  # the run continues it when it needs it
        self.ends_by_a_signal(run)

    def test_a_guardian_that_is_stopped_again_and_again(self):
        run = self.start(attack.night("sleep 0.1", 2000), "--fresh")
        self.wait_until_set(run)
        guardian = self.guardian_of(run)
        stopper = subprocess.Popen(["sh", "-c", f"while kill -STOP {guardian} 2>/dev/null; do :; done"])
        self.addCleanup(attack.AttackCase.end, stopper)
        time.sleep(0.5)
        run.send_signal(signal.SIGTERM)
        time.sleep(1.5)
        stopper.kill()
        stopper.wait()
        self.ends_by_a_signal(run)

    def test_under_sudo_the_session_is_continued_by_who_stands_by(self):
        os.chown(self.folder, 65534, 65534)
        os.makedirs("/etc/dvfs-plan", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", "/etc/dvfs-plan"], check=True)  # of this namespace alone
        pathlib.Path("/etc/dvfs-plan/policy").write_text(f"allow everybody * sensors {attack.MTU}\n")
        run = self.start(attack.night("sleep 0.1", 2000), environment={"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody", "SUDO_COMMAND": "dvfs-plan"})
        self.wait_until_set(run)
        attack.kill(self.guardian_of(run), signal.SIGSTOP)
        self.ends_by_a_signal(run)


if __name__ == "__main__":
    attack.main()
