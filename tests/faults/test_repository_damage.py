"""Refs and objects that a power loss has damaged: the run continues, or what it says to type helps."""

import re
import subprocess
from pathlib import Path

import pytest

from faults.worktree_damage import BUG, Place

WAITS = 4
"""The exit code of a run whose results wait for a person, as the plan wants it."""
OURS = (
    "refs/heads/weft/tried/a",
    "refs/weft/start/tried/a",
    "refs/weft/tip/tried/a",
    "refs/weft/told/tried/a",
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("sound") / "project").make()


@pytest.fixture
def place(original: Place, tmp_path: Path) -> Place:
    copy = original.copied_to(tmp_path / "project")
    copy.gate.touch()
    return copy


def require_no_bug(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode != BUG, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("content", [b"", b"\0" * 41], ids=["empty", "zeros"])
@pytest.mark.parametrize("ref", OURS)
def test_a_damaged_ref_of_ours_is_made_again(place: Place, ref: str, content: bytes) -> None:
    commit = place.git("rev-parse", "refs/heads/weft/tried/a")
    file = place.root / ".git" / ref
    if not file.exists():
        pytest.skip("the plan has no such note at this time")
    file.write_bytes(content)
    done = place.weft("run")
    require_no_bug(done)
    assert done.returncode == WAITS, done.stdout + done.stderr
    assert commit in place.reachable()
    assert f"the ref {ref} was damaged" in done.stdout + done.stderr


def typed(place: Place, message: str) -> None:
    """Does what a message says after its last `type: `."""
    command = re.findall(r"type: (.+?)(?: \(|$)", message.strip(), re.MULTILINE)[-1]
    if command.startswith("weft "):
        require_no_bug(place.weft(*command.split()[1:]))
        return
    done = subprocess.run(
        ["sh", "-c", command], cwd=place.root, env=place.env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (command, done.stderr)


def joined(done: subprocess.CompletedProcess[str]) -> str:
    """What was said, with the line breaks of the screen removed."""
    return " ".join((done.stdout + done.stderr).split())


def test_what_is_said_about_a_damaged_branch_of_the_user_helps(place: Place) -> None:
    commit = place.git("rev-parse", "main")
    (place.root / ".git" / "refs" / "heads" / "main").write_bytes(b"")
    done = place.weft("run")
    require_no_bug(done)
    typed(place, joined(done))
    assert place.git("rev-parse", "main") == commit
    assert place.weft("run").returncode == WAITS


@pytest.mark.parametrize("damage", [b"garbage\n", b"\0\0\0\0"], ids=["a line", "zeros"])
def test_what_is_said_about_damaged_packed_refs_helps(place: Place, damage: bytes) -> None:
    place.git("pack-refs", "--all")
    before = place.git("for-each-ref")
    packed = place.root / ".git" / "packed-refs"
    packed.write_bytes(packed.read_bytes() + damage)
    done = place.weft("run")
    require_no_bug(done)
    typed(place, joined(done))
    assert place.git("for-each-ref") == before
    assert (place.root / ".git" / "weft" / "damaged" / "packed-refs").read_bytes().endswith(damage)
    assert place.weft("run").returncode == WAITS


def test_a_branch_whose_line_of_packed_refs_is_lost_comes_back_from_its_log(place: Place) -> None:
    commit = place.git("rev-parse", "main")
    place.git("pack-refs", "--all")
    packed = place.root / ".git" / "packed-refs"
    packed.write_bytes(packed.read_bytes().replace(b" refs/heads/main\n", b"\0" * 17))
    require_no_bug(place.weft("doctor"))
    require_no_bug(place.weft("doctor", "--fix"))
    assert place.git("rev-parse", "main") == commit


def test_an_empty_object_is_removed_and_the_branch_goes_back_to_what_is_whole(place: Place) -> None:
    tip = place.git("rev-parse", "refs/heads/weft/tried/a")
    file = place.root / ".git" / "objects" / tip[:2] / tip[2:]
    file.chmod(0o644)
    file.write_bytes(b"")
    done = place.weft("run")
    require_no_bug(done)
    report = place.weft("doctor")
    require_no_bug(report)
    assert f"the repository has an object without contents: {file}" in joined(report)
    require_no_bug(place.weft("doctor", "--fix"))
    assert not file.exists()
    again = place.weft("run")
    require_no_bug(again)
    assert again.returncode == WAITS, again.stdout + again.stderr
