"""A real S3 server on this machine: OpenStack Swift with its S3 API, in a folder that is thrown away."""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

import boto3
import pytest
from daemons import free_ports, stop, wait_for

SERVERS = ("proxy", "account", "container", "object")
PACKAGES = "swift-proxy swift-account swift-container swift-object memcached rclone"
# The proxy's parts, in the order in which a request passes them.
PIPELINE = "catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth slo dlo"
# What is searched for where it must not be. No other text has these.
ACCESS_KEY, SECRET_KEY = "lab-of-it:keeper-of-it", "sEcret0of1the2bucket"

SWIFT_CONF = """
[swift-hash]
swift_hash_path_suffix = noise
[storage-policy:0]
name = one
default = yes
"""
DEFAULT = """
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
workers = 0
"""
STORING = """
[pipeline:main]
pipeline = {name}-server
[app:{name}-server]
use = egg:swift#{name}
"""
PROXY = """
[pipeline:main]
pipeline = {pipeline} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:tempauth]
use = egg:swift#tempauth
user_{account} = {secret} .admin
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{memcached}
"""


class Storage:
    """The running server: how jobs and people reach it."""

    def __init__(self, address):
        self.address = address
        self.keys = ACCESS_KEY, SECRET_KEY
        self.env = {
            "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": address,
            "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": ACCESS_KEY,
            "SNAKEMAKE_STORAGE_S3_SECRET_KEY": SECRET_KEY,
        }

    def bucket(self, name):
        """A bucket, as Amazon's own library sees it."""
        keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY}
        return boto3.resource("s3", endpoint_url=self.address, region_name="us-east-1", **keys).Bucket(name)

    def copy(self, source, folder):
        """Copy a part of a bucket to a folder, as docs/cluster.md says."""
        env = {"RCLONE_S3_PROVIDER": "Other", "RCLONE_S3_ENDPOINT": self.address, "RCLONE_CONFIG": os.devnull}
        env |= {"RCLONE_S3_ACCESS_KEY_ID": ACCESS_KEY, "RCLONE_S3_SECRET_ACCESS_KEY": SECRET_KEY}
        # rclone takes no other bundle of certificates.
        others = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        done = subprocess.run(
            ["rclone", "copy", f":s3:{source}", folder], env=others | env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def storage():
    """The server, gone with its daemons and files when the tests are done."""
    programs = [f"swift-{name}-server" for name in SERVERS]
    absent = [name for name in (*programs, "swift-ring-builder", "memcached", "rclone") if shutil.which(name) is None]
    assert not absent, f"not on this machine: {', '.join(absent)}; apt-get install {PACKAGES}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="object-storage-", dir="/tmp")))
        memcached, *numbers = free_ports(1 + len(SERVERS))
        ports = dict(zip(SERVERS, numbers, strict=True))
        _configure(folder, ports, memcached)

        def start(name, *command):
            log = stack.enter_context((folder / f"{name}.out").open("w"))
            # Killed tests stop nothing any more: the kernel does.
            daemon = subprocess.Popen(("setpriv", "--pdeathsig", "TERM", *command), stdout=log, stderr=log)
            stack.callback(stop, daemon)

        user = ("-u", getpass.getuser())
        start("memcached", "memcached", *user, "-l", "127.0.0.1", "-p", str(memcached), "-U", "0", "-m", "16")
        for name in SERVERS:
            start(name, f"swift-{name}-server", str(folder / f"{name}.conf"), "--verbose")
        wait_for(lambda: all(map(_listens, (memcached, *numbers))), folder)
        yield Storage(f"http://127.0.0.1:{ports['proxy']}")


def _configure(folder, ports, memcached):
    (folder / "swift.conf").write_text(SWIFT_CONF)
    (folder / "devices/disk").mkdir(parents=True)
    about = {"folder": folder, "user": getpass.getuser()}
    for name in SERVERS[1:]:
        (folder / f"{name}.conf").write_text((DEFAULT + STORING).format(name=name, port=ports[name], **about))
        # One disk, one copy.
        for command in (("create", "4", "1", "0"), ("add", f"r1z1-127.0.0.1:{ports[name]}/disk", "1"), ("rebalance",)):
            ring = ("swift-ring-builder", folder / f"{name}.builder", *command)
            subprocess.run(ring, check=True, stdout=subprocess.DEVNULL)
    text = DEFAULT + PROXY + "".join(f"[filter:{name}]\nuse = egg:swift#{name}\n" for name in _plain())
    account = {"account": ACCESS_KEY.replace(":", "_"), "secret": SECRET_KEY, "memcached": memcached}
    (folder / "proxy.conf").write_text(text.format(port=ports["proxy"], pipeline=PIPELINE, **about, **account))


def _plain():
    return [name for name in PIPELINE.split() if f"[filter:{name}]" not in PROXY]


def _listens(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
