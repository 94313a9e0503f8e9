"""Outputs of agents' programs, as small as they can be, and what the adapters make of them."""

from pathlib import Path
from typing import Any

from agents.calls import call, ended
from weft.agents.adapters import adapter_of
from weft.ports.agent import AgentCall, Verdict

OUTPUTS = Path(__file__).parent / "outputs"
USES = ("claude", "codex", "gemini", "opencode", "goose", "vibe", "pi", "aider", "mini-swe-agent")
LEAVE_A_FILE = ("vibe", "mini-swe-agent")
EXIT_CODES = {
    "claude": 1,
    "codex": 1,
    "gemini": 1,
    "opencode": 1,
    "goose": 0,
    "vibe": 2,
    "pi": 0,
    "aider": 0,
    "mini-swe-agent": 1,
}
"""Of each program after an error of the model's."""


def output(use: str, name: str) -> str:
    return _file(use, name).read_text(encoding="utf-8")


def left(use: str, name: str) -> dict[str, str]:
    """What was left of it: its output, or its file if it got so far as to write one."""
    return {"result_file" if _file(use, name).suffix == ".json" else "stdout": output(use, name)}


def _file(use: str, name: str) -> Path:
    (file,) = (OUTPUTS / use).glob(f"{name}.*")
    return file


def call_of(use: str, **more: Any) -> AgentCall:
    agent = {"use": use, **more.pop("agent", {})}
    return call(agent=agent, **more)


def judged(use: str, text: str, *, session: str | None = None, **more: Any) -> Verdict:
    """What is made of an end with this output, or with this in its file."""
    streams = {"stdout": "All is done.\n", "result_file": text} if use in LEAVE_A_FILE else {"stdout": text}
    return adapter_of(use).judge(call_of(use, session=session), ended(**{**streams, **more}))


def verdict(use: str, name: str, **more: Any) -> Verdict:
    return judged(use, output(use, name), **more)
