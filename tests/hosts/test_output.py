"""What a job writes is kept within bounds, and never holds up anybody."""

import anyio
import pytest
from msgspec.structs import replace

from contracts.host_contract import end_of, ends
from hosts.places import Place, proc
from weft.ports.host import EndReason

pytestmark = pytest.mark.anyio

PRINTS = "i=0; while [ $i -lt {n} ]; do echo $i; i=$((i+1)); done"


async def test_a_short_output_is_reported_and_in_a_file(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", "echo out; echo err >&2"))
    end = await end_of(host, "a")
    assert (end.stdout, end.stderr, end.stdout_bytes, end.stderr_bytes) == ("out\n", "err\n", 4, 4)
    assert (place.root / "a.out").read_text() == "out\n"
    assert (place.root / "a.err").read_text() == "err\n"
    await host.close()


async def test_a_silent_job_leaves_no_files(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", "exit 0"))
    await end_of(host, "a")
    assert sorted(path.name for path in place.root.iterdir()) == ["host"]
    await host.close()


async def test_what_is_no_text_is_reported_with_signs_for_it(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", r"printf 'a\377b'"))
    assert (await end_of(host, "a")).stdout == "a�b"
    assert (place.root / "a.out").read_bytes() == b"a\xffb"
    await host.close()


async def test_output_is_in_its_file_while_the_job_runs(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", f"echo early; {place.gate('a')}"))
    host.start(place.shell("b", f"until [ -s {place.root}/a.out ]; do sleep 0.01; done"))
    await end_of(host, "b")
    assert (place.root / "a.out").read_text() == "early\n"
    await place.reached("a")
    place.release("a")
    await end_of(host, "a")
    await host.close()


@pytest.mark.parametrize(("count", "told"), [(4096, True), (4097, False)])
async def test_longer_output_is_in_its_file_only(place: Place, count: int, told: bool) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", f"head -c {count} /dev/zero"))
    end = await end_of(host, "a")
    assert (end.stdout is not None, end.stdout_bytes) == (told, count)
    assert (place.root / "a.out").stat().st_size == count
    await host.close()


async def test_of_what_is_too_long_the_beginning_and_the_end_are_kept(place: Place) -> None:
    host = place.host(head=10_000, tail=1000)
    await host.open()
    host.start(place.shell("a", PRINTS.format(n=20_000)))
    end = await end_of(host, "a")
    whole = "".join(f"{number}\n" for number in range(20_000))
    assert (end.stdout, end.stdout_bytes) == (None, len(whole))
    assert (place.root / "a.out").read_text() == whole[:10_000]
    assert (place.root / "a.out.tail").read_text() == whole[-1000:]
    await host.close()


async def test_a_job_that_prints_without_end_blocks_no_other_and_fills_no_disk(place: Place) -> None:
    host = place.host(head=1 << 20, tail=1 << 16)
    await host.open()
    host.start(place.shell("a", "exec cat /dev/zero", grace=0.0))
    host.start(place.shell("b", f"until [ -e {place.root}/a.out.tail ]; do sleep 0.01; done"))
    assert (await end_of(host, "b")).exit_code == 0
    host.stop("a")
    end = await end_of(host, "a")
    assert (end.why, end.signal) == (EndReason.STOPPED, 9)
    assert end.stdout_bytes > 1 << 20
    assert (place.root / "a.out").stat().st_size == 1 << 20
    assert (place.root / "a.out.tail").stat().st_size == 1 << 16
    await host.close()


async def test_three_hundred_megabytes_take_no_memory(place: Place) -> None:
    host = place.host(head=1 << 20, tail=1 << 20)
    await host.open()
    host.start(place.shell("a", "head -c 300000000 /dev/zero"))
    end = await end_of(host, "a")
    assert (end.exit_code, end.stdout_bytes) == (0, 300_000_000)
    (supervisor,) = place.supervisors()
    peak = next(line for line in proc(supervisor, "status").splitlines() if line.startswith(b"VmHWM"))
    assert int(peak.split()[1]) < 100_000
    await host.close()


async def test_an_output_that_cannot_be_stored_does_not_end_a_job_and_its_end_says_so(place: Place) -> None:
    host = place.host()
    await host.open()
    await anyio.Path(place.root / "a.out").mkdir()
    host.start(place.shell("a", "echo one; echo two; exit 3"))
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.stdout) == (EndReason.EXITED, 3, "one\ntwo\n")
    assert end.message == f"cannot write {place.root}/a.out: is a directory"
    assert (place.root / "a.out.tail").read_text() == "one\ntwo\n"
    await host.close()


@pytest.mark.parametrize("ending", [".out", ".err", ".out.tail"])
async def test_a_link_in_place_of_an_output_is_replaced_and_not_followed(place: Place, ending: str) -> None:
    secret = place.root / "secret"
    await anyio.Path(secret).write_text("a key of the user")
    await anyio.Path(place.root / f"a{ending}").symlink_to(secret)
    host = place.host(head=4, tail=4)
    await host.open()
    host.start(place.shell("a", "echo much more; echo much more >&2"))
    end = await end_of(host, "a")
    assert (end.exit_code, end.message) == (0, "")
    assert secret.read_text() == "a key of the user"
    assert (place.root / f"a{ending}").read_text() == {".out.tail": "ore\n"}.get(ending, "much")
    await host.close()


async def test_a_link_in_place_of_a_directory_of_outputs_is_refused(place: Place) -> None:
    """As `.weft/runs/RUN/logs`, which every step without a sandbox can replace."""
    (place.root / ".weft/runs/r").mkdir(parents=True)
    (place.root / "outside").mkdir()
    (place.root / ".weft/runs/r/logs").symlink_to(place.root / "outside")
    host = place.host()
    await host.open()
    host.start(replace(place.shell("a", "echo text"), output=".weft/runs/r/logs/a"))
    end = await end_of(host, "a")
    assert (end.exit_code, end.stdout) == (0, "text\n")
    assert end.message.endswith("/.weft/runs/r/logs/a.out: is a symbolic link, not a directory")
    assert [*(place.root / "outside").iterdir()] == []
    await host.close()


async def test_the_directory_of_an_output_is_made_when_something_is_written(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(replace(place.shell("a", "true"), output="quiet/a"))
    host.start(replace(place.shell("b", "echo one"), output="new/deep/b"))
    assert {end.message for end in (await ends(host, 2)).values()} == {""}
    assert (place.root / "new" / "deep" / "b.out").read_text() == "one\n"
    assert not (place.root / "quiet").exists()
    await host.close()


async def test_an_output_that_has_no_place_is_reported_nevertheless(place: Place) -> None:
    host = place.host()
    await host.open()
    await anyio.Path(place.root / "file").touch()
    host.start(replace(place.shell("a", "echo one"), output="file/a"))
    end = await end_of(host, "a")
    assert (end.why, end.exit_code, end.stdout) == (EndReason.EXITED, 0, "one\n")
    assert end.message == f"cannot write {place.root}/file/a.out: not a directory"
    await host.close()


async def test_a_job_may_close_its_outputs(place: Place) -> None:
    host = place.host()
    await host.open()
    host.start(place.shell("a", f"echo last; exec >&- 2>&-; {place.gate('a')}"))
    await place.reached("a")
    place.release("a")
    assert (await end_of(host, "a")).stdout == "last\n"
    await host.close()
