"""A real Slurm of three nodes on this machine, for tests of `machines: slurm`.

munged, slurmctld and a slurmd a node. The controller and each node are in network, mount and UTS namespaces of their own, joined by
a bridge that nothing else is on; a node has a PID namespace too, so that killing it ends all that runs there at once, as a power cut
does, and its link can be cut. /var/lib/dvfs-plan, /run/dvfs-plan and the folder `local` are each node's own (`local` stays when the
node dies, as a disk does); all else is shared. Needs root, slurm-wlm, munge and iproute2.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

NODES = ["n1", "n2", "n3"]
SYSTEM_FOLDERS = ["/var/lib/dvfs-plan", "/run/dvfs-plan"]

CONFIGURATION = """ClusterName=t
SlurmctldHost=ctl(10.77.0.1)
SlurmctldPort=16817
SlurmUser=root
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin={task_plugin}
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1,bf_interval=1
SlurmdTimeout=3
MessageTimeout=3
TCPTimeout=2
KillWait=2
JobRequeue=1
ReturnToService=2
SlurmdParameters=config_overrides
{more}
{nodes}
PartitionName=batch Nodes=n[1-3] Default=YES MaxTime=60 State=UP
PartitionName=hidden Nodes=n[2-3] Hidden=YES State=UP
"""

START_CONTROLLER = """
hostname ctl
mount --bind "$1/hosts" /etc/hosts
ip link set lo up
ip link add br0 type bridge
ip addr add 10.77.0.1/24 dev br0
ip link set br0 up
touch "$1/network.up"
exec sleep infinity
"""

# The node's own folders and network, then slurmd as its first process's child.
START_NODE = """
hostname "$1"
for folder in {folders}; do
    if [ -n "$5" ] && [ "$folder" = /var/lib/dvfs-plan ]; then
        mkdir -p "$2/local.$1/var-lib-dvfs-plan"
        mount --bind "$2/local.$1/var-lib-dvfs-plan" "$folder"
    else
        mount -t tmpfs -o mode=0755 none "$folder"
    fi
