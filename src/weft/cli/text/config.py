"""Output of `weft config`: settings with their origins, files, and approvals."""

from collections.abc import Iterator, Sequence
from typing import Any

from weft.app.project.approval import ApprovalRequest, approve_command, change_lines
from weft.app.project.approval_file import Approval
from weft.app.project.configuration import Configuration, KeyExplanation, ReadFile, SetValue
from weft.cli.text.explain import table, value_text

_FILE_KINDS = {"plan": "plan", "project": "project's configuration", "user": "user's configuration"}


def configuration_lines(configuration: Configuration) -> Iterator[str]:
    plan = "without a plan" if configuration.plan is None else f"with the plan {configuration.plan}"
    yield f"In force here, {plan}:"
    yield from table([*configuration.settings(), *configuration.others()])


def configuration_data(configuration: Configuration) -> dict[str, Any]:
    return {
        "plan": configuration.plan,
        "settings": [row.to_json() for row in configuration.settings()],
        "others": [row.to_json() for row in configuration.others()],
    }


def key_lines(explanation: KeyExplanation) -> Iterator[str]:
    yield f"{explanation.name}: {explanation.key.doc}"
    yield f"  allowed: {explanation.key.kind.words}"
    if explanation.key.default is not None:
        yield f"  default: {explanation.key.default}"
    if explanation.variable is not None:
        yield f"  variable: {explanation.variable}"
    if explanation.places:
        yield "Set, the one that counts first:"
        yield from (_place_line(place, explanation.name) for place in explanation.places)
    else:
        yield "It is not set here."


def _place_line(place: SetValue, key: str) -> str:
    """Returns a line for one place that sets the key; with the entry's name if the key is a mapping."""
    name = "" if place.row.name == key else f"{place.row.name}: "
    # Values without effect are listed, too: users ask mostly because a value that they set has no effect.
    counts = "" if place.wins else " (does not count)"
    return f"  {name}{value_text(place.row.value, most=None)}  {place.row.origin}{counts}"


def key_data(explanation: KeyExplanation) -> dict[str, Any]:
    default = explanation.key.default
    return {
        "name": explanation.name,
        "meaning": explanation.key.doc,
        "allowed": explanation.key.kind.words,
        "default": None if default is None else str(default),
        "variable": explanation.variable,
        "places": [{**place.row.to_json(), "counts": place.wins} for place in explanation.places],
    }


def file_lines(files: Sequence[ReadFile]) -> Iterator[str]:
    width = max(len(_FILE_KINDS[file.what]) for file in files)
    for file in files:
        yield f"{_FILE_KINDS[file.what]:<{width}}  {file.path}{'' if file.there else '  (not there)'}"


def file_data(file: ReadFile) -> dict[str, Any]:
    return {"what": file.what, "path": str(file.path), "there": file.there}


# --- approval ---


def approval_lines(approvals: Sequence[Approval]) -> Iterator[str]:
    for approval in approvals:
        count = "1 command" if len(approval.commands) == 1 else f"{len(approval.commands):,} commands"
        yield f"{approval.at}  {approval.hash}  {count}  {approval.project}"


def here_lines(request: ApprovalRequest | None) -> Iterator[str]:
    """Yields whether the commands of the current project are approved, and what to type if not."""
    if request is None:
        yield "this project's configuration names no commands"
    elif request.is_approved:
        yield f"{request.file} is approved: {request.hash}"
    else:
        yield f"{request.file} is not approved: {request.hash}"
        yield from change_lines(request)
        yield f"to approve this, type: {approve_command(request.project, request.plan)}"


def approvals_data(
    request: ApprovalRequest | None, hosts: ApprovalRequest | None, approvals: Sequence[Approval]
) -> dict[str, Any]:
    return {
        "here": None if request is None else _request_data(request),
        **({} if hosts is None else {"hosts": _request_data(hosts)}),
        "approvals": [
            {
                "project": approval.project,
                "hash": approval.hash,
                "at": approval.at,
                "commands": [{"path": path, "value": value} for path, value in approval.commands],
                **({"plan": approval.plan} if approval.plan else {}),
            }
            for approval in approvals
        ],
    }


def _request_data(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "project": str(request.project),
        "file": request.file,
        "hash": request.hash,
        "approved": request.is_approved,
        "commands": [command.to_json() for command in request.commands],
    }
