"""How `weft clean` tells what it removed and what it kept."""

from collections.abc import Iterator

from weft.app.clean.clean import CleanResult

_NOTED = frozenset({"note", "kept"})
"""What nobody but Weft knows by name is only counted."""


def cleaned_lines(cleaned: CleanResult, *, dry_run: bool) -> Iterator[str]:
    """A line for each worktree, branch, and reason why something is kept."""
    verb = "would remove" if dry_run else "removed"
    for one in cleaned.removed:
        if one.kind not in _NOTED:
            at = f" (at {one.commit[:12]})" if one.commit else ""
            yield f"{verb} the {one.kind} {one.name}{at}"
    noted = sum(one.kind in _NOTED for one in cleaned.removed)
    if noted:
        yield f"{verb} {'1 private ref' if noted == 1 else f'{noted:,} private refs'} of {cleaned.plan}"
    for stays in cleaned.kept:
        command = f"; type: {stays.command}" if stays.command else ""
        yield f"kept {_name(cleaned.plan, stays.name)}: {stays.message}{command}"


def _name(plan: str, subplan: str) -> str:
    return f"{plan}: {subplan}" if subplan else plan


def cleaned_data(cleaned: CleanResult) -> dict[str, object]:
    return {
        "plan": cleaned.plan,
        "run": cleaned.run,
        "target": cleaned.target,
        "removed": [{"kind": one.kind, "name": one.name, "commit": one.commit} for one in cleaned.removed],
        "kept": [
            {
                "subplan": one.name or None,
                "why": one.why.value,
                "message": one.message,
                "command": one.command or None,
                "commits": one.commits,
                "files": list(one.files),
            }
            for one in cleaned.kept
        ],
    }
