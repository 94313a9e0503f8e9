"""Copies the declarations of all agents into the table of the plan layer. `make format` runs it."""

from pathlib import Path

from weft.agents.adapters import ADAPTERS, adapter_of

TABLE = Path(__file__).parents[2] / "src" / "weft" / "plan" / "language" / "agent_programs.py"
_HEAD = '''"""The agents by the name that `use:` takes; generated from `weft.agents` by `make format`."""
# ruff: noqa: E501

from collections.abc import Mapping

from weft.plan.agent_program import Access, AgentProgram, Login

AGENT_PROGRAMS: Mapping[str, AgentProgram] = {
'''


def table_text() -> str:
    """The module, before the formatter has put it in its standard form."""
    rows = [f"{name!r}: {adapter_of(name).program!r},\n" for name in ADAPTERS]
    return f"{_HEAD}{''.join(rows)}}}\n"


if __name__ == "__main__":
    TABLE.write_text(table_text(), encoding="utf-8")
