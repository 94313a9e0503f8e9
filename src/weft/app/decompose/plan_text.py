"""A tree of parts as the text of a plan, for a person to read and change."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from weft.app.decompose.part_checks import PartChecks
from weft.app.decompose.part_prompts import Prompts
from weft.app.init.survey import ProjectSurvey
from weft.app.init.templates import plan_id
from weft.decompose.model import Part, Risk
from weft.decompose.paths import folder_of
from weft.decompose.words import risk_lines
from weft.plan.text.emit import Path, Plain, to_yaml

_ASSUMED = "claude"
_RISKS_SHOWN = 3
_TOO_LARGE = "Larger than one agent should take, but there is no basis for splitting it."
_HEAD = """\
A proposal for {files:,} files, based on their references and on what changed together, not on the goal:
read it, and change what you know better.
  weft check   checks it; shows what runs at once and what it may cost
  weft run     runs it"""
_VERIFY = "Must pass on the merged result. A slice that can be tested alone may have a `verify` of its own."
_VERIFY_OF_PARTS = "Must pass on the merged result. The `verify` of a slice runs the tests in it."
_NO_CHECKS = PartChecks()
_NOT_IN_PATTERNS = re.compile(r"[\\\ud800-\udfff]")
_WILDCARD = re.compile(r"([*?[])")


def plan_text(
    whole: Part,
    *,
    name: str,
    goal: str,
    found: ProjectSurvey,
    beside: Iterable[str] = (),
    checks: PartChecks = _NO_CHECKS,
) -> str:
    """Returns the plan. It names a folder if one part has all of it and no file of `beside` is in it."""
    subplans = _Subplans(owners=_owners(whole, beside), prompts=Prompts(whole), checks=checks)
    data: dict[str, Plain] = {"weft": 1, "plan": plan_id(name), "goal": goal}
    # `setup` runs in new worktrees, which exist only in a repository.
    if found.setup and found.git.is_repository:
        data["setup"] = found.setup
    if found.tests:
        data["verify"] = found.tests[0].command
    agent = found.agents[0].name if found.agents else _ASSUMED
    data |= {"agent": "coder", "agents": {"coder": {"use": agent}}}
    if whole.parts:
        data["subplans"] = [subplans.entry(part, f"/{part.id}") for part in whole.parts]
    else:
        data["subplans"] = [subplans.entry(whole, "")]
    return to_yaml(data, comments=dict(_comments(whole, found, checks)))


class _Subplans(Struct, frozen=True, kw_only=True):
    owners: dict[str, str]
    prompts: Prompts
    checks: PartChecks

    def entry(self, part: Part, path: str) -> dict[str, Plain]:
        entry: dict[str, Plain] = {"id": part.id or "everything", "title": part.title}
        if part.depends_on:
            entry["depends_on"] = list(part.depends_on)
        if not part.parts:
            entry["prompt"] = self.prompts.prompt(path)
            entry["files"] = list(_patterns(part.files, self.owners))
        for_part = self.checks.for_group if part.parts else self.checks.for_part
        if verify := for_part(part.files):
            entry["verify"] = verify
        if part.parts:
            entry["subplans"] = [self.entry(child, f"{path}/{child.id}") for child in part.parts]
        return entry


# Files


def _owners(whole: Part, beside: Iterable[str]) -> dict[str, str]:
    """Returns, for each folder, the first file of the leaf that has all of it; empty if no leaf has."""
    owners = dict[str, str]()
    for path in beside:
        folder = folder_of(path)
        while folder and folder not in owners:
            owners[folder] = ""
            folder = folder_of(folder)
    for leaf in whole.leaves():
        for path in leaf.files:
            folder = folder_of(path)
            # Claims the folders upwards until one belongs to another leaf; from there on, up to the top, none has
            # a single owner.
            while folder and owners.get(folder, leaf.files[0]) == leaf.files[0]:
                owners[folder] = leaf.files[0]
                folder = folder_of(folder)
            while folder and owners[folder]:
                owners[folder] = ""
                folder = folder_of(folder)
    return owners


def _patterns(files: Sequence[str], owners: dict[str, str]) -> Iterator[str]:
    """Yields each file, or the topmost folder around it that belongs to the part as a whole."""
    written = set[str]()
    for path in files:
        folder, top = folder_of(path), ""
        while folder:
            top = folder if owners.get(folder) == files[0] else top
            folder = folder_of(folder)
        pattern = f"{_escape_pattern(top)}/**" if top else _escape_pattern(path)
        if pattern not in written:
            written.add(pattern)
            yield pattern


def _escape_pattern(path: str) -> str:
    """Returns the path as a pattern. Characters that patterns cannot express become `?`."""
    return _NOT_IN_PATTERNS.sub("?", _WILDCARD.sub(r"[\1]", path))


# Comments for the user


def _comments(whole: Part, found: ProjectSurvey, checks: PartChecks) -> Iterator[tuple[Path, str]]:
    yield (), _HEAD.format(files=len(whole.files))
    if not found.agents:
        yield ("agents", "coder"), "None was found on this machine."
    if found.tests:
        yield ("verify",), _VERIFY_OF_PARTS if checks.command else _VERIFY
    else:
        yield (
            ("agent",),
            "No command was found that tests the project.\n`verify: COMMAND` names one that must pass in the end.",
        )
    if whole.parts:
        yield from _about(whole, ())
    elif whole.too_large:
        yield ("subplans", 0), _TOO_LARGE


def _about(part: Part, path: Path) -> Iterator[tuple[Path, str]]:
    """Yields the comments on a part; risks stand at the start of the parts that they concern."""
    if part.too_large:
        yield path, _TOO_LARGE
    if part.risks:
        yield (*path, "subplans"), "\n".join(_risks(part.risks))
    for number, one in enumerate(part.parts):
        yield from _about(one, (*path, "subplans", number))


def _risks(risks: Sequence[Risk]) -> Iterator[str]:
    """Yields the most important risks as lines."""
    yield from risk_lines(risks, most=_RISKS_SHOWN)
    if len(risks) > _RISKS_SHOWN:
        yield f"So do {len(risks) - _RISKS_SHOWN} more pairs; `weft decompose --json` lists all."
