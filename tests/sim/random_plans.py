"""Small plans at random, of everything that a plan can say about its running."""

import json
from random import Random
from typing import Any

from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.text.problems import PlanError

Data = dict[str, Any]

POOLS: Data = {"disk": 1, "lab": 2, "port": {"values": [8001, 8002]}}


def random_plan(random: Random) -> CompiledPlan:
    """What makes no sense is drawn anew."""
    while True:
        text = json.dumps(Drawer(random).plan())
        try:
            return compile_plan(load_plan(text, surroundings=Surroundings(git=False)))
        except PlanError:
            continue


class Drawer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.rows = random.randint(1, 7)
        self.commands_only = False
        self.pipelines: dict[str, list[Data]] = {}

    def maybe(self, part: float, **values: Any) -> Data:
        """Each of them, or not; what can be called is called."""
        chosen = {name: value for name, value in values.items() if self.random.random() < part}
        return {name: value() if callable(value) else value for name, value in chosen.items()}

    def plan(self) -> Data:
        serial = self.random.random() < 0.2
        isolation = self.random.choice(["none", "dir", "worktree"])
        self.commands_only = isolation == "none" and not serial
        self.pipelines = {name: self.steps(0.3, nested=False) for name in ("one", "two")}
        plan: Data = {
            "weft": 1,
            "plan": "p",
            "agent": "coder",
            "agents": {"coder": self.agent(), "tester": self.agent()},
            "pools": POOLS,
            "isolation": isolation,
            "policy": "serial" if serial else "parallel",
            "infra_retries": self.random.randint(0, 1),
            "retries": self.random.randint(0, 2),
            "pipelines": {"spare": [{"id": "x", "run": "x"}], **self.pipelines},
        }
        plan |= self.settings(0.4) | self.maybe(0.3, budget=self.amount, reserve=self.amount)
        return plan | {"subplans": self.subplans(3)}

    def agent(self) -> Data:
        return {
            "use": "claude",
            **self.maybe(0.5, pool=lambda: self.random.randint(1, 2), max_cost=self.dollars),
            **self.maybe(0.3, max_tokens=self.tokens),
        }

    def dollars(self) -> float:
        return self.random.choice([0.01, 0.03, 0.1, 1.0])

    def tokens(self) -> int:
        return self.random.choice([500, 4_000, 20_000])

    def amount(self) -> Any:
        both = {"usd": self.dollars(), "tokens": self.tokens()}
        return self.random.choice([self.dollars(), self.dollars(), {"tokens": self.tokens()}, both])

    def settings(self, part: float) -> Data:
        return self.maybe(
            part,
            max_parallel=lambda: self.random.randint(1, 3),
            max_concurrency=lambda: self.random.randint(1, 2),
            failure_mode=lambda: self.random.choice(["fail_fast", "continue_on_error", "continue_on_error"]),
            on_budget=lambda: self.random.choice(["stop", "drain"]),
            merge=lambda: {
                "when": self.random.choice(["milestone", "slice"]),
                "resolve": self.random.choice(["hold", "agent", "agent"]),
            },
        )

    # Subplans

    def subplans(self, depth: int) -> list[Data]:
        values: list[Data] = []
        while self.rows > 0 and (not values or self.random.random() < 0.75):
            self.rows -= 1
            table: Data = {"id": f"s{len(values)}", "prompt": "do", **self.settings(0.15)}
            table |= self.maybe(0.1, budget=self.amount) | self.maybe(0.4, verify="check")
            if values and self.random.random() < 0.4:
                table["depends_on"] = [self.random.choice(values)["id"]]
            if depth > 1 and self.rows > 0 and self.random.random() < 0.35:
                table["subplans"] = self.subplans(depth - 1)
            else:
                table |= self.work()
            values.append(table)
        return values

    def work(self) -> Data:
        way = self.random.choice(["direct", "tdd", "one", "two", "steps", "steps", "steps"])
        if way in {"direct", "tdd"} and self.commands_only:
            way = "steps"
        return {"steps": self.steps(0.35)} if way == "steps" else {"pipeline": way}

    # Steps

    def steps(self, asynchronous: float, *, nested: bool = True) -> list[Data]:
        values: list[Data] = []
        unheard: list[str] = []
        for number in range(self.random.randint(1, 5)):
            step = self.step(f"t{number}", values, nested=nested)
            self.connect(step, values, unheard, asynchronous)
            values.append(step)
        if unheard:
            values.append(self.join("end", unheard))
        return values

    def connect(self, step: Data, earlier: list[Data], unheard: list[str], asynchronous: float) -> None:
        waits = [name for name in unheard if self.random.random() < 0.3]
        if step.get("action") == "join":
            waits = list(unheard) or [self.random.choice(earlier)["id"]]
        if waits:
            step["depends_on"] = waits
        if "action" not in step and self.random.random() < asynchronous:
            step["async"] = True
            step.pop("on_fail", None)
        unheard[:] = [name for name in unheard if name not in waits]
        if "async" in step:
            unheard.append(step["id"])

    def join(self, name: str, members: list[str]) -> Data:
        return {
            "id": name,
            "action": "join",
            "depends_on": list(members),
            **self.maybe(0.4, on_error="wait_for_all"),
        }

    def step(self, name: str, earlier: list[Data], *, nested: bool) -> Data:
        kinds = ["run"] * 5 + ["verify", "ask"]
        kinds += [] if self.commands_only else ["agent"] * 3
        kinds += ["nested"] * 2 if nested else []
        kinds += ["join"] if earlier else []
        kind = self.random.choice(kinds)
        if kind == "join":
            return self.join(name, []) | self.rules(name)
        step = {"id": name, **self.body(kind, earlier), **self.errors(earlier), **self.rules(name)}
        step |= self.maybe(0.15, condition=lambda: self.condition(earlier))
        if kind in {"run", "agent", "verify"}:
            step |= self.maybe(0.15, pools=lambda: self.random.choice([["disk"], ["port"], ["lab", "disk"]]))
        return step

    def body(self, kind: str, earlier: list[Data]) -> Data:
        match kind:
            case "run":
                return {"run": f"{self.text(earlier)} $WEFT_POOL_PORT"}
            case "agent":
                agent = self.random.choice(["coder", "tester"])
                return {
                    "prompt": self.text(earlier),
                    "agent": agent,
                    **self.maybe(0.3, max_cost=self.dollars),
                }
            case "nested":
                return {"pipeline": self.random.choice(["one", "two"])}
            case "ask":
                return {"action": "ask", "question": self.text(earlier)}
            case _:
                return {"action": kind}

    def text(self, earlier: list[Data]) -> str:
        """Sometimes with what is not there when it is needed."""
        readable = [item["id"] for item in earlier if not item.get("async")]
        if not readable or self.random.random() < 0.7:
            return "do {{ feedback }}" if self.random.random() < 0.3 else "do"
        field = "json" if self.random.random() < 0.1 else "result"
        return f"do {{{{ step.{self.random.choice(readable)}.{field} }}}}"

    def errors(self, earlier: list[Data]) -> Data:
        match self.random.choice(["none", "none", "none", "continue", "retry", "back", "back"]):
            case "continue":
                return {"on_error": "continue"}
            case "retry":
                return {"on_error": "retry", "max_retries": self.random.randint(1, 2)}
            case "back" if earlier:
                first = self.random.choice(earlier)["id"]
                return {"on_fail": {"retry_from": first, "max": self.random.randint(1, 2)}}
            case _:
                return {}

    def rules(self, name: str) -> Data:
        if self.random.random() < 0.85:
            return {}
        odd = f"step.{name}.result == 'odd'"
        when = self.random.choice([odd, odd, "attempt == 1", f"step.{name}.json.x"])
        action = self.random.choice(["continue", "abort", "fail", "fail", "ask", "ask"])
        return {"on_result": [{"when": when, "action": action}]}

    def condition(self, earlier: list[Data]) -> str:
        readable = [item["id"] for item in earlier if not item.get("async")]
        reads = [f"step.{name}.result == 'odd'" for name in readable]
        return self.random.choice(["never", "attempt == 1", "feedback", "always", *reads])
