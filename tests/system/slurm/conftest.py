"""A real Slurm on this machine, and Snakemake with a profile in clones that share a folder with its nodes.

The Slurm is a controller and eight nodes on loopback, in a folder that is gone at the end.
"""

import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml

SECONDS_TO_START = 60
GPUS = ("p100", "v100", "rtx5000", "t4")
NODES = {"cpu1": "cpu"} | {f"gpu{number}": model for number, model in enumerate(GPUS, 1)}
# Nodes with one GPU each, which tests take away from jobs: somebody else's partition `urgent` has them, too.
NODES |= dict.fromkeys(("lost1", "lost2", "lost3"), "a100")
PROGRAMS = ("setpriv", "munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")

# Debian's build runs several daemons on one host. Nothing counts memory or fences devices: all jobs are ours.
SLURM_CONF = """
ClusterName=toolnoise
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
MailProg=/bin/true
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=0
GresTypes=gpu
ReturnToService=2
MinJobAge=3600
KillWait=5
InactiveLimit=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
SlurmdParameters=config_overrides
NodeName=DEFAULT CPUs=16 Boards=1 SocketsPerBoard=1 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=512000 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=DEFAULT MaxTime=2-00:00:00 DefaultTime=00:10:00 DefMemPerCPU=200 State=UP
"""


class Cluster:
    """The running cluster: how to reach it, and what it says of its jobs."""

    def __init__(self, folder):
        self.folder = folder
        # The job step of the executor plugin takes SLURM_CONF away before it calls srun, which then looks for a
        # cluster of the machine's own.
        (folder / "bin").mkdir()
        wrapper = folder / "bin/srun"
        wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
        wrapper.chmod(0o755)
        self.env = {"SLURM_CONF": f"{folder}/slurm.conf", "PATH": f"{folder}/bin:{os.environ['PATH']}"}

    def call(self, *command):
        """What one of Slurm's programs prints."""
        done = subprocess.run(command, env=os.environ | self.env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self):
        """Slurm's own record of every job, by its number; those of finished jobs are kept for an hour."""
        lines = self.call("scontrol", "show", "job", "--details", "--oneliner").splitlines()
        found = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines if line.startswith("JobId=")]
        return {job["JobId"]: job for job in found}

    def finished(self):
        """What the controller wrote down of every job when it ended, by its number."""
        lines = (self.folder / "jobcomp.txt").read_text().splitlines()
        found = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines]
        return {job["JobId"]: job for job in found}


