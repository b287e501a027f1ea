"""A real Grid Engine on this machine: a master and one host with five queues, in a folder that is thrown away."""

import os
import re
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from daemons import free_ports, stop, wait_for, wait_while

GPUS = ("p100", "v100", "rtx5000", "t4")
QUEUES = (*GPUS, "cpu")
PROGRAMS = Path("/usr/lib/gridengine")
SHARED = Path("/usr/share/gridengine")

BOOTSTRAP = """
admin_user none
default_domain none
ignore_fqdn true
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {folder}/spool/database
binary_path /usr/lib/gridengine
qmaster_spool_dir {folder}/spool/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
jvm_threads 0
"""
# Jobs are root's here, and an ended one is in the accounting at once.
SETTINGS = {"execd_spool_dir": "{folder}/spool/execd", "min_uid": "0", "min_gid": "0"}
SETTINGS |= {"reporting_params": "accounting=true reporting=false flush_time=00:00:01 joblog=false sharelog=00:00:00"}
# Name, shortcut, type, relation, whether it may be asked for, whether it is used up (by slot or job), default, urgency.
RESOURCES = "gpu gpu INT <= YES JOB 0 0\nroom room MEMORY <= YES YES 0 0\n"
# Every attribute of a queue must be there.
QUEUE = {
    "seq_no": "0",
    "nsuspend": "1",
    "suspend_interval": "00:05:00",
    "priority": "0",
    "min_cpu_interval": "00:05:00",
}
QUEUE |= {
    "qtype": "BATCH",
    "rerun": "TRUE",
    "slots": "16",
    "tmpdir": "/tmp",
    "shell": "/bin/bash",
    "notify": "00:00:60",
}
QUEUE |= {
    "pe_list": "smp",
    "shell_start_mode": "posix_compliant",
    "initial_state": "default",
    "processors": "UNDEFINED",
}
QUEUE |= dict.fromkeys(("load_thresholds", "suspend_thresholds", "ckpt_list"), "NONE")
QUEUE |= dict.fromkeys(("prolog", "epilog", "starter_method", "suspend_method", "resume_method"), "NONE")
QUEUE |= dict.fromkeys(("terminate_method", "owner_list", "user_lists", "xuser_lists", "subordinate_list"), "NONE")
QUEUE |= dict.fromkeys(("projects", "xprojects", "calendar"), "NONE")
# Slots on one host, for jobs of several threads.
SLOTS = {"pe_name": "smp", "slots": "999", "allocation_rule": "$pe_slots", "control_slaves": "FALSE"}
SLOTS |= {"job_is_first_task": "TRUE", "urgency_slots": "min", "accounting_summary": "FALSE"}
SLOTS |= dict.fromkeys(("user_lists", "xuser_lists", "start_proc_args", "stop_proc_args", "qsort_args"), "NONE")
LIMITS = ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
QUEUE |= {f"{kind}_{limit}": "INFINITY" for kind in "sh" for limit in LIMITS}


