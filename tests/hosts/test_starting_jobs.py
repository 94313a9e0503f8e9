"""What a process of a job finds when it starts, and what is said when it cannot."""

import os
import subprocess
import sys
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from contracts.host_contract import end_of, ends
from hosts.places import ENV, Place
from weft.hosts.local import LocalHost
from weft.hosts.reach import PROGRAM
from weft.ports.host import EndReason, Job, JobEnded

pytestmark = pytest.mark.anyio


async def run(host: LocalHost, job: Job) -> JobEnded:
    host.start(job)
    return await end_of(host, job.id)


async def test_its_environment_is_the_given_one_plus_the_marks_of_its_job(
    place: Place, host: LocalHost
) -> None:
    end = await run(host, replace(place.argv("a", ("env",)), env=MappingProxyType(ENV | {"X": "y z"})))
    assert end.stdout is not None
    assert dict(line.split("=", 1) for line in end.stdout.splitlines()) == ENV | {
        "X": "y z",
        "WEFT_JOB": "a",
        "WEFT_HOST": str(place.directory),
    }


async def test_what_jobs_share_comes_after_what_is_their_own(place: Place, host: LocalHost) -> None:
    """Each job gets its own shared variables, though the host receives each set once."""
    few, many = {"A": "few", "B": "few"}, {"A": "many"}
    script = 'echo "$A $B"'
    stdouts = [
        (await run(host, replace(place.shell(name, script), env=env, shared=shared))).stdout
        for name, env, shared in [("a", {}, few), ("b", {"B": "own"}, few), ("c", {}, many), ("d", {}, few)]
    ]
    assert stdouts == ["few few\n", "few own\n", "many \n", "few few\n"]


async def test_names_and_values_need_not_be_text(place: Place, host: LocalHost) -> None:
    value = os.fsdecode(b"\xff\xfe")
    end = await run(host, replace(place.shell("a", 'printf %s "$X" | od -An -tx1'), env=ENV | {"X": value}))
    assert end.stdout == " ff fe\n"


async def test_it_runs_in_its_directory(place: Place, host: LocalHost) -> None:
    assert (await run(host, replace(place.argv("a", ("pwd",)), cwd="/usr"))).stdout == "/usr\n"


async def test_each_command_reads_the_given_text(place: Place, host: LocalHost) -> None:
    text = "line\n" * 700
    end = await run(host, replace(place.argv("a", ("wc", "-c"), ("wc", "-l")), stdin=text))
    assert end.stdout == "3500\n700\n"


async def test_without_text_the_input_is_empty(place: Place, host: LocalHost) -> None:
    end = await run(host, place.argv("a", ("cat",)))
    assert (end.exit_code, end.stdout) == (0, "")


async def test_it_has_no_descriptors_but_the_three(place: Place, host: LocalHost) -> None:
    # The fourth is that of the directory which `ls` reads.
    assert (await run(host, place.argv("a", ("ls", "/proc/self/fd")))).stdout == "0\n1\n2\n3\n"


async def test_no_signal_is_ignored_or_held_back(place: Place, host: LocalHost) -> None:
    end = await run(host, place.shell("a", "grep -E '^Sig(Ign|Blk)' /proc/self/status | cut -f2"))
    assert end.stdout is not None
    # Beyond the first 31 are those that the C library keeps for itself.
    assert [int(signals, 16) & 0x7FFFFFFF for signals in end.stdout.split()] == [0, 0]


async def test_it_leads_a_session_of_its_own(place: Place, host: LocalHost) -> None:
    end = await run(
        host, place.shell("a", "read pid _ _ _ group session _ < /proc/self/stat; echo $$ $group $session")
    )
    assert end.stdout is not None
    assert len(set(end.stdout.split())) == 1


async def test_a_name_is_looked_for_where_its_own_path_says(place: Place, host: LocalHost) -> None:
    (place.root / "tools").mkdir()
    program = place.root / "tools" / "greet"
    program.write_text("#!/bin/sh\necho greetings\n")
    program.chmod(0o755)
    end = await run(
        host, replace(place.argv("a", ("greet",)), env={"PATH": f"{place.root}/nowhere:{place.root}/tools"})
    )
    assert end.stdout == "greetings\n"


async def test_a_missing_program_is_named(place: Place, host: LocalHost) -> None:
    end = await run(host, place.argv("a", ("no-such-thing",)))
    assert (end.why, end.message) == (
        EndReason.NOT_STARTED,
        "cannot run no-such-thing: there is no such program in the directories of its PATH",
    )


