"""Another machine over a real ssh."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from anyio.to_thread import run_sync

from contracts.host_contract import HostContract, Stage
from hosts.far.boxes import Box, Watcher, session_of
from hosts.far.sshd import Sshd
from hosts.far.stages import FarStage
from hosts.places import Place
from weft.hosts.far_program import far_program
from weft.ports.machines import Carrier, FarError, UnreachableError
from weft.terms import MachineState

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class SshStage(FarStage):
    def __init__(self, place: Place, sshd: Sshd) -> None:
        super().__init__(place, sshd.box)
        self._sshd = sshd

    def carrier(self) -> Carrier:
        return self._sshd.carrier()


class TestFarHostOverSsh(HostContract):
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    async def stage(self, place: Place, sshd: Sshd) -> AsyncIterator[Stage]:
        stage = SshStage(place, sshd)
        yield stage
        for host in stage.hosts:
            await host.close()


async def _refusal(sshd: Sshd) -> str:
    carrier = sshd.carrier()
    with pytest.raises(FarError) as refusal:
        await carrier.connect("box3", far_program(), ("serve", "run-1"))
    await carrier.close()
    return str(refusal.value)


async def test_an_unknown_host_key_is_refused_with_what_to_type(sshd: Sshd) -> None:
    await run_sync(sshd.know, None)
    assert await _refusal(sshd) == "the host key of box3 is unknown; to accept it, type: ssh box3 true"
    assert await run_sync(sshd.known_hosts.read_text) == ""


async def test_a_changed_host_key_is_refused_with_what_to_type(sshd: Sshd) -> None:
    await run_sync(sshd.know, sshd.root / "user.pub")
    assert await _refusal(sshd) == (
        "the host key of box3 has changed; if that is right, type: ssh-keygen -R box3, then: ssh box3 true"
    )


async def test_a_refused_login_is_explained(sshd: Sshd) -> None:
    await run_sync((sshd.root / "authorized").write_text, "")
    message = await _refusal(sshd)
    assert message.startswith("box3 refuses the login (")
    assert message.endswith("load a key (ssh-add), and try: ssh -o BatchMode=yes box3 true")


async def test_a_machine_that_does_not_listen_may_come_back(sshd: Sshd, watcher: Watcher) -> None:
    await run_sync(sshd.stop)
    carrier = sshd.carrier()
    with pytest.raises(UnreachableError, match="Connection refused"):
        await carrier.connect("box3", far_program(), ("serve", "run-1"))
    session = session_of(carrier, watcher, machine="box3")
    session.start()
    await watcher.state(MachineState.UNREACHABLE)
    await run_sync(sshd.start)
    session.hurry()
    await watcher.state(MachineState.REACHABLE)
    await session.close()
    await carrier.close()


async def test_a_login_shell_sets_the_environment_and_may_print(sshd: Sshd, watcher: Watcher) -> None:
    agent = sshd.box.home / "tools" / "agent-x"
    agent.parent.mkdir()
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    profile = f'echo "Welcome"; PATH="{agent.parent}:$PATH"; export PATH\n'
    await run_sync((sshd.box.home / ".profile").write_text, profile)
    carrier = sshd.carrier()
    session = session_of(carrier, watcher, machine="box3", programs=("agent-x",))
    session.start()
    await watcher.connected(1)
    assert session.facts["programs"] == {"agent-x": str(agent)}
    await session.close()
    await carrier.close()


async def test_connections_share_one_in_a_private_directory(sshd: Sshd, watcher: Watcher) -> None:
    carrier = sshd.carrier()
    sessions = [session_of(carrier, watcher, machine="box3", run=f"run-{number}") for number in range(3)]
    sessions[0].start()
    await watcher.connected(1)
    sockets = Path(str(carrier._sockets))
    before = len(await run_sync(sshd.connections))
    for session in sessions[1:]:
        session.start()
    await watcher.connected(3)
    assert (await run_sync(sockets.stat)).st_mode & 0o777 == 0o700
    assert len(await run_sync(sshd.connections)) == before
    for session in sessions:
        await session.close()
    await carrier.close()
    assert not await run_sync(sockets.exists)


async def test_a_cut_connection_is_made_again(sshd: Sshd, watcher: Watcher, box: Box) -> None:
    carrier = sshd.carrier()
    session = session_of(carrier, watcher, machine="box3")
    session.start()
    await watcher.connected(1)
    await run_sync(sshd.cut)
    await watcher.connected(2)
    assert MachineState.UNREACHABLE in watcher.states
    await session.close()
    await carrier.close()
    assert box.home.is_dir()
