"""`make demo-cluster`: the plan of the demo on three machines, over ssh and over Dask, with no key and no network.

The machines are network namespaces of this one, each with its own address, home and sshd. First the plan runs
over ssh; meanwhile the cable of one machine is pulled and plugged in again. Then it runs on a cluster of Dask.
Both runs must end with the same files on main as the demo on one machine. If anything goes differently, it fails.

Without the right to make namespaces, the machines are directories with supervisors of their own, and Dask is left
out. With `--quick` the models need no time to think.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

if not __package__:  # it is run as a script
    sys.path.insert(0, str(Path(__file__).parents[2]))

from examples.cluster.lab import Lab, NoLabError, laboratory
from examples.demo import demo
from weft.testing.models.server import ModelServer

NAMES = ("big1", "big2", "big3")
CUT = "big2"
"""The machine that is out of reach for a while."""
CUT_FOR = 6.0
SLOTS = 2
DASK_PORT = 8786

Hosts = Mapping[str, Mapping[str, Any]]


def main(argv: Sequence[str]) -> int:
    quick = "--quick" in argv
    with tempfile.TemporaryDirectory(prefix="weft-cluster-") as folder:
        directory = Path(folder)
        expected = tree_of_the_demo(directory / "alone", quick=quick)
        try:
            with laboratory(directory, *NAMES) as lab:
                lab.start_sshd()
                demo.say(f"Three machines, {', '.join(NAMES)}, on a network of their own.")
                wrong = [
                    *in_lab(lab, "ssh", over_ssh(lab), expected, quick=quick),
                    *in_lab(lab, "dask", {}, expected, quick=quick),
                ]
        except NoLabError as error:
            demo.say(f"{error}; so the machines are directories here, and Dask is left out.")
            wrong = [
                *run_on(directory / "commands", "command", over_commands(directory), expected, quick=quick)
            ]
    demo.say(
        *(
            [f"error: the demo went differently: {each}" for each in wrong]
            or ["All runs ended with the same files."]
        )
    )
    return 1 if wrong else 0


def tree_of_the_demo(place: Path, *, quick: bool) -> str:
    """Runs the demo on this machine; returns the tree of main at its end."""
    demo.say("First, the demo on this machine alone: what the others have to end with.")
    with ModelServer(demo.script(quick=True)) as models:
        env = demo.environment(models.url)
        demo.make_repository(place, env)
        subprocess.run([*demo.WEFT, "run"], cwd=place, env=env, check=False, capture_output=quick)
    return tree(place)


def tree(place: Path) -> str:
    """Returns the files of main without the plan, which names the machines."""
    command = ("git", "ls-tree", "-r", "main")
    listed = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True).stdout
    return "\n".join(line for line in listed.splitlines() if not line.endswith("\tweft.yaml"))


# --- hosts ---


def over_ssh(lab: Lab) -> Hosts:
    return {
        name: {"use": "ssh", "machine": name, "slots": SLOTS, "directory": str(machine.home / "weft")}
        for name, machine in lab.machines.items()
    }


def over_commands(directory: Path) -> Hosts:
    return {
        name: {
            "use": "command",
            "command": ["env", f"HOME={directory / name}"],
            "slots": SLOTS,
            "directory": str(directory / name / "weft"),
        }
        for name in NAMES
    }


@contextmanager
def over_dask(lab: Lab) -> Generator[Hosts]:
    """Starts a scheduler on the first machine, and a worker on each."""
    tls = make_certificate(lab)
    files = ("--tls-ca-file", tls, "--tls-cert", tls, "--tls-key", tls)
    first, *_ = lab.machines.values()
    address = f"tls://{first.address}:{DASK_PORT}"
    programs = (sys.executable, "-m")
    scheduler = ("distributed.cli.dask_scheduler", "--protocol", "tls", "--host", first.address)
    first.start(*programs, *scheduler, "--port", str(DASK_PORT), "--no-dashboard", *files, log="dask.log")
    first.await_port(DASK_PORT)
    for machine in lab.machines.values():
        worker = ("distributed.cli.dask_worker", address, "--protocol", "tls", "--host", machine.address)
        options = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(machine.home))
        machine.start(*programs, *worker, *options, *files, log="dask.log")
    certificate = {"ca": tls, "cert": tls, "key": tls}
    yield {
        "farm": {"use": "dask", "address": address, "tls": certificate, "slots": SLOTS * len(lab.machines)}
    }


def make_certificate(lab: Lab) -> str:
    """Writes a key with a certificate that vouches for itself; one file serves as both and as the authority."""
    credentials: Any = import_module("distributed.security").Security.temporary()
    place = lab.directory / "dask.pem"
    place.touch(mode=0o600)
    place.write_text(f"{credentials.tls_client_key}\n{credentials.tls_client_cert}\n")
    return str(place)


# --- runs ---


def in_lab(lab: Lab, carrier: str, hosts: Hosts, expected: str, *, quick: bool) -> Iterator[str]:
    place = lab.directory / carrier
    with ExitStack() as stack:
        if carrier == "dask":
            hosts = stack.enter_context(over_dask(lab))
        else:
            stack.enter_context(interruption(lab, place))
        yield from run_on(place, carrier, hosts, expected, quick=quick, lab=lab)


def run_on(
    place: Path, carrier: str, hosts: Hosts, expected: str, *, quick: bool, lab: Lab | None = None
) -> Iterator[str]:
    """Runs the plan of the demo on these hosts, and yields what is wrong with the result."""
    address = "127.0.0.1" if lab is None else lab.address
    with ModelServer(demo.script(quick=quick), host=address) as models:
        env = demo.environment(models.url)
        if lab is not None:
            env["PATH"] = f"{programs_of(lab)}{os.pathsep}{env['PATH']}"
        demo.make_repository(place, env)
        place_on(place, hosts, env)
        demo.say(f"The same plan over {carrier}:", "", "$ weft run")
        subprocess.run(
            [*demo.WEFT, "config", "approve", "--plan", "weft.yaml", "--yes"], cwd=place, env=env, check=True
        )
        code = demo.in_foreground([*demo.WEFT, "run"], place, env)
        if code != demo.NOTHING_LEFT:
            yield f"over {carrier}, the exit code of `weft run` is {code}"
        elif tree(place) != expected:
            yield f"over {carrier}, main has other files"
        else:
            demo.say("$ weft status")
            subprocess.run([*demo.WEFT, "status"], cwd=place, env=env, check=False)


def programs_of(lab: Lab) -> Path:
    """Returns a directory with an `ssh` that knows the machines of the laboratory."""
    folder = lab.directory / "bin"
    if not folder.exists():
        folder.mkdir()
        (folder / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {lab.ssh_config} "$@"\n')
        (folder / "ssh").chmod(0o755)
    return folder


def place_on(place: Path, hosts: Hosts, env: Mapping[str, str]) -> None:
    """Adds the hosts to the plan. Agents there reach the models by the variables of the plan."""
    file = place / "weft.yaml"
    plan = yaml.safe_load(file.read_text())
    plan |= {"hosts": {name: dict(host) for name, host in hosts.items()}, "host": list(hosts)}
    models = {name: env[name] for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")}
    for agent in plan["agents"].values():
        agent["env"] = models
    file.write_text(yaml.safe_dump(plan, sort_keys=False))
    author = ("-c", "user.name=You", "-c", "user.email=you@localhost")
    subprocess.run(["git", *author, "commit", "-qam", "Machines"], cwd=place, env=env, check=True)


@contextmanager
def interruption(lab: Lab, place: Path) -> Generator[None]:
    """Pulls the cable of a machine once a step runs there, and plugs it in again after a while."""
    ended = threading.Event()
    worker = threading.Thread(target=interrupt, args=(lab, place, ended))
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def interrupt(lab: Lab, place: Path, ended: threading.Event) -> None:
    while not any(f"works on {CUT}" in line for line in events_of(place)):
        if ended.wait(0.2):
            return
    machine = lab.machines[CUT]
    machine.cut()
    demo.say(f"(The cable of {CUT} is pulled for {CUT_FOR:.0f} seconds. Its steps continue.)")
    until = time.monotonic() + CUT_FOR
    ended.wait(until - time.monotonic())
    machine.connect()
    demo.say(f"(The cable of {CUT} is plugged in again.)")


def events_of(place: Path) -> list[str]:
    if not (place / ".weft").exists():
        return []
    shown = subprocess.run([*demo.WEFT, "events"], cwd=place, check=False, capture_output=True, text=True)
    return shown.stdout.splitlines()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(demo.STOPPED)
