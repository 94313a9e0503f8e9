"""The zip file that runs on other machines."""

import ast
import hashlib
import io
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import anyio
import pytest

from hosts.far.boxes import PROGRAMS, Box, Watcher, session_of
from weft.hosts.carriers.bootstrap import FarPlace
from weft.hosts.far_program import far_program
from weft.ports.machines import FarError, FarProgram
from weft.terms import MachineState

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_it_has_the_same_bytes_each_time() -> None:
    script = "from weft.hosts.far_program import far_program; print(far_program().digest)"
    answers = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
        for _ in range(2)
    }
    assert answers == {f"{far_program().digest}\n".encode()}


def test_it_imports_the_standard_library_and_itself_alone() -> None:
    with zipfile.ZipFile(io.BytesIO(far_program().content)) as archive:
        modules = {
            name.removesuffix(".py").replace("/", "."): archive.read(name) for name in archive.namelist()
        }
    own = {*modules, *(name.removesuffix(".__init__") for name in modules)}
    needed = {name for module, text in modules.items() for name in _imports(module, text)}
    missing = {name for name in needed if name.partition(".")[0] == "weft" and not _is_there(name, own)}
    strangers = {name for name in needed if name.partition(".")[0] not in {*sys.stdlib_module_names, "weft"}}
    assert (missing, strangers - {"anyio"}) == (set(), set())  # `threads` imports it for commands with a loop


def _is_there(name: str, modules: set[str]) -> bool:
    return name in modules or name.rpartition(".")[0] in modules


def _imports(module: str, text: bytes) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = module.rpartition(".")[0] if node.level else ""
            source = ".".join(filter(None, [base, node.module]))
            names |= (
                {f"{source}.{alias.name}" for alias in node.names}
                if node.level and not node.module
                else {source}
            )
    return names


async def test_it_is_copied_once_and_is_its_owner_s_alone(box: Box, watcher: Watcher) -> None:
    for times in (1, 2):
        session = session_of(box.carrier(), watcher)
        session.start()
        await watcher.connected(times)
        await session.close()
    (file,) = (box.directory / "far").iterdir()
    assert file.read_bytes() == far_program().content
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (box.directory, file.parent)} == {0o700}


async def test_two_coordinators_may_copy_it_at_once(box: Box, watcher: Watcher) -> None:
    sessions = [session_of(box.carrier(), watcher, run=f"run-{number}") for number in range(4)]
    for session in sessions:
        session.start()
    await watcher.connected(4)
    for session in sessions:
        await session.close()
    assert [file.name for file in (box.directory / "far").iterdir()] == [f"{far_program().digest}.pyz"]


async def test_a_damaged_copy_is_replaced(box: Box, watcher: Watcher) -> None:
    folder = box.directory / "far"
    folder.mkdir(parents=True)
    (folder / f"{far_program().digest}.pyz").write_bytes(b"cut sho")
    session = session_of(box.carrier(), watcher)
    session.start()
    await watcher.connected(1)
    await session.close()


async def _refusal(box: Box, place: FarPlace) -> str:
    with pytest.raises(FarError) as refusal:
        await box.carrier(place=place).connect("big3", far_program(), ("serve", "run-1"))
    return str(refusal.value)


async def test_a_machine_without_python_is_refused(box: Box) -> None:
    message = await _refusal(box, FarPlace(host="farm", python="python9"))
    assert message == (
        "there is no python9 on big3; install Python 3.11 or later, or name one in hosts.farm.python"
    )


async def test_an_old_python_is_refused(box: Box, tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    # The real interpreter, which is made to believe that it is an old one.
    believing = f'exec {sys.executable} -I -S -c "import sys; sys.version_info = (3, 9, 2); $script" "$@"'
    old.write_text(f"#!/bin/sh\nshift 5\nscript=$1; shift\n{believing}\n")
    old.chmod(0o755)
    message = await _refusal(box, FarPlace(host="farm", python=str(old)))
    assert message == f"{old} on big3 is 3.9.2; Weft needs 3.11 or later: name one in hosts.farm.python"


async def test_a_directory_that_cannot_be_made_is_refused(box: Box) -> None:
    (box.home / "file").touch()
    message = await _refusal(
        box, FarPlace(host="farm", python=sys.executable, directory=str(box.home / "file"))
    )
    assert message.startswith(f"cannot store the far program on big3: {box.home}/file")
    assert message.endswith("or name another directory in hosts.farm.directory")


async def test_a_directory_that_others_can_write_to_is_refused(box: Box) -> None:
    (box.directory / "far").mkdir(parents=True)
    (box.directory / "far").chmod(0o777)
    assert "can be written to by others" in await _refusal(box, box.place)


async def test_a_shell_may_print_what_it_likes_first(tmp_path: Path, watcher: Watcher) -> None:
    box = Box(tmp_path)
    noisy = tmp_path / "noisy"
    noisy.write_text('#!/bin/sh\necho "Welcome to big3!"; printf "no end of line"\nexec "$@"\n')
    noisy.chmod(0o755)
    session = session_of(box.carrier(str(noisy)), watcher)
    session.start()
    await watcher.connected(1)
    await session.close()


async def test_a_machine_that_prints_without_end_is_refused(box: Box) -> None:
    flood = box.home / "sh"
    flood.write_text("#!/bin/sh\nexec yes\n")
    flood.chmod(0o755)
    other = Box(box.home, PATH=f"{box.home}:{PROGRAMS}")
    with pytest.raises(FarError, match="is not the far program"):
        await other.carrier().connect("big3", far_program(), ("serve", "run-1"))


async def test_a_far_program_of_another_protocol_is_refused(box: Box) -> None:
    text = far_program().content.replace(b"PROTOCOL = 1\n", b"PROTOCOL = 2\n")
    with zipfile.ZipFile(io.BytesIO(far_program().content)) as archive:
        files = {
            name: archive.read(name).replace(b"PROTOCOL = 1\n", b"PROTOCOL = 2\n")
            for name in archive.namelist()
        }
    assert text != far_program().content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()[:32]
    with pytest.raises(FarError, match=r"big3 runs another far program \(protocol 2, "):
        await box.carrier().connect("big3", FarProgram(buffer.getvalue(), digest), ("serve", "run-1"))


async def test_a_command_that_does_not_exist_leaves_the_machine_unreachable(
    box: Box, watcher: Watcher
) -> None:
    session = session_of(box.carrier("no-such-program"), watcher)
    session.start()
    await watcher.state(MachineState.UNREACHABLE)
    assert session.message.startswith("cannot run no-such-program: ")
    await session.close()


async def test_the_far_program_ends_with_its_coordinator(box: Box, watcher: Watcher) -> None:
    session = session_of(box.carrier(), watcher)
    session.start()
    await watcher.connected(1)
    assert len(box.far_programs("run-1")) == 1
    await session.close()
    with anyio.fail_after(60):
        while box.far_programs("run-1"):  # noqa: ASYNC110 - no event tells it
            await anyio.sleep(0.01)
