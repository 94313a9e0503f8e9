"""Output of `weft clean`: the things removed, and the things kept with the reason."""

from collections.abc import Iterator

from weft.app.clean.clean import CleanResult

_NOTED = frozenset({"note", "kept"})
"""Private refs. Their names mean nothing to users, so they are only counted."""


def clean_lines(cleaned: CleanResult, *, dry_run: bool) -> Iterator[str]:
    """Yields a line for each worktree, each branch, and each thing that is kept."""
    verb = "would remove" if dry_run else "removed"
    for removed in cleaned.removed:
        if removed.kind not in _NOTED:
            # With the commit, `git branch NAME COMMIT` restores a branch that was removed by mistake.
            at = f" (at {removed.commit[:12]})" if removed.commit else ""
            yield f"{verb} the {removed.kind} {removed.name}{at}"
    private_refs = sum(removed.kind in _NOTED for removed in cleaned.removed)
    if private_refs:
        refs = "1 private ref" if private_refs == 1 else f"{private_refs:,} private refs"
        yield f"{verb} {refs} of {cleaned.plan}"
    for kept_work in cleaned.kept:
        command = f"; type: {kept_work.command}" if kept_work.command else ""
        yield f"kept {_name(cleaned.plan, kept_work.name)}: {kept_work.message}{command}"


def _name(plan: str, subplan: str) -> str:
    return f"{plan}: {subplan}" if subplan else plan


def clean_data(cleaned: CleanResult) -> dict[str, object]:
    return {
        "plan": cleaned.plan,
        "run": cleaned.run,
        "target": cleaned.target,
        "removed": [
            {"kind": removed.kind, "name": removed.name, "commit": removed.commit}
            for removed in cleaned.removed
        ],
        "kept": [
            {
                "subplan": kept_work.name or None,
                "why": kept_work.why.value,
                "message": kept_work.message,
                "command": kept_work.command or None,
                "commits": kept_work.commits,
                "files": list(kept_work.files),
            }
            for kept_work in cleaned.kept
        ],
    }
