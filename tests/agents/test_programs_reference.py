"""The reference of agents says of each program what is so."""

import re
from pathlib import Path

import pytest

from agents.recorded import USES, call_of
from weft.agents.adapters import adapter_of
from weft.plan.language.agent_programs import AGENT_PROGRAMS

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference" / "agents.md").read_text(encoding="utf-8")


def rows(heading: str) -> dict[str, list[str]]:
    table = REFERENCE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    table_rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[2:]]
    return {first.strip("`"): rest for first, *rest in table_rows}


CALLED = rows("`use` | install | tried with | how it is called")
ABLE = rows("`use` | continues a conversation | forks it | read-only mode | reports")


def test_all_programs_are_in_all_tables() -> None:
    assert [tuple(CALLED), tuple(ABLE), tuple(rows("`use` | done is | an error is"))] == [USES] * 3


@pytest.mark.parametrize("use", USES)
def test_it_says_how_to_install_and_what_is_called(use: str) -> None:
    install, _, called = CALLED[use]
    assert install == f"`{AGENT_PROGRAMS[use].install}`"
    words = re.findall(r"`(.*)`", called)[0].split()
    argv = set(adapter_of(use).invoke(call_of(use)).argv)
    assert {word for word in words if not re.search("[A-Z…]", word)} <= argv


@pytest.mark.parametrize("use", USES)
def test_it_says_what_a_program_can_do(use: str) -> None:
    adapter, resumes, forks, reads, tells = adapter_of(use), *ABLE[use]
    afresh = adapter.invoke(call_of(use)).argv
    assert (resumes == "yes") == (adapter.invoke(call_of(use, session="S")).argv != afresh)
    assert (forks == "yes") == AGENT_PROGRAMS[use].forks
    reading = adapter.invoke(call_of(use, read_only=True))
    assert bool(reads) == (reading.argv != afresh or "OPENCODE_PERMISSION" in reading.env)
    assert ("while it works" in tells) == (adapter.progress is not None)