class Cluster:
    """The running cluster: how to reach it, and what it says of its jobs."""

    def __init__(self, folder, ports):
        self.folder = folder
        self.env = {"SGE_ROOT": str(folder), "SGE_CELL": "default", "SGE_ND": "1"}
        self.env |= {"SGE_QMASTER_PORT": str(ports[0]), "SGE_EXECD_PORT": str(ports[1])}

    def call(self, program, *arguments):
        """What one of Grid Engine's programs prints."""
        command = (PROGRAMS / program, *arguments)
        done = subprocess.run(command, env=os.environ | self.env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def ended(self):
        """What the accounting has of every job that has ended, in the order of their numbers."""
        records = self.call("qacct", "-j").split("=" * 62)[1:]
        found = [dict(re.findall(r"^(\S+) +(.*?) *$", record, re.MULTILINE)) for record in records]
        # The last part is a sum.
        return sorted((job for job in found if "jobnumber" in job), key=lambda job: int(job["jobnumber"]))


@pytest.fixture(scope="session")
def cluster():
    """The cluster, gone with its daemons and files when the tests are done."""
    assert os.geteuid() == 0, "the daemons of Grid Engine need root"
    packages = "gridengine-master gridengine-exec gridengine-client"
    absent = [name for name in ("sge_qmaster", "sge_execd", "qsub", "qacct") if not (PROGRAMS / name).exists()]
    assert not absent, f"not on this machine: {', '.join(absent)}; apt-get install {packages}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="grid-engine-", dir="/tmp")))
        cluster = Cluster(folder, free_ports(2))
        _configure(cluster)

        def start(name):
            log = stack.enter_context((folder / f"{name}.out").open("w"))
            # Killed tests stop nothing any more: the kernel does.
            command = ("setpriv", "--pdeathsig", "TERM", PROGRAMS / name)
            daemon = subprocess.Popen(command, env=os.environ | cluster.env, stdout=log, stderr=log)
            stack.callback(stop, daemon)

        start("sge_qmaster")
        wait_for(lambda: cluster.call("qconf", "-sh"), folder)
        cluster.call("qconf", "-as", _host())
        start("sge_execd")
        wait_for(lambda: "lx-amd64" in cluster.call("qhost"), folder)
        _queues(cluster)
        stack.callback(_empty, cluster)
        yield cluster


def _configure(cluster):
    folder = cluster.folder
    for path in (folder / "default/common", folder / "spool/qmaster", folder / "spool/database"):
        path.mkdir(parents=True)
    (folder / "util").symlink_to(SHARED / "util")
    (folder / "default/common/bootstrap").write_text(BOOTSTRAP.format(folder=folder))
    (folder / "default/common/act_qmaster").write_text(f"{_host()}\n")
    (folder / "default/common/host_aliases").write_text(f"{_host()} localhost\n")
    settings = (SHARED / "default-configuration").read_text()
    for name, value in SETTINGS.items():
        settings = re.sub(rf"^{name} .*", f"{name} {value.format(folder=folder)}", settings, flags=re.MULTILINE)
    (folder / "settings").write_text(settings)
    cluster.call("spoolinit", "berkeleydb", "libspoolb", str(folder / "spool/database"), "init")
    cluster.call("spooldefaults", "configuration", str(folder / "settings"))
    cluster.call("spooldefaults", "complexes", str(SHARED / "util/resources/centry"))
    cluster.call("spooldefaults", "usersets", str(SHARED / "util/resources/usersets"))
    cluster.call("spooldefaults", "managers", "root")


def _queues(cluster):
    """A queue for each partition; those of GPUs have four each. The host has room for what jobs ask for."""
    (cluster.folder / "resources").write_text(cluster.call("qconf", "-sc") + RESOURCES)
    cluster.call("qconf", "-Mc", str(cluster.folder / "resources"))
    (cluster.folder / "slots").write_text(_lines(SLOTS))
    cluster.call("qconf", "-Ap", str(cluster.folder / "slots"))
    # Jobs start, and make room, within a second.
    schedule = re.sub(r"^(flush_\w+_sec) .*", r"\1 1", cluster.call("qconf", "-ssconf"), flags=re.MULTILINE)
    (cluster.folder / "schedule").write_text(schedule)
    cluster.call("qconf", "-Msconf", str(cluster.folder / "schedule"))
    host = cluster.folder / "host"
    nothing = (
        "load_scaling",
        "user_lists",
        "xuser_lists",
        "projects",
        "xprojects",
        "usage_scaling",
        "report_variables",
    )
    host.write_text(_lines({"hostname": _host(), "complex_values": "room=512G"} | dict.fromkeys(nothing, "NONE")))
    cluster.call("qconf", "-Me", str(host))
    for name in QUEUES:
        path = cluster.folder / f"queue-{name}"
        own = {"qname": name, "hostlist": _host(), "complex_values": "gpu=4" if name in GPUS else "NONE"}
        path.write_text(_lines(QUEUE | own))
        cluster.call("qconf", "-Aq", str(path))


def _lines(values):
    return "".join(f"{key} {value}\n" for key, value in values.items())


def _host():
    return socket.gethostname().partition(".")[0]


def _empty(cluster):
    """Leave no process of a job behind."""
    if "job-ID" not in cluster.call("qstat", "-u", "root"):
        return
    cluster.call("qdel", "-u", "root")
    wait_while(lambda: "job-ID" in cluster.call("qstat", "-u", "root"))
