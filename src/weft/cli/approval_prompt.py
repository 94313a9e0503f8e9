"""The question whether the commands that a project's configuration names may run."""

import os

import click

from weft.app.project.approval import (
    ApprovalRequest,
    NotApprovedError,
    approve,
    change_lines,
    describe_request,
)
from weft.cli.output import note_lines
from weft.errors import InputError


def is_approved_now(error: InputError) -> bool:
    """Asks for the approval that `error` reports as missing; returns False if the error is another one.

    Raises `InputError` if the answer is no.
    """
    if not isinstance(error, NotApprovedError):
        return False
    note_lines([f"{describe_request(error.request)}:", *change_lines(error.request)])
    if not agrees(error.request):
        raise InputError("not approved, and nothing has been run") from None
    approve(error.request, os.environ)
    return True


def agrees(request: ApprovalRequest) -> bool:
    subject = "these commands and settings" if request.users else "these commands"
    subject = "these hosts" if request.plan else subject
    return click.confirm(f"Approve {subject}?", default=False, prompt_suffix=" ", err=True)
