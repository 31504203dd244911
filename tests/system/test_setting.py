"""A setting as commands, a service, a profile, a narrower experiment: each applied by its own tool on a real kernel, and read back."""
import pathlib
import re
import subprocess
import tempfile

import testbed

STATE = testbed.STATE_OF_CLOCKS
LIMITS = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq | sort -u"
EXPERIMENT = """# an experiment of mine
name: night
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.25", "0.1"]}
axes:  # what is swept
  cpu.frequency: [1 GHz, 1.8 GHz, 3 GHz]
repeat: 3
reference: {cpu.frequency: 3 GHz}
"""
# What its owner has under a governor goes as another is chosen.
GOVERNORS = """name: governors
conditions: {foreign load: off, warm up: 0, idle: none}
workloads: [{name: mixed, command: [dvfs-mixed, "0.1", "0.1"]}]
axes: {cpu.governor: [powersave, performance]}
repeat: 2
"""
# A program that takes the governor along.
PROFILE = """#!/bin/sh
[ "$1" = get ] && exec cat /tmp/profile
for i in 0 1; do echo "$2" >/sys/devices/system/cpu/cpufreq/policy$i/scaling_governor; done
echo "$2" >/tmp/profile
"""
PROFILES = """name: profiles
conditions: {foreign load: off, warm up: 0, idle: none}
workloads: [{name: mixed, command: [dvfs-mixed, "0.1", "0.1"]}]
axes: {set.profile: [powersave, performance]}
set: {profile: {command: [/bin/profile, set, "{value}"], read: [/bin/profile, get], values: [powersave, performance, ondemand]}}
repeat: 2
"""
# What systemd would run, by the shell: none of its words has what the two quote otherwise.
JOB = f"""
p=/sys/devices/system/cpu/cpufreq
machine() {{ # as somebody left it
    for i in 0 1; do echo 1000000 >$p/policy$i/scaling_min_freq; echo 3000000 >$p/policy$i/scaling_max_freq; done
    echo conservative >$p/policy1/scaling_governor
    echo 2600000 >$p/policy0/scaling_max_freq; echo 2200000 >$p/policy0/scaling_min_freq
}}
machine; {STATE} >before.txt
dvfs-plan /night.yaml --quiet >report.txt 2>run.txt || {{ cat run.txt; exit 90; }}
{STATE} | cmp - before.txt || exit 91
for form in sysfs cpupower nvidia-smi slurm systemd tuned yaml nothing; do
    dvfs-plan setting night.sqlite --as $form >$form.txt 2>$form.err.txt; echo $? >$form.code.txt
    {STATE} | cmp - before.txt || exit 92
done
dvfs-plan setting night.sqlite --as tuned --json >json.txt
sh sysfs.txt >/dev/null && {LIMITS} >sysfs.read.txt
sh sysfs.txt back >/dev/null; {STATE} >sysfs.back.txt; sh sysfs.txt nonsense 2>nonsense.txt; echo $? >>nonsense.txt
machine; sh cpupower.txt >cpupower.said.txt 2>&1; {LIMITS} >cpupower.read.txt
machine; sed -n 's/^ExecStart=//p' systemd.txt >start.sh; sh start.sh >/dev/null; {LIMITS} >systemd.read.txt
sed -n 's/^ExecStop=-//p' systemd.txt >stop.sh; sh stop.sh >/dev/null; {STATE} >systemd.back.txt
machine; sed -n 's/^\\(\\/sys[^=]*\\)=\\(.*\\)/echo \\2 >\\1/p' tuned.txt >tuned.sh; sh tuned.sh; {LIMITS} >tuned.read.txt
machine; cp yaml.txt narrow.yaml; dvfs-plan check narrow.yaml >check.txt 2>&1; echo $? >check.code.txt
dvfs-plan setting night.sqlite --slowdown 0% --as cpupower >fast.txt
dvfs-plan init -- dvfs-mixed 0.25 0.1 >init.txt && dvfs-plan check dvfs-mixed.yaml >init.check.txt 2>&1; echo $? >init.code.txt
cp dvfs-mixed.yaml init.yaml.txt
# Under a governor with settings of its own, and under one whose speed the owner set.
dvfs-plan /governors.yaml --quiet --no-html >governors.report.txt 2>&1
of_governors() {{ {STATE}; cat $p/policy*/scaling_setspeed; grep -r . $p/schedutil $p/ondemand 2>/dev/null; true; }}
for governor in schedutil ondemand userspace; do
    as_left() {{ for i in 0 1; do echo $governor >$p/policy$i/scaling_governor; done
        case $governor in
            schedutil) echo 500 >$p/schedutil/rate_limit_us;;
            ondemand) echo 60 >$p/ondemand/up_threshold;;
            userspace) for i in 0 1; do echo 2200000 >$p/policy$i/scaling_setspeed; done;;
        esac; }}
    as_left; of_governors >$governor.before.txt
    dvfs-plan setting governors.sqlite --as sysfs >governor.sh; sh governor.sh >/dev/null
    of_governors >$governor.set.txt; sh governor.sh back >/dev/null; of_governors >$governor.sysfs.txt
    as_left; dvfs-plan setting governors.sqlite --as systemd >governor.service
    sed -n 's/^ExecStart=//p' governor.service >start.sh; sh start.sh >/dev/null
    sed -n 's/^ExecStop=-//p' governor.service >stop.sh; sh stop.sh >/dev/null; of_governors >$governor.systemd.txt
done
# A program's setting took the governor along: back it goes with it.
echo ondemand >/tmp/profile; dvfs-plan /profiles.yaml --quiet --no-html >profiles.report.txt 2>&1
of_profiles() {{ cat /tmp/profile; of_governors; }}
as_left() {{ for i in 0 1; do echo ondemand >$p/policy$i/scaling_governor; done; echo 60 >$p/ondemand/up_threshold; echo ondemand >/tmp/profile; }}
as_left; of_profiles >profile.before.txt
dvfs-plan setting profiles.sqlite --as sysfs >profile.sh; sh profile.sh >/dev/null; of_profiles >profile.set.txt; sh profile.sh back >/dev/null; of_profiles >profile.sysfs.txt
as_left; dvfs-plan setting profiles.sqlite --as systemd >profile.service
sed -n 's/^ExecStart=//p' profile.service >start.sh; sh start.sh >/dev/null; sed -n 's/^ExecStop=-//p' profile.service >stop.sh; sh stop.sh >/dev/null; of_profiles >profile.systemd.txt
cp profile.sh profile.sh.txt
# A machine that has none of it.
dvfs-plan setting night.sqlite --as sysfs --sysfs-root /nowhere >other.txt 2>other.err.txt; echo $? >other.code.txt
"""


