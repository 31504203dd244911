"""The Debian package installed, used and purged in a clean Debian: --long, as it takes a Debian from the machine's own package registry."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import testbed

# Says on the console what /job prints, and how it ended (tests/testbed/boot).
JOB_UNIT = """[Unit]
Description=What the test does
After=multi-user.target dvfs-guardian.socket
[Service]
Type=idle
ExecStart=/bin/sh -c 'echo "testbed: up"; /bin/sh /job; echo "testbed: job exited with $?"; systemctl poweroff --no-block'
StandardOutput=file:/dev/ttyS0
StandardError=file:/dev/ttyS0
"""
NIGHT = """
name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads: [{name: mixed, command: [dvfs-mixed, "0.2", "0.1"]}]
axes: {cpu.frequency: all}
repeat: 50
settle: 20 ms
"""
STATE = r"""
state() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq; }
# No runuser: it stops with what it runs, and is not continued with it.
as() { user=$1; group=$(id -G $user | tr ' ' '\n' | tail -1); shift; testbedctl as $(id -u $user) $group env HOME=/home/$user "$@"; }
before=$(state)
"""
UNDER_SYSTEMD = STATE + r"""
echo "socket: $(systemctl is-active dvfs-guardian.socket) $(stat -c '%U:%G %a' /run/dvfs-plan/guardian.sock)"
cd /home/alice
as alice dvfs-plan /usr/share/dvfs-plan/experiments/quickstart.yaml --json --quiet >/home/alice/report.json; echo "alice: $?"
grep -m1 -A2 best_settings /home/alice/report.json
[ "$(state)" = "$before" ] || echo "not as before"
cd /home/bob
as bob dvfs-plan /night.yaml --quiet; echo "bob: $?"
cd /home/alice
ms() { awk '{printf "%d", $1 * 1000}' /proc/uptime; }
guardian() { for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = dvfs-guardian ] && echo ${p#/proc/}; done; }
for what in guardian run both; do
  as alice dvfs-plan /night.yaml >/tmp/log 2>&1 &
  while [ "$(state)" = "$before" ] && kill -0 $!; do sleep 0.05; done
  run=$(pidof dvfs-plan)
  # Its run goes on with a new session at once, so it is held while one looks.
  case $what in guardian) kill -STOP $run; kill -KILL $(guardian);; run) kill -KILL $run;; both) kill -KILL $run $(guardian);; esac
  start=$(ms)
  while [ "$(state)" != "$before" ] && [ $(($(ms) - start)) -lt 8000 ]; do :; done
  back="back after $(($(ms) - start)) ms"
  [ "$(state)" = "$before" ] || back="NOT BACK"
  [ $what = guardian ] && { kill -CONT $run; sleep 2; kill -KILL $run; }
  for i in $(seq 80); do pidof dvfs-plan dvfs-mixed >/dev/null || [ -n "$(guardian)" ] || break; sleep 0.1; done
  [ "$(state)" = "$before" ] || back="NOT BACK"
  echo "killed $what: set, $back, left: $(pidof dvfs-plan dvfs-mixed) $(guardian)" | sed 's/left:  *$/left:/'
  wait
done
journalctl -t dvfs-guardian -o json --output-fields=DVFS_PLAN_EVENT,DVFS_PLAN_USER,DVFS_PLAN_EXPERIMENT,MESSAGE --no-pager
"""
# What was found, set by those whose forms `setting` writes: systemd's own service, TuneD's own profile; and put back by them.
BY_THEIR_TOOLS = STATE + r"""
limits() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq | sort -u | tr '\n' ' '; }
back() { [ "$(state)" = "$before" ] && echo "as before" || echo "NOT as before"; }
result=/home/alice/quickstart.sqlite
dvfs-plan setting $result --as systemd >/etc/systemd/system/found.service && systemctl daemon-reload
systemctl start found && echo "systemd: $(limits)"
systemctl stop found && echo "systemd stopped: $(back)"
mkdir -p /etc/tuned/found && dvfs-plan setting $result --as tuned >/etc/tuned/found/tuned.conf
echo found >/etc/tuned/active_profile; echo manual >/etc/tuned/profile_mode
systemctl unmask tuned && systemctl start tuned || journalctl -u tuned --no-pager | tail -20
for i in $(seq 300); do [ "$(limits)" = "1800000 " ] && break; sleep 0.2; done
echo "tuned: $(limits)"; tuned-adm active; tuned-adm verify
systemctl stop tuned && echo "tuned stopped: $(back)"
"""
CUT_UNDER_SYSTEMD = STATE + r"""
cd /home/alice
as alice dvfs-plan /night.yaml >/tmp/log 2>&1 &
while [ "$(state)" = "$before" ]; do sleep 0.05; done
echo changed
sleep 1000
"""
AFTER_THE_CUT = STATE + r"""
journalctl -b -t dvfs-guardian --no-pager
echo "restore unit: $(systemctl show -P Result dvfs-plan-restore)"
[ -e /var/lib/dvfs-plan/journal ] || echo "journal gone"
"""


def mirror():
    """Where this machine's own Debian packages come from."""
    for line in subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)"], capture_output=True, text=True).stdout.splitlines():
        site, release, component = line.split()
        if release == "bookworm" and component == "main":
            return site
    return None


