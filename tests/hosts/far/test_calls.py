"""Calls to a far program, with payloads in both directions, from threads."""

import hashlib
import os
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from hosts.far.boxes import Box, Watcher, program_with, session_of
from weft.hosts.far.frames import PIECE
from weft.hosts.machines.session import MachineSession
from weft.ports.machines import (
    FarError,
    MachineLostError,
    Reply,
    StaleTokenError,
    UnreachableError,
)
from weft.terms import MachineState

pytestmark = pytest.mark.anyio

_OPERATIONS = """
import hashlib
from .errors import FarProblemError

def echo(context, arguments, payload):
    if payload is None:
        return arguments, None
    file = context.new_file()
    file.write_bytes(payload.read_bytes())
    return arguments | {"payload": str(payload)}, file

def meet(context, arguments, payload):
    with open(arguments["there"], "w"):
        pass
    with open(arguments["gate"]) as gate:
        gate.read()
    return {}, None

def hold(context, arguments, payload):
    with context.lock("one"):
        return meet(context, arguments, payload)

def refuse(context, arguments, payload):
    raise FarProblemError("it belongs to another", kind=arguments["kind"])

def missing(context, arguments, payload):
    open("/no/such/file")

def wrong(context, arguments, payload):
    return {}["nothing"]

OPERATIONS |= {"echo": echo, "meet": meet, "hold": hold, "refuse": refuse, "missing": missing, "wrong": wrong}
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _open(box: Box, watcher: Watcher, *, lost_after: float = 600.0) -> MachineSession:
    session = session_of(box.carrier(), watcher, program=program_with(_OPERATIONS), lost_after=lost_after)
    session.start()
    await watcher.connected(1)
    return session


async def _call(
    session: MachineSession, operation: str, payload: Path | bytes = b"", **arguments: object
) -> Reply:
    return await run_sync(partial(session.call_from_thread, operation, arguments, payload))


async def test_an_operation_gets_its_arguments_and_answers(box: Box, watcher: Watcher) -> None:
    session = await _open(box, watcher)
    assert (await _call(session, "echo", text="ä", number=1)).data == {"text": "ä", "number": 1}
    await session.close()


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 5_000_000])
async def test_a_payload_goes_there_and_comes_back(box: Box, watcher: Watcher, size: int) -> None:
    session = await _open(box, watcher)
    data = os.urandom(size)
    reply = await _call(session, "echo", data)
    assert hashlib.sha256(reply.payload).digest() == hashlib.sha256(data).digest()
    spool = Path(reply.data["payload"]).parent
    assert await run_sync(os.listdir, spool) == []  # no copy remains there
    await session.close()


async def test_payloads_can_be_files_here(box: Box, watcher: Watcher, tmp_path: Path) -> None:
    session = await _open(box, watcher)
    source, target = tmp_path / "source", tmp_path / "target"
    data = os.urandom(3_000_000)
    await run_sync(source.write_bytes, data)
    reply = await run_sync(partial(session.call_from_thread, "echo", {}, source, into=target))
    assert (reply.payload, await run_sync(target.read_bytes) == data) == (b"", True)
    await session.close()


async def test_many_payloads_pass_at_once_in_both_directions(box: Box, watcher: Watcher) -> None:
    session = await _open(box, watcher)
    payloads = [os.urandom(1_500_000) for _ in range(6)]
    replies: dict[int, bytes] = {}

    async def go(number: int) -> None:
        replies[number] = (await _call(session, "echo", payloads[number])).payload

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(go, number)
    assert [replies[number] for number in range(6)] == payloads
    await session.close()


def _gate(tmp_path: Path, name: str) -> dict[str, str]:
    for file in (f"{name}.there", f"{name}.gate"):
        os.mkfifo(tmp_path / file)
    return {"there": str(tmp_path / f"{name}.there"), "gate": str(tmp_path / f"{name}.gate")}


async def test_an_operation_that_takes_long_holds_up_no_other(
    box: Box, watcher: Watcher, tmp_path: Path
) -> None:
    session = await _open(box, watcher)
    gates = [_gate(tmp_path, "a"), _gate(tmp_path, "b")]
    async with anyio.create_task_group() as tasks:
        for gate in gates:
            tasks.start_soon(partial(_call, session, "meet", b"", **gate))
        for gate in gates:
            await run_sync(Path(gate["there"]).read_bytes)
        assert (await _call(session, "echo", now=1)).data == {"now": 1}
        for gate in gates:
            await run_sync(Path(gate["gate"]).write_bytes, b"")
    await session.close()


async def test_a_lock_is_held_by_one_operation_at_a_time_of_all_far_programs(
    box: Box, watcher: Watcher, tmp_path: Path
) -> None:
    first, gates = await _open(box, watcher), [_gate(tmp_path, "a"), _gate(tmp_path, "b")]
    second = session_of(box.carrier(), watcher, program=program_with(_OPERATIONS))
    second.start()
    await watcher.connected(2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(_call, first, "hold", b"", **gates[0]))
        await run_sync(Path(gates[0]["there"]).read_bytes)
        tasks.start_soon(partial(_call, second, "hold", b"", **gates[1]))
        await _call(second, "echo")  # comes after it on the same way
        with pytest.raises(OSError):  # no process writes there yet
            os.open(gates[1]["gate"], os.O_WRONLY | os.O_NONBLOCK)
        await run_sync(Path(gates[0]["gate"]).write_bytes, b"")
        await run_sync(Path(gates[1]["there"]).read_bytes)
        await run_sync(Path(gates[1]["gate"]).write_bytes, b"")
    await first.close()
    await second.close()


async def test_errors_keep_their_meaning(box: Box, watcher: Watcher) -> None:
    session = await _open(box, watcher)
    with pytest.raises(StaleTokenError, match=r"^it belongs to another$"):
        await _call(session, "refuse", kind="stale")
    with pytest.raises(FarError, match=r"^it belongs to another$"):
        await _call(session, "refuse", kind="work")
    with pytest.raises(FarError, match=r"^/no/such/file: No such file"):
        await _call(session, "missing")
    with pytest.raises(FarError, match=r"^KeyError: 'nothing'"):
        await _call(session, "wrong")
    with pytest.raises(FarError, match=r"no operation 'nothing'"):
        await _call(session, "nothing", b"x")
    await session.close()


async def test_a_call_fails_when_the_connection_breaks(box: Box, watcher: Watcher, tmp_path: Path) -> None:
    session = await _open(box, watcher)
    gate = _gate(tmp_path, "a")

    async def fail() -> None:
        with pytest.raises(UnreachableError, match="box cannot be reached"):
            await _call(session, "meet", b"", **gate)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail)
        await run_sync(Path(gate["there"]).read_bytes)
        session.interrupt()
    await watcher.connected(2)
    assert watcher.states == [MachineState.REACHABLE, MachineState.UNREACHABLE, MachineState.REACHABLE]
    assert (await _call(session, "echo", again=1)).data == {"again": 1}
    await session.close()


async def test_a_machine_out_of_reach_for_too_long_is_lost_and_can_come_back(
    box: Box, watcher: Watcher
) -> None:
    session = await _open(box, watcher, lost_after=0.01)
    carrier = session._carrier
    way, carrier._command = carrier._command, ("false",)  # type: ignore[attr-defined]
    session.interrupt()
    await watcher.state(MachineState.LOST)
    with pytest.raises(MachineLostError, match="box is lost"):
        await _call(session, "echo")
    carrier._command = way  # type: ignore[attr-defined]
    session.hurry()
    await watcher.state(MachineState.REACHABLE)
    assert (await _call(session, "echo", back=1)).data == {"back": 1}
    await session.close()


async def test_calls_after_the_end_fail(box: Box, watcher: Watcher) -> None:
    session = await _open(box, watcher)
    await session.close()
    with pytest.raises(UnreachableError, match="closed"):
        await _call(session, "echo")


async def test_the_machine_says_what_it_has(box: Box, watcher: Watcher) -> None:
    session = session_of(box.carrier(), watcher, programs=("git", "no-such-agent"))
    session.start()
    await watcher.connected(1)
    facts = session.facts
    assert facts["directory"] == str(box.directory)
    assert facts["git"].startswith("2.")
    assert (facts["programs"]["no-such-agent"], facts["programs"]["git"] is None) == (None, False)
    assert facts["free"] > 0
    status = session.status(running=3)
    assert (status.host, status.machine, status.state, status.running) == (
        "box",
        "box",
        MachineState.REACHABLE,
        3,
    )
    await session.close()
