"""Reads the roadmap of a milestone of `gsd`: its title, its vision and its slices.

`gsd` has written slices in three formats over time, and reads all of them; so does this module, in this order:

- rows of a table below `## Slice Overview` (or another heading that starts with `Slice`), whose first row names
  the columns: `| ID | Slice | Risk | Depends | Done | After this |`;
- items with a box: ``- [ ] **S01: Title** `risk:low` `depends:[S00,S02..S04]` ``, where bold marks, backquotes and
  the colon (or a dash) are optional, with `> After this: text`, indented, below;
- headings of their own: `### S01 — Title`, with `- Depends: S00` and `- After this: text` among the lines below.

The vision is `**Vision:** text`, or the text below `## Vision`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from weft.plan.convert.notes import ConversionSource

_DASHES = "\u2014\u2013-"
_TITLE = re.compile(rf"#\s+(?:M[\w-]*|S\d+)\s*[:{_DASHES}]\s*(?P<title>.+)")
_VISION = re.compile(r"\*\*Vision:?\*\*:?\s*(?P<text>.+)")
_HEADING = re.compile(r"\s*#+\s+(?P<title>.*)")
_BOX = re.compile(r"\s*[-*]\s+\[(?P<mark>[ xX])\]\s+(?P<text>.*)")
_SLICE = re.compile(rf"\**(?P<id>S\d+)\**\s*[:.{_DASHES}]?\s*(?P<title>.*)")
_SLICE_HEADING = re.compile(
    rf"\**(?P<before>[\u2713\u2705]?)\s*(?:Slice\s+)?\[?(?P<id>S\d+)\b(?!\W*[>\u2192])\]?\**\s*[:.{_DASHES}]*\s*"
    r"(?P<title>.*?)\**"
)
_DEPENDS = re.compile(r"`?\(?depends(?: on)?\s*:\s*\[?(?P<ids>[^\]`)]*)\]?\)?`?", re.IGNORECASE)
_RISK = re.compile(r"`?risk\s*:\s*\w+`?", re.IGNORECASE)
_SHOWS = re.compile(r"\s+(?:>|-)\s*(?:After this:\s*)?(?P<text>.+)", re.IGNORECASE)
_RANGE = re.compile(r"S(\d+)\s*(?:-|\u2013|\.\.)\s*S(\d+)", re.IGNORECASE)
_LABEL = re.compile(
    r"\s*(?:[-*>]\s+)?\**(?P<label>Depends(?: on)?|After this|Risk|Done|Status)\**:\**\s*(?P<text>.*)",
    re.IGNORECASE,
)
_CELL_END = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*")
_REMARK = re.compile(r"\([^)]*\)")
_DONE = re.compile(r"(?:\[x\]|[\u2705\u2611\u2713\u2714]|done|complete[d]?|yes|true|x)\W*", re.IGNORECASE)
_DONE_AT_THE_END = re.compile(r"\s*(?:[\u2713\u2705]|\(complete[d]?\))\s*$", re.IGNORECASE)
_NOTHING = frozenset({"", "none", "tbd", "n/a", *_DASHES})

_COLUMNS = {
    "id": ("id",),
    "title": ("slice", "title", "name"),
    "depends": ("depends", "depends on", "deps", "dependencies"),
    "done": ("done", "status"),
    "shows": ("after this", "demo"),
}
_ITEM = "``- [ ] **S01: Title** `depends:[]` ``"
_FORMATS = (
    f"a row such as `| S01 | Title | low | \u2014 | \u2b1c | text |` below `## Slice Overview`, or {_ITEM}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A slice of a roadmap."""

    id: str
    line: int
    title: str
    shows: str = ""
    """What can be shown when it is done."""
    text: str = ""
    """Further text of the roadmap about it."""
    needs: tuple[str, ...] = ()
    done: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Roadmap:
    """The roadmap of a milestone."""

    source: ConversionSource
    title: str
    vision: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoadmapLine:
    """A line of a roadmap."""

    number: int
    text: str
    heading: str = ""
    """The nearest heading above, in lower case."""

    @property
    def below_slices(self) -> bool:
        return self.heading.startswith("slice")


def read_roadmap(source: ConversionSource, numbered: Iterable[tuple[int, str]]) -> Roadmap:
    """Returns the roadmap in these lines of a file; a roadmap without slices is a fault."""
    lines = list(_with_headings(numbered))
    # The newest format comes first; a roadmap uses one of them.
    slices = _rows(lines, source) or _boxes(lines, source) or _headings(lines, source)
    if not slices:
        source.fault(1, f"no slice was found; write {_FORMATS}")
    return Roadmap(source=source, title=_title(lines), vision=_vision(lines), slices=tuple(slices))


def _with_headings(numbered: Iterable[tuple[int, str]]) -> Iterator[RoadmapLine]:
    heading = ""
    for number, text in numbered:
        heading = _group(_HEADING, text, "title").lower() or heading
        yield RoadmapLine(number=number, text=text, heading=heading)


def _title(lines: Sequence[RoadmapLine]) -> str:
    title = next(filter(None, (_group(_TITLE, line.text, "title") for line in lines)), "")
    return _DONE_AT_THE_END.sub("", title)


def _vision(lines: Sequence[RoadmapLine]) -> str:
    stated = next(filter(None, (_group(_VISION, line.text, "text") for line in lines)), "")
    below = (
        line.text.strip() for line in lines if line.heading == "vision" and not _HEADING.match(line.text)
    )
    return stated or " ".join(filter(None, below))


def _group(pattern: re.Pattern[str], line: str, name: str) -> str:
    match = pattern.match(line)
    return "" if match is None else match[name].strip()


