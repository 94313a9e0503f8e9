"""One agent at work: a repository and a home of its own, the real adapter, the real host, a scripted model."""

import errno
import os
import subprocess
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct

from contracts.host_contract import end_of
from hosts.places import Place
from real_agents.installing import programs_of
from real_agents.programs import SET_UP
from weft.agents.adapters import adapter_of
from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import AgentTask, Launch
from weft.hosts.local import LocalHost
from weft.plan.loader.load import load_plan
from weft.plan.model import Agent
from weft.ports.host import EndReason
from weft.runtime.jobs import JobFactory
from weft.testing.models.server import ModelServer

PLAN = "weft: 1\nplan: tried\nisolation: dir\nsubplans: [{id: a, steps: [{id: x, run: x}]}]\n"
NOWHERE = "http://127.0.0.1:9"
TASK = "Append a line to hello.txt"
LONG = 3600.0
TIMES = (6.0, 24.0, 96.0, 384.0)
"""Seconds, on machines quick and slow."""
HELLO = "hello\n"
BEGIN = "git init -q . && git add . && git -c user.name=Ada -c user.email=ada@example.org commit -q -m begin"


def environ_of(agent: str, home: Path) -> dict[str, str]:
    """All that it gets of ours. Whatever asks for a way to the world outside is led nowhere.

    Temporary files have a place of their own, also because Codex makes no sandbox if its home is among them.
    """
    temporary = home.with_name("tmp")
    temporary.mkdir()
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
    here = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    path = f"{programs_of(agent)}:{os.environ['PATH']}"
    own = {"HOME": str(home), "TMPDIR": str(temporary), "GIT_CONFIG_NOSYSTEM": "1"}
    return {"PATH": path, **own, **proxies, **here}


class Went(Struct, frozen=True, kw_only=True):
    """How it went."""

    why: EndReason
    """What the host says."""
    how: StepOutcome
    """What the engine hears."""
    fact: Ended
    text: str
    """What is in `hello.txt` now."""


class Bench:
    def __init__(self, agent: str, place: Place, host: LocalHost) -> None:
        self.agent = agent
        self.place = place
        self.host = host
        self.home = place.root / "home"
        self.home.mkdir()
        self._numbers = count(1)
        self._jobs = JobFactory(
            run="r1",
            plan=load_plan(PLAN),
            plan_dir=place.root,
            logs=place.root,
            records=host,
            adapter_of=adapter_of,
            environ=environ_of(agent, self.home),
        )

    async def run(self, server: ModelServer, scenario: str, **more: Any) -> Went:
        launch = self.launch(server, scenario, **more)
        self.start(launch)
        return await self.end(launch)

    async def run_out_of_time(self, server: ModelServer, scenario: str, *, asked: int) -> Went:
        """With ever more time, until it is quick enough to ask the model at least so often."""
        *short, longest = TIMES
        for seconds in short:
            went = await self.run(server, scenario, timeout=seconds)
            if len(server.requests()) >= asked:
                return went
        return await self.run(server, scenario, timeout=longest)

    def launch(self, server: ModelServer, scenario: str, **more: Any) -> Launch:
        setting = SET_UP[self.agent](self.home, server.scenario(scenario))
        agent = Agent(
            name="coder",
            use=self.agent,
            model=setting.model,
            env=setting.env,
            args=(*setting.args, *more.pop("args", ())),
        )
        times = {name: more.pop(name) for name in ("timeout", "grace") if name in more}
        return Launch(
            firing=next(self._numbers), execution=1, row=1, path="a", step="work", attempt=1,
            work=AgentTask(agent=agent, **{"prompt": TASK, **more}), **{"timeout": LONG, "grace": 1.0, **times},
        )  # fmt: skip

    def start(self, launch: Launch) -> str:
        work = self._work(launch)
        work.mkdir()
        (work / "hello.txt").write_text(HELLO)
        subprocess.run(["sh", "-c", BEGIN], cwd=work, check=True)
        job = self._jobs.job(launch, work)
        self.host.start(job)
        return job.id

    async def end(self, launch: Launch) -> Went:
        job, work = self._jobs.id(launch), self._work(launch)
        end = await end_of(self.host, job)
        fact = self._jobs.fact(launch, end, work, at=end.ended_at, halted=StepOutcome.CANCELLED)
        assert self.place.processes() == []
        text = (work / "hello.txt").read_text()
        return Went(why=end.why, how=fact.how, fact=fact, text=text)

    def stands_at(self, gate: str) -> bool:
        """Whether there is any process that waits there."""
        try:
            os.close(os.open(self.place.root / f"{gate}.gate", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True

    def _work(self, launch: Launch) -> Path:
        return self.place.root / f"work{launch.firing}"
