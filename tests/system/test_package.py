"""The Debian package installed, used and purged in a clean Debian: --long, as it takes a Debian from the machine's own package registry."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import testbed


def mirror():
    """Where this machine's own Debian packages come from."""
    for line in subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)"], capture_output=True, text=True).stdout.splitlines():
        site, release, component = line.split()
        if release == "bookworm" and component == "main":
            return site
    return None


@unittest.skipUnless(testbed.LONG, "a clean Debian is made: --long")
class Package(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-package.", dir="/var/tmp"))
        self.root.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        subprocess.run([testbed.ROOT / "dev", "package"], check=True, capture_output=True)
        self.package = next((testbed.ROOT / "build/release/package").glob("dvfs-plan_*.deb"))
        site = mirror()
        self.assertIsNotNone(site, "no registry of Debian's packages is known")
        if not shutil.which("debootstrap"):
            subprocess.run(["apt-get", "install", "-q", "-y", "--no-install-recommends", "debootstrap"], check=True, capture_output=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", "--include=adduser,ca-certificates", "bookworm", self.root, site], capture_output=True, text=True)
        self.assertEqual(made.returncode, 0, made.stdout[-2000:])
        # As this machine reaches its registry.
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copy(name, self.root / name[1:])
        for folder in ("/etc/apt/apt.conf.d", "/etc/apt/sources.list.d", "/usr/local/share/ca-certificates"):
            shutil.copytree(folder, self.root / folder[1:], dirs_exist_ok=True)
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", self.root / "etc/ssl/certs/ca-certificates.crt")
        if os.path.exists("/etc/apt/sources.list"):
            shutil.copy("/etc/apt/sources.list", self.root / "etc/apt/sources.list")
        shutil.copy(self.package, self.root / "tmp")

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


if __name__ == "__main__":
    testbed.main()
