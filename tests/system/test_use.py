"""The answer put to use, on a real kernel: a command runs at the setting that was found, and the machine is as before, whatever ends it."""
import testbed

STATE = testbed.STATE_OF_CLOCKS
LIMITS = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq | sort -u"

EXPERIMENT = """
name: night
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.25", "0.1"]}
axes:
  cpu.frequency: [1 GHz, 1.8 GHz, 3 GHz]
repeat: 2
reference: {cpu.frequency: 3 GHz}
"""


class Use(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_a_command_runs_at_the_setting_that_was_found(self):
        code, console = self.testbed.run(
            f"""
            echo conservative >/sys/devices/system/cpu/cpufreq/policy1/scaling_governor
            echo 2600000 >/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq
            {STATE} >before.txt
            dvfs-plan /night.yaml --quiet >report.txt 2>run.txt || {{ cat run.txt; exit 90; }}

            try() {{ # NAME, then the words: what it says, its exit code, and whether the machine is as before
                name=$1; shift
                "$@" >$name.out.txt 2>$name.err.txt; echo $? >$name.code.txt
                {STATE} | cmp -s - before.txt && echo same >$name.state.txt || {STATE} >$name.state.txt
            }}
            try plain dvfs-plan use night.sqlite -- sh -c "{LIMITS}; exit 7"
            echo input | try piped dvfs-plan use --quiet night.sqlite -- cat
            try as_fast dvfs-plan use night.sqlite --slowdown 0% -- sh -c "{LIMITS}"
            try words dvfs-plan use night.sqlite -- no-such-program
            try other dvfs-plan use night.sqlite --workload mixd -- true
            try slow dvfs-plan use night.sqlite --slowdown '5 W' -- true
            try signalled dvfs-plan use --quiet night.sqlite -- sh -c 'kill -SEGV $$'
            try meddled dvfs-plan use --quiet night.sqlite -- sh -c 'echo 1400000 >/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq; echo 1400000 >/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq'
            rm -f go; (dvfs-plan use --quiet night.sqlite -- sh -c 'echo >go; until [ -e done ]; do sleep 0.1; done') & first=$!
            until [ -e go ]; do sleep 0.05; done
            dvfs-plan use night.sqlite -- true >busy.out.txt 2>busy.err.txt; echo $? >busy.code.txt
            echo >done
            wait $first
            {STATE} | cmp - before.txt
            """,
            {"night.yaml": EXPERIMENT},
        )
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()

        def said(name):
            return tuple((out / f"{name}.{what}.txt").read_text().strip() for what in ("code", "out", "err"))

        for name in ("plain", "piped", "as_fast", "words", "other", "slow", "signalled"):
            self.assertEqual((out / f"{name}.state.txt").read_text(), "same\n", name)
        code, text, said_meanwhile = said("plain")
        self.assertEqual((code, text), ("7", "1800000"))
        # What it claims is what the night's own report said; how much that is, and whether it is shown at all, is this machine's.
        self.assertRegex(said_meanwhile, r"^dvfs-plan: mixed: cpu\.frequency = 1\.8 GHz\. Against the reference \(cpu\.frequency = 3 GHz\): .*[0-9] %.*\.$")
        self.assertIn(said_meanwhile.removeprefix("dvfs-plan: mixed: cpu.frequency = 1.8 GHz"), (out / "report.txt").read_text())
        self.assertEqual(said("piped"), ("0", "input", ""))
        self.assertEqual(said("as_fast")[:2], ("0", "3000000"))
        self.assertEqual(said("words")[::2], ("3", said_meanwhile + "\nerror: there is no program 'no-such-program' on the PATH\n  hint: nothing was set"))
        self.assertEqual(said("other"), ("2", "", "error: night has no answer for 'mixd' (did you mean 'mixed'?)\n  hint: there are: mixed"))
        self.assertEqual(said("slow"), ("2", "", "error: --slowdown 5 W: wanted a share, such as 5%\n  hint: nothing was set"))
        self.assertEqual(said("signalled")[:2], ("139", ""))
        self.assertEqual(said("meddled")[0], "0")
        self.assertIn("dvfs-plan: warning: the command did not run at this setting throughout: cpu.frequency: /sys/devices/system/cpu/cpufreq/policy0/scaling_", said("meddled")[2])
        code, _, text = said("busy")
        self.assertEqual(code, "3")
        self.assertIn("use night.sqlite", text)

    def test_the_machine_comes_back_whatever_ends_it(self):
        code, console = self.testbed.run(
            f"""
            {STATE} >before.txt
            dvfs-plan /night.yaml --quiet >report.txt 2>run.txt || {{ cat run.txt; exit 90; }}
            for how in TERM INT HUP KILL; do
                rm -f go ended pid
                (until [ -e go ]; do sleep 0.05; done; {LIMITS} >during.$how.txt; kill -$how $(cat pid)) &
                # In the foreground: what a shell puts behind has SIGINT ignored.
                sh -c 'echo $$ >pid; exec dvfs-plan use --quiet night.sqlite -- sh -c "trap \\"echo ended >ended; exit 9\\" TERM INT HUP; echo >go; while :; do sleep 0.1; done"'
                echo $? >code.$how.txt
                sleep 2
                {STATE} >after.$how.txt
                [ -e ended ] && echo told >ended.$how.txt || echo untold >ended.$how.txt
                for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep 'echo ended' | grep -v -e '^sh -c echo' -e '^grep' >>left.$how.txt; done; :
            done
            """,
            {"night.yaml": EXPERIMENT},
        )
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        before = (out / "before.txt").read_text()
        for how, exit_code, told in (("TERM", "9", "told"), ("INT", "9", "told"), ("HUP", "9", "told"), ("KILL", "137", "untold")):
            with self.subTest(how):
                self.assertEqual((out / f"during.{how}.txt").read_text(), "1800000\n")
                self.assertEqual((out / f"code.{how}.txt").read_text().strip(), exit_code)
                self.assertEqual((out / f"ended.{how}.txt").read_text().strip(), told)
                self.assertEqual((out / f"after.{how}.txt").read_text(), before)
                self.assertEqual((out / f"left.{how}.txt").read_text(), "")


if __name__ == "__main__":
    testbed.main()
