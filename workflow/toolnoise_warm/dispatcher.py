"""The dispatcher of a workflow: it sends each job to the server with its settings, or refuses it and says why.

It starts a server for settings that no server has, imports no framework and forks nothing. It ends with its parent, and
its servers end with it.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise import cli, engines, steps
from toolnoise.base import program
from toolnoise.base.spec import Spec
from toolnoise.steps import CONFIGURE, STEPS
from toolnoise.study import environments, grid, programs
from toolnoise.study.cells import Training
from toolnoise.training.network import emulated_noise
from toolnoise_warm import FAILED, messages
from toolnoise_warm.messages import Message
from toolnoise_warm.workflow import wait_or_kill

# A server of a framework holds about 300 MiB.
MOST_SERVERS = 8
# For a server to end. Its jobs have ended by then.
SECONDS_TO_END = 1.0


class Server(NamedTuple):
    """A server: where it listens, and its process."""

    address: str
    process: subprocess.Popen


class Refused(Exception):  # noqa: N818 (it is an answer)
    """The reason why a job starts cold."""


def main() -> None:
    """Answer jobs until standard input ends."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    folder, servers = Path(listener.getsockname()).parent, {}
    try:
        while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(10)
                try:
                    _answer(connection, folder, servers)
                except (OSError, ValueError):
                    # The job has ended meanwhile.
                    continue
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for server in servers.values():
            server.process.stdin.close()
        for server in servers.values():
            wait_or_kill(server.process, SECONDS_TO_END)


def _answer(connection: socket.socket, folder: Path, servers: dict[str, Server]) -> None:
    job, _ = messages.receive(connection)
    if job is None:
        return
    try:
        answer = {"server": _server(job, folder, servers).address}
    except Refused as reason:
        answer = {"refused": str(reason)}
    except (Exception, SystemExit) as error:
        # The verb itself will say what is wrong with it. Other jobs depend on this process.
        answer = {"refused": f"{FAILED}its command line or study is not in order ({type(error).__name__})"}
    messages.send(connection, answer)


def _server(job: Message, folder: Path, servers: dict[str, Server]) -> Server:
    """The server for a job: the one that imported where the job is, with its environment and its settings."""
    if job["python"] != [sys.prefix, sys.version]:
        raise Refused("another Python")
    os.chdir(job["cwd"])
    imports, settings = _imports(cli.parsed(job["argv"][1:]))
    key = json.dumps([job["cwd"], job["environment"], settings], sort_keys=True)
    if key not in servers:
        if len(servers) == MOST_SERVERS:
            raise Refused(f"{FAILED}{MOST_SERVERS} servers with other settings are running")
        servers[key] = _started(str(folder / str(len(servers))), job["environment"], imports)
    return servers[key]


def _started(address: str, environment: dict[str, str], imports: dict[str, Any]) -> Server:
    with messages.listening(address) as listener:
        process = subprocess.Popen(
            program.python("toolnoise_warm.server", str(listener.fileno()), json.dumps(imports)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # What a framework has to say of its import. If a server cannot import, it ends, and its jobs start cold.
            stderr=subprocess.DEVNULL,
            env=environment,
            pass_fds=[listener.fileno()],
        )
    return Server(address, process)


def _imports(options: Namespace) -> tuple[dict[str, Any], dict[str, str]]:
    """What a job's server is to import: a framework for a tooling, or none; and the variables that this sets.

    A job that must be cold is refused.
    """
    verb = options.verb
    if verb not in STEPS.keys() - {CONFIGURE}:
        raise Refused("no job")
    study = grid.load(options.study)
    place = steps.asked(verb, study, options.study, vars(options))
    asked = STEPS[verb].parameters(study, place)
    if "spec" not in asked:
        return {}, {}
    spec = Spec.read(asked["spec"])
    tooling, varying = dict(spec.hardware.json), spec.variant.varying
    if name := environments.of(asked):
        raise Refused(f"it computes in the environment {name}")
    if cold := STEPS[verb].needs.cold:
        raise Refused(cold)
    if tooling["engine"] == programs.ENGINE:
        raise Refused("it runs a program, or reads what one has left")
    if tooling["accelerator"] != "cpu":
        raise Refused("an accelerator does not survive a fork")
    engine = engines.load(tooling["engine"])
    if not engine.forks:
        raise Refused(f"{tooling['engine']} is not known to survive a fork")
    if "impl" in varying and not emulated_noise(spec):
        raise Refused("noise that is not emulated needs a process of its own")
    if isinstance(place, Training) and not varying and place.seed == study.seeds[place.cell][0]:
        raise Refused("the first run of a Control cell, for the control gate to compare the others with")
    imports = {"tooling": tooling, "deterministic": "impl" not in varying}
    return imports, engine.variables(**imports) | {"engine": tooling["engine"]}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