@unittest.skipUnless(testbed.LONG, "a clean Debian is made: --long")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A clean Debian, once; each test has a copy."""
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-package.", dir="/var/tmp"))
        cls.scratch.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.clean = cls.scratch / "clean"
        subprocess.run([testbed.ROOT / "dev", "package"], check=True, capture_output=True)
        cls.package = next((testbed.ROOT / "build/release/package").glob("dvfs-plan_*.deb"))
        site = mirror()
        assert site is not None, "no registry of Debian's packages is known"
        if not shutil.which("debootstrap"):
            subprocess.run(["apt-get", "install", "-q", "-y", "--no-install-recommends", "debootstrap"], check=True, capture_output=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=adduser,ca-certificates", "bookworm", cls.clean, site], capture_output=True, text=True)
        assert made.returncode == 0, made.stdout[-2000:]
        # As this machine reaches its registry.
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copy(name, cls.clean / name[1:])
        for folder in ("/etc/apt/apt.conf.d", "/etc/apt/sources.list.d", "/usr/local/share/ca-certificates"):
            shutil.copytree(folder, cls.clean / folder[1:], dirs_exist_ok=True)
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", cls.clean / "etc/ssl/certs/ca-certificates.crt")
        if os.path.exists("/etc/apt/sources.list"):
            shutil.copy("/etc/apt/sources.list", cls.clean / "etc/apt/sources.list")
        shutil.copy(cls.package, cls.clean / "tmp")

    def setUp(self):
        self.root = self.scratch / "root"
        subprocess.run(["cp", "-a", self.clean, self.root], check=True)
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def inside(self, command, code=0):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        environment.update({name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")})
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "chroot", self.root, "/bin/sh", "-ec", "mount -t proc proc /proc; mount -t sysfs sys /sys; " + command],
                              capture_output=True, text=True, env=environment, timeout=600)
        self.assertEqual(done.returncode, code, command + "\n" + (done.stdout + done.stderr)[-3000:])
        return done.stdout

    def files(self):
        return {str(path.relative_to(self.root)) for folder in ("usr", "etc", "var/lib/dvfs-plan", "lib") for path in (self.root / folder).rglob("*")}

    def test_installed_used_and_purged(self):
        self.inside("apt-get update -q")
        before = self.inside("dpkg-query -W -f '${Package}\\n'").split()
        self.inside("apt-get install -q -y --no-install-recommends /tmp/" + self.package.name)
        self.assertIn("dvfs-plan:x:", (self.root / "etc/group").read_text())
        self.inside("useradd -m alice && adduser alice dvfs-plan")
        experiment = "name: own\\nobjective: time\\nconditions: {foreign load: off}\\nrepeat: 2\\nworkloads: [{name: w, command: [sort, /etc/passwd]}]\\n"
        said = self.inside("mkdir -p /run/dvfs-plan; dvfs-guardian --listen /run/dvfs-plan/guardian.sock & guardian=$!; sleep 1; stat -c '%U:%G %a' /run/dvfs-plan/guardian.sock; "
                           f"su alice -c \"cd; printf '{experiment}' >own.yaml; dvfs-plan check own.yaml && dvfs-plan own.yaml && dvfs-plan who && ls -l own.sqlite own.html\"; kill $guardian; wait $guardian || true")
        self.assertIn("root:dvfs-plan 660", said)
        self.assertIn("w: the least time", said)
        self.assertIn("nobody has this machine", said)
        self.assertIn("alice alice", said)
        for page in ("man1/dvfs-plan.1.gz", "man5/dvfs-plan-experiment.5.gz", "man8/dvfs-guardian.8.gz", "man1/dvfs-mixed.1.gz"):
            self.assertTrue((self.root / "usr/share/man" / page).exists() or (self.root / "usr/share/doc/dvfs-plan").exists(), page)
        for file in ("usr/share/bash-completion/completions/dvfs-plan", "lib/systemd/system/dvfs-guardian.socket", "usr/share/dvfs-plan/experiments/quickstart.yaml"):
            self.assertTrue((self.root / file).exists(), file)
        self.inside("mkdir -p /etc/dvfs-plan && echo 'allow dvfs-plan *' >/etc/dvfs-plan/policy; apt-get purge -q -y dvfs-plan && apt-get autoremove --purge -q -y")
        self.assertEqual([name for name in self.files() if "dvfs" in name], [])
        self.assertNotIn("dvfs-plan", (self.root / "etc/group").read_text())
        after = self.inside("dpkg-query -W -f '${Package}\\n'").split()
        self.assertEqual(set(after) - set(before), set())

    def test_its_units_under_systemd_on_a_real_kernel(self):
        """Sockets, sandbox, restore after kills and at boot: as systemd runs them, in the virtual machine."""
        self.inside("apt-get update -q; apt-get install -q -y --no-install-recommends systemd systemd-sysv dbus tuned; apt-get install -q -y --no-install-recommends /tmp/" + self.package.name)
        self.inside("for user in alice bob; do useradd -m $user; done; adduser alice dvfs-plan; passwd -d root; systemctl mask tuned getty.target serial-getty@ttyS0 console-getty apt-daily.timer apt-daily-upgrade.timer; "
                    "apt-get clean; rm -rf /var/lib/apt/lists/*; systemctl is-enabled dvfs-guardian.socket dvfs-plan-restore.service")
        (self.root / "etc/systemd/system/testbed-job.service").write_text(JOB_UNIT)
        wanted = self.root / "etc/systemd/system/multi-user.target.wants"
        (wanted / "testbed-job.service").symlink_to("/etc/systemd/system/testbed-job.service")
        for name, program in (("dvfs-mixed", "testbed-mixed"), ("testbedctl", "testbed-testbedctl")):
            shutil.copy(testbed.BIN / program, self.root / "usr/local/bin" / name)
        (self.root / "night.yaml").write_text(NIGHT)
        machine = testbed.Testbed()
        self.addCleanup(machine.close)
        size = int(subprocess.run(["du", "-sm", self.root], capture_output=True, text=True, check=True).stdout.split()[0])
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", self.root, machine.disk, f"{size * 5 // 4 + 200}M"], check=True)

        code, console = machine.run(UNDER_SYSTEMD, timeout=900)
        self.assertEqual(code, 0, console)
        self.assertIn("socket: active root:dvfs-plan 660", console)
        self.assertIn('"cpu.frequency": "1.8 GHz"', console)
        self.assertRegex(console, r"error: axis 'cpu.frequency': .* may not be set by this user\n  hint: run with sudo, or let an administrator install the guardian \(README, Install\); the workloads run as you all the same\nbob: 3")
        for kill in ("guardian", "run", "both"):
            self.assertRegex(console, rf"killed {kill}: set, back after \d+ ms, left:\n")
        events = [json.loads(line) for line in re.findall(r"^\{.*\}$", console, re.M) if '"DVFS_PLAN_EVENT"' in line]
        self.assertEqual({"session_begun", "set", "restored", "session_ended"} - {event["DVFS_PLAN_EVENT"] for event in events}, set(), console)
        of_alice = [event for event in events if event["DVFS_PLAN_EVENT"] == "session_begun"]
        self.assertEqual({(event["DVFS_PLAN_USER"], event["DVFS_PLAN_EXPERIMENT"]) for event in of_alice}, {("alice", "/usr/share/dvfs-plan/experiments/quickstart.yaml"), ("alice", "/night.yaml")})
        print("under systemd:", *re.findall(r"^killed .*$", console, re.M), sep="\n  ")

        with self.subTest("the setting that was found, by the tools whose forms it has"):
            code, console = machine.run(BY_THEIR_TOOLS, timeout=900)
            self.assertEqual(code, 0, console)
            said = re.findall(r"^(?:systemd|tuned|Current active profile|Verif)\w*[^\n]*$", console.replace("\r", ""), re.M)
            for line in ("systemd: 1800000 ", "systemd stopped: as before", "tuned: 1800000 ", "Current active profile: found", "tuned stopped: as before"):
                self.assertIn(line, said, console)
            print("by their tools:", *said, sep="\n  ")

        # The plug is pulled while settings are changed; the next boot puts back before anybody logs in.
        process = machine.start(CUT_UNDER_SYSTEMD)
        for line in process.stdout:
            if line.startswith("changed"):
                break
        machine.switch_off()
        process.communicate(timeout=60)
        code, console = machine.run(AFTER_THE_CUT, timeout=900)
        self.assertEqual(code, 0, console)
        self.assertRegex(console, r"an earlier run was cut off; \d+ settings put back, \d+ were as before")
        self.assertIn("restore unit: success\n", console)
        self.assertIn("journal gone", console)


if __name__ == "__main__":
    testbed.main()
