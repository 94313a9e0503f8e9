"""Reads the files of `gsd`: which of them belong to a milestone, and the contents of their markdown.

These files are read, anywhere below the given folder:

- `M001…/M001-ROADMAP.md` (or `ROADMAP.md`): a title `# M001: Title`, a vision and slices; see `gsd_roadmap`.
- `M001…/M001-CONTEXT.md` and the roadmap: front matter with `depends_on` (or `dependsOn`), a list of milestones.
- `…/slices/S01…/S01-PLAN.md` and, in its `tasks/`, `T01-PLAN.md`: text for the agent, with file names in
  `Files:` lines and under `## Files Likely Touched` or `## Expected Output`, and commands in `Verify:` lines and
  under `## Verification`, each a whole item between backquotes.
- `preferences.md` (front matter) or `preferences.yaml`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from weft.plan.convert.fields import Fields
from weft.plan.convert.notes import ConversionSource

_FOLDER = r"(?P<folder>(?:.*/)?M\d+[^/]*)/"
_PREFIX = r"(?:(?P<id>M\d+(?:-[a-z0-9]{6})?)-)?"
ROADMAP = re.compile(rf"{_FOLDER}{_PREFIX}ROADMAP\.md")
CONTEXT = re.compile(rf"{_FOLDER}{_PREFIX}CONTEXT(?:-DRAFT)?\.md")
SLICE_PLAN = re.compile(rf"{_FOLDER}slices/(?P<slice>S\d+)[^/]*/(?:S\d+-)?PLAN\.md")
TASK_PLAN = re.compile(rf"{_FOLDER}slices/(?P<slice>S\d+)[^/]*/tasks/(?:[^/]*-)?PLAN\.md")
PREFERENCES = re.compile(r"(?:.*/)?preferences\.(md|ya?ml)", re.IGNORECASE)

_ID = re.compile(r"M\d+(?:-[a-z0-9]{6}\Z)?")
_FENCE = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEADING = re.compile(r"#+\s+(?P<title>.*)")
_BOX = re.compile(r"\s*[-*]\s+\[(?P<mark>[ xX])\]\s+(?P<text>.*)")
_ITEM = re.compile(r"\s*[-*]\s+(?P<text>.*)")
_TASK = re.compile(r"\**(?P<id>T\d+)\b")
_LABELLED = re.compile(r"\s*(?:[-*]\s+)?\**(?P<label>Files|Verify)\**:\**\s*(?P<text>.*)", re.IGNORECASE)
_CODE = re.compile(r"`([^`]+)`")
_FILE_HEADINGS = ("files likely touched", "expected output")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLine:
    """A text with its line in a plan."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SlicePlan:
    """A plan of a slice or of a task."""

    source: ConversionSource
    text: str
    files: tuple[PlanLine, ...]
    commands: tuple[PlanLine, ...]
    unclear: tuple[PlanLine, ...]
    """Verifications that are not commands."""
    checked: tuple[PlanLine, ...]
    """Tasks that are checked off."""


def milestone_id(path: re.Match[str]) -> str:
    """Returns the id in the file's name, or the one that its folder's name starts with."""
    file_id = path.groupdict().get("id")
    folder = _ID.match(path["folder"].rpartition("/")[2])
    return file_id or ("" if folder is None else folder[0])


def front_matter(source: ConversionSource) -> Fields | None:
    """Returns the keys between the two lines `---` at the start of the file."""
    fenced = _FENCE.match(source.text)
    if fenced is None or not fenced[1].strip():
        return None
    # An empty line replaces the first fence, so that line numbers stay the same.
    inner = ConversionSource(file=source.file, text=f"\n{fenced[1]}", ledger=source.ledger)
    return Fields(inner.table(), inner)


def lines_of(source: ConversionSource) -> Iterator[tuple[int, str]]:
    """Yields the lines after the front matter, without comments, with their numbers in the file."""
    blanked = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), source.text)
    fenced = _FENCE.match(blanked)
    first = 0 if fenced is None else fenced[0].count("\n") + 1
    for number, line in enumerate(blanked.splitlines(), 1):
        if number > first:
            yield number, line


def _group(pattern: re.Pattern[str], line: str, name: str) -> str:
    match = pattern.match(line)
    return "" if match is None else match[name].strip()


def read_plan(source: ConversionSource) -> SlicePlan:
    files: list[PlanLine] = []
    commands: list[PlanLine] = []
    unclear: list[PlanLine] = []
    checked: list[PlanLine] = []
    heading = ""
    for number, line in lines_of(source):
        heading = _group(_HEADING, line, "title").lower() or heading
        label, text = _split_label(line, heading)
        if label == "files":
            files.extend(PlanLine(line=number, text=path) for path in _paths(text))
        elif label == "verify" and text:
            # Prose about a check is no command, so only a whole item in backquotes is run.
            command = _CODE.fullmatch(text)
            (unclear if command is None else commands).append(
                PlanLine(line=number, text=command[1] if command else text)
            )
        box = _BOX.match(line)
        task = None if box is None or box["mark"] == " " else _TASK.match(box["text"])
        if task is not None:
            checked.append(PlanLine(line=number, text=task["id"]))
    return SlicePlan(
        source=source,
        text="\n".join(line for _, line in lines_of(source)).strip(),
        files=tuple(files),
        commands=tuple(commands),
        unclear=tuple(unclear),
        checked=tuple(checked),
    )


def _split_label(line: str, heading: str) -> tuple[str, str]:
    """Returns what a line lists (`files`, `verify` or nothing), by its label or heading, and its text."""
    labelled = _LABELLED.match(line)
    if labelled is not None:
        return labelled["label"].lower(), labelled["text"].strip()
    text = _group(_ITEM, line, "text")
    if heading in _FILE_HEADINGS:
        return ("files", text)
    return ("verify", text) if heading == "verification" else ("", "")


def _paths(text: str) -> list[str]:
    """Returns the paths in a line: the texts in backquotes, or else between commas."""
    coded = _CODE.findall(text)
    candidates = coded or [part for part in re.split(r"[,\s]+", text) if "/" in part or "." in part]
    return [path.strip() for path in candidates]