# --- rows of a table ---


def _rows(lines: Sequence[RoadmapLine], source: ConversionSource) -> list[Slice]:
    slices: list[Slice] = []
    columns: dict[str, int] = {}
    for line in lines:
        if not line.below_slices or "|" not in line.text:
            columns = {}
        elif not columns:
            columns = _columns(_cells(line.text))
        elif not _RULE.fullmatch(line.text):
            slices += _row(line, columns, source)
    return slices


def _cells(text: str) -> list[str]:
    inner = text.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(inner)]


def _columns(cells: Sequence[str]) -> dict[str, int]:
    """Returns the position of each column, by the first row; none if it has no column of ids."""
    names = [cell.strip("*` ").lower() for cell in cells]
    positions = {
        key: [names.index(name) for name in labels if name in names] for key, labels in _COLUMNS.items()
    }
    return {key: position[0] for key, position in positions.items() if position} if positions["id"] else {}


def _row(line: RoadmapLine, columns: dict[str, int], source: ConversionSource) -> Iterator[Slice]:
    cells = _cells(line.text)
    stated = {key: cells[column] if column < len(cells) else "" for key, column in columns.items()}
    id_ = _SLICE.fullmatch(stated["id"].strip("`[] "))
    if id_ is None:
        source.fault(line.number, f"the id of this slice is {stated['id']!r}; one such as S01 is needed")
        return
    yield Slice(
        id=id_["id"],
        line=line.number,
        title=stated.get("title", "").strip("* ") or id_["title"].strip(),
        shows=_shown_result(stated.get("shows", "")),
        needs=_needs(stated.get("depends", ""), line, source),
        done=_DONE.fullmatch(stated.get("done", "")) is not None,
    )


def _needs(text: str, line: RoadmapLine, source: ConversionSource) -> tuple[str, ...]:
    """Returns the slices that a cell or a line names; a text that names none is a fault, as it could mean any."""
    stated = _REMARK.sub("", text).strip("[]`*. ")
    needs = tuple(expand_ids(stated))
    for need in needs:
        if not re.fullmatch(r"S\d+", need):
            source.fault(line.number, f"it depends on {text!r}; slices such as `S01, S02` are needed")
            return ()
    return needs


def _shown_result(text: str) -> str:
    shows = re.sub(r"^(?:After this:\s*)+", "", text.strip(), flags=re.IGNORECASE)
    return "" if shows.lower() in _NOTHING else shows


# --- items with a box ---


def _boxes(lines: Sequence[RoadmapLine], source: ConversionSource) -> list[Slice]:
    slices: list[Slice] = []
    for line in lines:
        box = _BOX.match(line.text)
        if box is not None:
            slices += _slice_of_checkbox(box, line, source)
        elif slices and not slices[-1].shows and line.below_slices:
            slices[-1] = replace(slices[-1], shows=_group(_SHOWS, line.text, "text"))
    return slices


def _slice_of_checkbox(box: re.Match[str], line: RoadmapLine, source: ConversionSource) -> Iterator[Slice]:
    match = _SLICE.match(box["text"])
    if match is not None:
        depends = _DEPENDS.search(match["title"])
        yield Slice(
            id=match["id"],
            line=line.number,
            title=_RISK.sub("", _DEPENDS.sub("", match["title"])).replace("**", "").strip(),
            needs=() if depends is None else tuple(expand_ids(depends["ids"])),
            done=box["mark"] != " ",
        )
    elif line.below_slices:
        source.fault(line.number, f"this is not a slice; write {_ITEM}")


def expand_ids(ids: str) -> Iterator[str]:
    """Yields the ids of `S01, S03..S05`; `none` and dashes are not ids."""
    for part in filter(None, (part.strip(" '\"") for part in re.split(r"[,;]", ids))):
        span = _RANGE.fullmatch(part)
        if span is not None:
            width = len(span[1])
            yield from (f"S{number:0{width}}" for number in range(int(span[1]), int(span[2]) + 1))
        elif part.lower() not in _NOTHING:
            yield part.upper()


# --- headings of their own ---


def _headings(lines: Sequence[RoadmapLine], source: ConversionSource) -> list[Slice]:
    slices: list[Slice] = []
    inside = False
    for line in lines:
        heading = _HEADING.match(line.text)
        if heading is not None:
            match = _SLICE_HEADING.fullmatch(heading["title"].strip())
            inside = match is not None
            if match is not None:
                slices.append(_slice_of_heading(match, line))
        elif inside:
            slices[-1] = _with_line(slices[-1], line, source)
    return [replace(entry, text=entry.text.strip()) for entry in slices]


def _slice_of_heading(match: re.Match[str], line: RoadmapLine) -> Slice:
    title = match["title"].strip()
    done = match["before"] or _DONE_AT_THE_END.search(title) or title[:1] in {"\u2713", "\u2705"}
    title = _DONE_AT_THE_END.sub("", title).lstrip("\u2713\u2705 ")
    return Slice(id=match["id"], line=line.number, title=title, done=bool(done))


def _with_line(slice_: Slice, line: RoadmapLine, source: ConversionSource) -> Slice:
    label = _LABEL.fullmatch(line.text)
    if label is None:
        return replace(slice_, text=f"{slice_.text}\n{line.text}")
    match label["label"].lower():
        case "depends" | "depends on":
            return replace(slice_, needs=_needs(label["text"], line, source))
        case "after this":
            return replace(slice_, shows=_shown_result(label["text"]))
        case "done" | "status":
            return replace(slice_, done=_DONE.fullmatch(label["text"].strip()) is not None)
        case _:
            return slice_
