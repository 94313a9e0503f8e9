"""Output of `weft status --json`."""

from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import to_builtins

from weft.app.inspect.overview_model import Overview, SubplanNow
from weft.app.views.hosts import MachineView
from weft.app.views.signals import FailedVerify
from weft.cli.status.next_commands import next_commands
from weft.terms import MICRO


def data(overview: Overview, worktrees: Mapping[str, str]) -> dict[str, object]:
    coordinator = overview.coordinator
    return {
        "run": overview.run,
        "plan": overview.plan,
        "state": overview.state,
        "created_at": _time(overview.created_at),
        "coordinator": None
        if coordinator is None
        else {
            "pid": coordinator.pid,
            "alive": coordinator.alive,
            "started_at": _time(coordinator.started_at),
        },
        "cost": {
            "usd": overview.cost / MICRO,
            "reserved_usd": overview.reserved / MICRO,
            "unreported_usd": (overview.unreported + overview.earlier.assumed) / MICRO,
            "ceiling_usd": overview.ceiling,
            "unknown": overview.unknown,
            "tokens": overview.tokens,
            "ceiling_tokens": overview.token_ceiling,
            "earlier_usd": overview.earlier.cost / MICRO,
            "earlier_tokens": overview.earlier.tokens,
            "earlier_unknown": overview.earlier.unknown,
            "counted_usd": overview.counted / MICRO,
            "counted_tokens": overview.counted_tokens,
        },
        "counts": dict(overview.counts),
        "limits": [{"agents": list(limit.agents), "until": _time(limit.until)} for limit in overview.limits],
        **({"hosts": [_machine(view) for view in overview.hosts]} if overview.hosts else {}),
        "failed_verifies": [_verify(verify) for verify in overview.verifies],
        "conflicts_ahead": [
            {"subplan": pair.subplan, "other": pair.other, "files": list(pair.files)}
            for pair in overview.ahead
        ],
        "push": None if overview.push is None else overview.push.to_json(),
        "outside_changes": [to_builtins(warning) for warning in overview.outside],
        "next": [
            {"command": suggestion.command, "does": suggestion.does} for suggestion in next_commands(overview)
        ],
        "subplans": [_row(row, worktrees) for row in overview.subplans],
    }


def _machine(view: MachineView) -> dict[str, object]:
    return {
        "host": view.host,
        "machine": view.machine or None,
        "state": str(view.state),
        "since": _time(view.since),
        "message": view.message or None,
    }


def _verify(verify: FailedVerify) -> dict[str, object]:
    return {
        "subplan": verify.subplan or None,
        "command": verify.command or None,
        "message": verify.message,
        "tail": verify.tail,
        "entries": list(verify.entries),
        "fix": verify.fix or None,
    }


def _rejection(row: SubplanNow) -> dict[str, object] | None:
    rejected = row.rejected
    if rejected is None:
        return None
    return {"step": rejected.step, "attempt": rejected.attempt, "reason": rejected.reason}


def _row(row: SubplanNow, worktrees: Mapping[str, str]) -> dict[str, object]:
    return {
        "path": row.path,
        "state": row.state,
        "reason": row.reason,
        "message": row.message,
        "landing": row.landing,
        "landing_place": row.landing_place,
        "conflict": list(row.conflict),
        "wanted": row.wanted,
        "step": row.step,
        "attempt": row.attempt,
        **({"host": row.host} if row.host else {}),
        "question": row.question,
        "steps_done": row.steps_done,
        "steps_total": row.steps_total,
        "pid": row.pid,
        "heartbeat_at": None if row.heartbeat_at is None else _time(row.heartbeat_at),
        "activity": row.activity,
        "heard_at": None if row.heard_at is None else _time(row.heard_at),
        "cost_usd": row.cost / MICRO,
        "tokens": row.tokens,
        "rejected": _rejection(row),
        "branch": row.branch,
        "worktree": worktrees.get(row.branch or ""),
        "blocked_by": list(row.blocked_by),
        "changed_nothing": None if row.idle is None else list(row.idle),
    }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