async def test_a_missing_file_is_named(place: Place, host: LocalHost) -> None:
    end = await run(host, place.argv("a", ("./nothing",)))
    assert (end.why, end.message) == (
        EndReason.NOT_STARTED,
        "cannot run ./nothing: no such file or directory",
    )


async def test_a_directory_that_is_gone_is_named(place: Place, host: LocalHost) -> None:
    end = await run(host, replace(place.argv("a", ("pwd",)), cwd="/gone"))
    assert (end.why, end.message) == (
        EndReason.NOT_STARTED,
        "cannot enter the directory /gone: no such file or directory",
    )


async def test_a_file_that_is_not_executable_is_named(place: Place, host: LocalHost) -> None:
    (place.root / "text").write_text("")
    end = await run(host, place.argv("a", ("./text",)))
    assert (end.why, end.message) == (EndReason.NOT_STARTED, "cannot run ./text: permission denied")


async def test_a_script_without_its_interpreter_says_so(place: Place, host: LocalHost) -> None:
    script = place.root / "script"
    script.write_text("#!/no/interpreter\n")
    script.chmod(0o755)
    end = await run(host, place.argv("a", ("./script",)))
    assert end.message == "cannot run ./script: the interpreter that its first line names does not exist"


async def test_an_argument_that_no_process_can_have_is_no_death_of_the_host(
    place: Place, host: LocalHost
) -> None:
    end = await run(host, place.argv("a", ("echo", "a\0b")))
    assert (end.why, end.message) == (EndReason.NOT_STARTED, "cannot run echo: embedded null byte")


async def test_a_job_without_a_program_is_no_death_of_the_host(place: Place, host: LocalHost) -> None:
    host.start(place.argv("a"))
    host.start(place.argv("b", ()))
    assert {end.message for end in (await ends(host, 2)).values()} == {"there is no program to run"}


async def test_that_a_later_command_cannot_be_started_is_reported_with_its_number(
    place: Place, host: LocalHost
) -> None:
    end = await run(host, place.argv("a", ("echo", "one"), ("no-such-thing",)))
    assert (end.why, end.command, end.exit_code, end.stdout) == (EndReason.NOT_STARTED, 1, None, "one\n")


async def test_a_job_may_have_all_the_time_in_the_world(place: Place, host: LocalHost) -> None:
    assert (
        await run(host, replace(place.shell("a", "exit 0"), timeout=float("inf")))
    ).why == EndReason.EXITED


READS_ANCESTORS = """
import os
pid = os.getppid()
while pid > 1:
    with open(f"/proc/{pid}/stat", "rb") as file:
        name, _, rest = file.read().rpartition(b")")
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            print(pid, file.read())
    except PermissionError:
        print(pid, "closed")
    if name.endswith(b"weft-reaper"):
        break
    pid = int(rest.split()[1])
"""


async def test_no_ancestor_of_a_job_shows_it_a_key_of_the_user(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:sk-secret@db")
    host = place.host(program=PROGRAM)
    await host.open()
    keys = {"OTHER_API_KEY": "sk-secret-of-another-job"}
    host.start(replace(place.shell("other", place.gate("other")), env=ENV | keys))
    await place.reached("other")
    host.start(place.argv("a", (sys.executable, "-c", READS_ANCESTORS)))
    end = await end_of(host, "a")
    place.release("other")
    await end_of(host, "other")
    assert end.stderr == ""
    assert end.stdout is not None
    assert len(end.stdout.splitlines()) == 2, "the supervisor and its reaper"
    assert "secret" not in end.stdout


READS_CHILD = """
import ctypes, os, sys
from weft.hosts.supervisor.spawn import become_subreaper
if os.geteuid() == 0:  # root reads everything
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # a change of the user makes a process as closed as a supervisor
reader, writer = os.pipe()
ended, end = os.pipe()
child = os.fork()
if not child:
    os.close(end)
    if sys.argv[1] == "supervisor":
        become_subreaper(b"weft-supervisor")
    os.write(writer, b".")
    os.read(ended, 1)
    os._exit(0)
os.read(reader, 1)
for name in ("environ", "mem"):
    try:
        os.close(os.open(f"/proc/{child}/{name}", os.O_RDONLY))
        print(name, "is open")
    except PermissionError:
        print(name, "is closed")
"""


@pytest.mark.parametrize(("kind", "state"), [("other", "open"), ("supervisor", "closed")])
def test_no_process_of_the_same_user_reads_the_memory_of_a_supervisor(kind: str, state: str) -> None:
    """Its memory holds the keys of all jobs."""
    command = [sys.executable, "-c", READS_CHILD, kind]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"environ is {state}\nmem is {state}\n"