@contextmanager
def running():
    """The cluster, gone with its daemons and files afterwards."""
    assert os.geteuid() == 0, "slurmctld and slurmd need root"
    os.environ["PATH"] += ":/usr/sbin"
    absent = [program for program in PROGRAMS if not shutil.which(program)]
    assert not absent, f"not on this machine: {', '.join(absent)}; apt-get install slurm-wlm munge"
    with ExitStack() as stack:
        # Slurm's sockets lie there, and the path of a socket has to be short.
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp")))
        folder.chmod(0o755)
        cluster = Cluster(folder)
        _configure(folder)

        def start(name, *command, **options):
            log = stack.enter_context((folder / f"{name}.out").open("w"))
            # Killed tests stop nothing any more: the kernel does.
            command = ("setpriv", "--pdeathsig", "TERM", *command)
            daemon = subprocess.Popen(command, env=os.environ | cluster.env, stdout=log, stderr=log, **options)
            stack.callback(stop, daemon)

        names = ("key-file", "socket", "pid-file", "log-file", "seed-file")
        start("munged", "munged", "--foreground", *(f"--{name}={folder}/munge/{name}" for name in names), user="munge")
        wait_for((folder / "munge/socket").exists, folder)
        start("slurmctld", "slurmctld", "-D")
        for node in NODES:
            start(node, "slurmd", "-D", "-N", node)
        wait_for(lambda: set(cluster.call("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"}, folder)
        stack.callback(_empty, cluster)
        yield cluster


def _configure(folder):
    host, ports = socket.gethostname().partition(".")[0], free_ports(1 + len(NODES))
    lines, devices = (
        [SLURM_CONF.format(folder=folder, munge=folder / "munge", host=host, ports=ports)],
        ["AutoDetect=off"],
    )
    for port, (node, partition) in zip(ports[1:], NODES.items(), strict=True):
        count = 0 if partition == "cpu" else 4 if partition in GPUS else 1
        gres = f" Gres=gpu:{partition}:{count}" if count else ""
        lines.append(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}{gres}")
        (folder / "spool" / node).mkdir(parents=True)
        for number in range(count):
            devices.append(f"NodeName={node} Name=gpu Type={partition} Count=1 File={folder}/{node}_gpu{number}")
            os.mknod(folder / f"{node}_gpu{number}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for partition in dict.fromkeys(NODES.values()):
        nodes = ",".join(node for node, its in NODES.items() if its == partition)
        lines.append(f"PartitionName={partition} Nodes={nodes}" + (" Default=YES" if partition == "cpu" else ""))
    lines.append(f"PartitionName=urgent Nodes={nodes} PriorityTier=10")
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    (folder / "gres.conf").write_text("\n".join(devices) + "\n")
    (folder / "state").mkdir()
    (folder / "munge").mkdir(mode=0o755)
    (folder / "munge/key-file").write_bytes(os.urandom(1024))
    (folder / "munge/key-file").chmod(0o600)
    for path in (folder / "munge", folder / "munge/key-file"):
        shutil.chown(path, "munge", "munge")


def _empty(cluster):
    """Leave no process of a job behind."""
    cluster.call("scancel", "--state=PENDING", "--user=root")
    cluster.call("scancel", "--user=root")
    deadline = time.monotonic() + SECONDS_TO_START
    while cluster.call("squeue", "-h") and time.monotonic() < deadline:
        time.sleep(0.5)


def free_ports(count):
    """Ports of this machine that nothing listens on."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_for(ready, folder):
    """Wait until daemons are ready; they write what they print to *.out in the folder."""
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            if ready():
                return
        except AssertionError:
            pass  # it does not answer yet
        said = "".join(f"\n{path.name}: {path.read_text()[-2000:]}" for path in folder.glob("*.out"))
        assert time.monotonic() < deadline, f"the daemons did not start{said}"
        time.sleep(0.2)


def stop(daemon):
    """End a daemon."""
    daemon.terminate()
    try:
        daemon.wait(20)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


@pytest.fixture(scope="session")
def cluster():
    """The cluster, gone when the tests are done."""
    with running() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def start(cluster, checkout, tmp_path_factory):
    """Start Snakemake with a profile, as a person types it in a clone; one clone for each study."""

    at_work = []

    def start(study, profile, *arguments, partitions=None):
        clone = tmp_path_factory.getbasetemp() / study["study"]
        if not clone.exists():
            shutil.copytree(checkout, clone, symlinks=True)
            shutil.copy(Path(__file__).with_name("waiting.py"), clone)
            if partitions:
                table = clone / "workflow/profiles/partitions.yaml"
                known = yaml.safe_load(table.read_text())["partitions"]
                table.write_text(yaml.safe_dump({"partitions": known | partitions}))
        (clone / "study.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
        command = [sys.executable, "-m", "snakemake", *arguments, "--profile", profile, "--configfile", "study.yaml"]
        # The profile first asks Slurm how jobs stand after 40 s: these last 10.
        command += ["--slurm-init-seconds-before-status-checks", "3", "--latency-wait", "10"]
        # This Slurm has no accounting.
        command += ["--slurm-status-command", "squeue"]
        env = os.environ | cluster.env | {"PYTHONPATH": str(clone / "workflow")}
        with (clone / "said.txt").open("a") as said:
            snakemake = subprocess.Popen(command, cwd=clone, env=env, stdout=said, stderr=said)
        at_work.append(snakemake)
        return Started(snakemake, clone)

    yield start
    for snakemake in at_work:
        snakemake.kill()
        snakemake.wait()


class Started:
    """Snakemake at work in a clone."""

    def __init__(self, snakemake, clone):
        self.snakemake, self.clone = snakemake, clone

    def ended(self):
        """Its exit code and all that was said in this clone."""
        code = self.snakemake.wait(1200)
        return code, (self.clone / "said.txt").read_text()

    def wait_for(self, path):
        """Wait until a file is there, and return what it says."""
        deadline = time.monotonic() + 900
        while not ((self.clone / path).exists() and (self.clone / path).read_text()):
            assert self.snakemake.poll() is None, (self.clone / "said.txt").read_text()
            assert time.monotonic() < deadline, (self.clone / "said.txt").read_text()
            time.sleep(0.5)
        return (self.clone / path).read_text()
