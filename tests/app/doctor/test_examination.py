"""The checks go on whatever becomes of one of them."""

import errno
from collections.abc import Iterable
from pathlib import Path
from threading import Event

import pytest

from weft.app.doctor.catalogue import CHECKS
from weft.app.doctor.context import DoctorContext
from weft.app.doctor.examination import doctor, examine
from weft.app.doctor.findings import Check, Finding, FindingState, fine, problem
from weft.errors import InputError, WeftError


def check(*findings: Finding, error: Exception | None = None, name: str = "one") -> Check:
    def look(_ground: DoctorContext) -> Iterable[Finding]:
        yield from findings
        if error is not None:
            raise error

    return Check(id=name, covers="", why="because", examine=look)


def test_ids_are_unique_and_everything_is_explained() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert all(check.why and check.covers and not check.why.endswith(".") for check in CHECKS)
    assert all(check.id.replace("-", "").islower() and check.id.isascii() for check in CHECKS)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (WeftError("it is so"), "cannot be checked: it is so"),
        (OSError(errno.EACCES, "Permission denied", "/x"), "cannot be checked: /x: Permission denied"),
        (OSError(errno.EACCES, "Permission denied"), "cannot be checked: Permission denied"),
        (KeyError("x"), "cannot be checked: KeyError: 'x'"),
    ],
)
def test_a_check_that_fails_is_unknown_and_the_others_are_made(
    tmp_path: Path, error: Exception, said: str
) -> None:
    bad = check(problem("found before"), error=error)
    seen: list[str] = []
    findings = examine(DoctorContext(tmp_path), [bad, check(name="two")], watch=seen.append)
    assert [(item.check.id, item.state, item.finding.found) for item in findings] == [
        ("one", FindingState.PROBLEM, "found before"),
        ("one", FindingState.UNKNOWN, said),
        ("two", FindingState.OK, ""),
    ]
    assert seen == ["one", "two"]


def test_a_check_that_takes_too_long_is_unknown(tmp_path: Path) -> None:
    gate, passed = Event(), Event()

    def look(_ground: DoctorContext) -> Iterable[Finding]:
        gate.wait()
        passed.set()
        return [fine()]

    slow = Check(id="slow", covers="", why="", examine=look)
    (messages,) = examine(DoctorContext(tmp_path), [slow], longest=0.01)
    gate.set()
    passed.wait()
    assert (messages.state, messages.finding.found) == (
        FindingState.UNKNOWN,
        "the check takes longer than 0.01 s",
    )


def test_what_is_shared_is_made_once(tmp_path: Path) -> None:
    ground, made = DoctorContext(tmp_path), list[DoctorContext]()

    def make(of: DoctorContext) -> int:
        made.append(of)
        return len(made)

    assert (ground.once(make), ground.once(make), made) == (1, 1, [ground])


def test_what_is_wrong_only_for_a_moment_is_not_reported(tmp_path: Path) -> None:
    looks: list[DoctorContext] = []

    def look(ground: DoctorContext) -> Iterable[Finding]:
        looks.append(ground)
        yield problem("always", subject="always")
        yield problem("it changes", subject=str(len(looks)))
        if len(looks) == 1:
            raise WeftError("a moment")

    passing = Check(id="passing", covers="", why="", examine=look)
    healed = iter([[problem("once", subject="once")], []])
    once = Check(id="once", covers="", why="", examine=lambda _ground: next(healed))
    messages = doctor(tmp_path, checks=[passing, once]).results
    assert [(check.check.id, check.state, check.finding.found) for check in messages] == [
        ("passing", FindingState.PROBLEM, "always"),
        ("once", FindingState.OK, ""),
    ]
    assert looks[0] is not looks[1]


class Disease:
    """Something that can be wrong, and fixed or not."""

    def __init__(self, *, fix_description: bool, error: Exception | None = None) -> None:
        self.is_there = True
        self._fixes = fix_description
        self._error = error

    def look(self, _ground: DoctorContext) -> Iterable[Finding]:
        if self.is_there:
            yield problem("it is there", subject="x", fix=self._fix)

    def _fix(self) -> None:
        if self._error is not None:
            raise self._error
        self.is_there = not self._fixes


@pytest.mark.parametrize(
    ("disease", "state", "tried"),
    [
        (Disease(fix_description=True), FindingState.FIXED, ""),
        (Disease(fix_description=False), FindingState.PROBLEM, ""),
        (Disease(fix_description=False, error=WeftError("no way")), FindingState.PROBLEM, "no way"),
        (Disease(fix_description=False, error=KeyError(1)), FindingState.PROBLEM, "KeyError: 1"),
    ],
)
def test_after_fixing_all_is_looked_at_again(
    tmp_path: Path, disease: Disease, state: FindingState, tried: str
) -> None:
    item = Check(id="one", covers="", why="", examine=disease.look)
    checks = [item, check(name="two")]
    before = doctor(tmp_path, checks=checks)
    assert [result.state for result in before.results] == [FindingState.PROBLEM, FindingState.OK]
    after = doctor(tmp_path, fix=True, checks=checks)
    assert [(messages.state, messages.tried) for messages in after.results] == [
        (state, tried),
        (FindingState.OK, ""),
    ]
    assert after.is_healthy is (state is FindingState.FIXED)


def test_what_cannot_be_looked_at_again_is_not_said_to_be_fixed(tmp_path: Path) -> None:
    disease = Disease(fix_description=True)

    def look(ground: DoctorContext) -> Iterable[Finding]:
        if not disease.is_there:
            raise WeftError("blind")
        return disease.look(ground)

    check = Check(id="one", covers="", why="", examine=look)
    report = doctor(tmp_path, fix=True, checks=[check])
    assert [result.state for result in report.results] == [FindingState.UNKNOWN]


def test_within_a_step_nothing_is_fixed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is refused inside a step"):
        doctor(tmp_path, fix=True, environ={"WEFT_RUN": "r", "WEFT_SUBPLAN": "a"})
    assert doctor(tmp_path, environ={"WEFT_RUN": "r", "PATH": ""}).results