class Setting(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_each_form_is_applied_and_read_back(self):
        cpupower = pathlib.Path("/usr/bin/cpupower")
        code, console = self.testbed.run(JOB, {"night.yaml": EXPERIMENT, "governors.yaml": GOVERNORS, "profiles.yaml": PROFILES, "bin/profile": PROFILE, "bin/cpupower": cpupower, "bin/sudo": '#!/bin/sh\nexec "$@"\n'})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()

        def text(name):
            return (out / f"{name}.txt").read_text()

        for form in ("sysfs", "cpupower", "systemd", "tuned"):
            with self.subTest(form):
                self.assertEqual((text(f"{form}.code"), text(f"{form}.err")), ("0\n", ""))
                self.assertEqual(text(f"{form}.read"), "1800000\n", text(form))
                printed = re.sub(r"\n# +", " ", text(form))
                self.assertRegex(printed, r"mixed: cpu\.frequency = 1\.8 GHz\. Against the reference \(cpu\.frequency = 3 GHz\): .*[0-9] %.* slower .*\. +By dvfs-plan: night\.sqlite, begun 20\d\d-")
                # What it claims is what the night's own report said.
                self.assertIn(re.search(r"\. Against the reference .*? slower \([^)]*\)\.", printed)[0], text("report"))
        with self.subTest("what stood there before comes back"):
            self.assertEqual(text("sysfs.back"), text("before"))
            self.assertEqual(text("nonsense"), "sysfs.txt: set or back\n2\n")
            self.assertEqual(text("systemd.back"), text("before"))
        for governor in ("schedutil", "ondemand", "userspace"):
            with self.subTest("what goes with a governor comes back", governor=governor):
                before = text(f"{governor}.before")
                self.assertRegex(before, {"schedutil": "rate_limit_us:500\n", "ondemand": "up_threshold:60\n", "userspace": "2200000\n2200000\n"}[governor])
                self.assertNotEqual(text(f"{governor}.set"), before)
                for form in ("sysfs", "systemd"):
                    self.assertEqual(text(f"{governor}.{form}"), before)
        with self.subTest("what a program takes along comes back"):
            before = text("profile.before")
            self.assertRegex(before, "^ondemand\n")
            self.assertIn("up_threshold:60\n", before)
            self.assertRegex(text("profile.set"), "^(powersave|performance)\n")
            for form in ("sysfs", "systemd"):
                self.assertEqual(text(f"profile.{form}"), before, text("profile.sh"))
            self.assertIn("What its programs set may take along clocks, governors and limits", text("profile.sh"))
        with self.subTest("the least energy within a slowdown"):
            self.assertIn("\ncpupower -c 0-1 frequency-set -d 3000000kHz -u 3000000kHz\n", text("fast"))
        with self.subTest("for a job of Slurm"):
            self.assertEqual(text("slurm").splitlines()[-1], "#SBATCH --cpu-freq=1800000-1800000")
        with self.subTest("a tool that has no such thing"):
            self.assertEqual((text("nvidia-smi.code"), text("nvidia-smi")), ("2\n", ""))
            self.assertEqual(text("nvidia-smi.err"), "error: --as nvidia-smi: there is no way to say cpu.frequency = 1.8 GHz in it\n"
                                                     "  hint: --as sysfs writes all of it as commands; `dvfs-plan use` runs a command at it\n")
            self.assertEqual((text("nothing.code"), text("nothing.err")), ("2\n", "error: --as nothing: there is no such form\n  hint: there are: sysfs, cpupower, nvidia-smi, slurm, systemd, tuned, yaml\n"))
        with self.subTest("the narrower sweep is an experiment that this machine can run"):
            self.assertIn("# an experiment of mine\nname: night-narrower\n", text("yaml"))
            self.assertIn("\n  cpu.frequency: {values: [1 GHz, 1.25 GHz, 1.5 GHz, 1.75 GHz, 1.8 GHz, 2 GHz, 2.25 GHz, 2.5 GHz, 2.75 GHz, 3 GHz], nearest: true}\nrepeat: 3\n", text("yaml"))
            self.assertEqual(text("check.code"), "0\n", text("check"))
        with self.subTest("a first experiment for a command"):
            self.assertEqual(text("init.code"), "0\n", text("init.check"))
            self.assertIn("\naxes:  # what is swept; all values: all; some: [1.2 GHz, 1.8 GHz]\n  cpu.frequency: all  # offered here: 1 GHz to 3 GHz\n", text("init.yaml"))
            self.assertIn("\nobjective: energy  # ", text("init.yaml"))
        with self.subTest("where its files are not"):
            self.assertEqual(text("other.code"), "3\n")
            self.assertRegex(text("other.err"), r"^error: axis 'cpu\.frequency': this machine has no cpufreq")
        with self.subTest("systemd understands the service"), tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder) / "dvfs-setting.service"
            unit.write_text(text("systemd"))
            judged = subprocess.run(["systemd-analyze", "verify", "--recursive-errors=no", unit], capture_output=True, text=True)
            self.assertEqual((judged.returncode, re.findall(r"dvfs-setting\.service.*", judged.stderr)), (0, []), judged.stderr)


if __name__ == "__main__":
    testbed.main()