done
chmod 700 /var/lib/dvfs-plan
mount --bind "$2/hosts" /etc/hosts
mount --bind "$2/local.$1" "$2/local"
until [ -e /proc/sys/net/ipv4/conf/eth0 ]; do sleep 0.02; done
ip link set lo up
ip addr add "10.77.0.1${{1#n}}/24" dev eth0
ip link set eth0 up
eval "$3"
$4 slurmd -D -N "$1"
:
"""


def missing():
    """Why it cannot be brought up here; empty: it can."""
    if os.geteuid() != 0:
        return "a Slurm of its own needs root"
    where = os.environ["PATH"] + ":/usr/sbin:/sbin"
    programs = [name for name in ("slurmctld", "slurmd", "sbatch", "munged", "ip") if shutil.which(name, path=where) is None]
    if programs:
        return f"{', '.join(programs)} not installed (apt-get install slurm-wlm munge iproute2)"
    made = subprocess.run(["unshare", "-n", "ip", "link", "add", "br0", "type", "bridge"], capture_output=True, text=True, env={**os.environ, "PATH": where})
    return f"no bridge can be made here: {made.stderr.strip()}" if made.returncode else ""


class Cluster:
    def __init__(self, more="", node_more="", on_node=None, as_node=None, task_plugin="task/none", nodes=None, keep_state=False):
        """`more`: lines of slurm.conf; `nodes`: further words of single nodes there. Of single nodes: `on_node` is run there before slurmd (a script), `as_node` before its name. `keep_state`:
        /var/lib/dvfs-plan of a node stays when it dies."""
        described = "\n".join(f"NodeName={node} NodeAddr=10.77.0.1{node[1:]} Port=6818 CPUs=2 Sockets=1 CoresPerSocket=2 RealMemory=1000 {(nodes or {}).get(node, node_more)}"
                              for node in NODES)
        self.keep_state = keep_state
        self.on_node, self.as_node = on_node or {}, as_node or {}
        # Not in a folder of one user's own: munged wants folders that all may pass through.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-slurm.", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.processes = {}
        self.host = "ctl"
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=self.folder, more=more, task_plugin=task_plugin, nodes=described))
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "TMPDIR": str(self.folder / "local"),
                            "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        for name in ["state", "local", "shared", *[f"{kind}.{node}" for kind in ("spool", "local") for node in NODES]]:
            (self.folder / name).mkdir()
        addresses = "".join(f"10.77.0.1{node[1:]} {node}\n" for node in NODES)
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost\n10.77.0.1 ctl\n{addresses}")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def up(self):
        self.start("munged", ["munged", "-F", f"--key-file={self.folder}/munge.key", f"--socket={self.folder}/munge.sock",
                              f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed"])
        self.start("network", ["unshare", "-n", "-m", "-u", "bash", "-ec", START_CONTROLLER, "controller", str(self.folder)])
        self.wait(lambda: (self.folder / "network.up").exists(), "the network")
        self.wait(lambda: self.call("munge", "-S", f"{self.folder}/munge.sock", "-n").returncode == 0, "munged")
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.wait(lambda: len(self.call("sinfo", "-hN", "-p", "batch", "-t", "idle").stdout.split("\n")) == len(NODES) + 1, "three idle nodes")

    def inside(self, command):
        """The command, on the controller's machine: the login node."""
        return ["/usr/bin/nsenter", "-t", str(self.processes["network"].pid), "-n", "-u", "-m", "--wdns=" + os.getcwd(), *command]

    def start_controller(self):
        self.start("slurmctld", self.inside(["slurmctld", "-D"]))
        self.wait(lambda: "is UP" in self.call("scontrol", "ping").stdout, "slurmctld")

    def stop_controller(self):
        self.end("slurmctld", signal.SIGTERM)

    def start_node(self, node):
        for folder in SYSTEM_FOLDERS:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        script = START_NODE.format(folders=" ".join(SYSTEM_FOLDERS))
        self.start(node, ["unshare", "-npfmu", "--mount-proc", "--kill-child", "bash", "-c", script, "node", node, str(self.folder), self.on_node.get(node, ""), self.as_node.get(node, ""),
                          "keep" if self.keep_state else ""])
        unshare = self.processes[node].pid
        children = pathlib.Path(f"/proc/{unshare}/task/{unshare}/children")
        own = os.readlink("/proc/self/ns/net")

        def in_its_network():
            child = children.read_text().split()
            return child and os.readlink(f"/proc/{child[0]}/ns/net") != own

        self.wait(in_its_network, f"{node}'s namespaces")
        child = children.read_text().split()[0]
        self.call("ip", "link", "del", f"v{node}")
        for words in (["add", f"v{node}", "type", "veth", "peer", "name", "eth0", "netns", child], ["set", f"v{node}", "master", "br0", "up"]):
            made = self.call("ip", "link", *words)
            if made.returncode:
                raise RuntimeError(f"ip link {' '.join(words)}: {made.stderr}")

    def kill_node(self, node):
        """Everything on it ends at once."""
        self.end(node, signal.SIGKILL)

    def link(self, node, state):
        """Its cable: "down" or "up"."""
        self.call("ip", "link", "set", f"v{node}", state)

    def start(self, name, command):
        with open(self.folder / f"{name}.out", "ab") as log:
            self.processes[name] = subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                                                    start_new_session=True)

    def end(self, name, number):
        process = self.processes.pop(name)
        process.send_signal(number)
        process.wait()

    def call(self, *command, **options):
        return subprocess.run(self.inside(command), capture_output=True, text=True, env=self.environment, timeout=60, **options)

    def wait(self, condition, what, seconds=30):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > until:
                raise RuntimeError(f"{what} did not come up: {[p.name + ': ' + p.read_text()[-500:] for p in self.folder.glob('*.out')]}")
            time.sleep(0.05)

    def down(self):
        for name in NODES:
            if name in self.processes:
                self.kill_node(name)
        for name in ("slurmctld", "network", "munged"):
            if name in self.processes:
                self.end(name, signal.SIGTERM)
        shutil.rmtree(self.folder, ignore_errors=True)
