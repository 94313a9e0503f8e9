"""How each agent is told of the scripted model: files in its home, variables, arguments. And what it cannot do."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from weft.testing.models.script import ScriptRule, rules_of

PRICE = {"input": 3, "output": 15}
"""Dollars for a million tokens."""


class Setting(Struct, frozen=True, kw_only=True):
    model: str
    env: Mapping[str, str] = {}
    args: tuple[str, ...] = ()


def _claude(_home: Path, url: str) -> Setting:
    env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
    return Setting(model="claude-sonnet-4-5", env=env)


def _codex(home: Path, url: str) -> Setting:
    _file(
        home / ".codex" / "config.toml",
        'model_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "{url}/v1"\nenv_key = "SCRIPTED_API_KEY"\nwire_api = "responses"\n'
        "request_max_retries = 0\nstream_max_retries = 0\n"
        # Its sandbox puts an empty `.git` wherever it may write, and may leave it there: not in everybody's /tmp.
        "[sandbox_workspace_write]\nexclude_slash_tmp = true\nexclude_tmpdir_env_var = true\n",
    )
    return Setting(model="gpt-5", env={"SCRIPTED_API_KEY": "none"})


def _gemini(home: Path, url: str) -> Setting:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"maxAttempts": 1, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _file(home / ".gemini" / "settings.json", json.dumps(settings))
    return Setting(model="gemini-2.5-pro", env={"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url})


def _opencode(home: Path, url: str) -> Setting:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted", "cost": PRICE}},
    }
    settings = {"provider": {"scripted": provider}, "small_model": "scripted/scripted", "share": "disabled"}
    _file(home / ".config" / "opencode" / "opencode.json", json.dumps(settings))
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return Setting(model="scripted/scripted", env=env)


def _goose(_home: Path, url: str) -> Setting:
    env = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_DISABLE_KEYRING": "1",
        "OPENAI_API_KEY": "none",
        "OPENAI_HOST": url,
        "OPENAI_BASE_PATH": "v1/chat/completions",
    }
    return Setting(model="gpt-4o", env=env)


def _pi(home: Path, url: str) -> Setting:
    model = {
        "id": "scripted",
        "name": "scripted",
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 100_000,
        "maxTokens": 4096,
        "cost": {**PRICE, "cacheRead": 0, "cacheWrite": 0},
    }
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
    _file(home / ".pi" / "agent" / "models.json", json.dumps({"providers": {"scripted": provider}}))
    retries = {"enabled": False, "provider": {"maxRetries": 0}}
    _file(home / ".pi" / "agent" / "settings.json", json.dumps({"retry": retries}))
    return Setting(model="scripted/scripted")


def _vibe(home: Path, url: str) -> Setting:
    _file(
        home / ".vibe" / "config.toml",
        "enable_telemetry = false\nenable_update_checks = false\napi_retry_max_elapsed_time = 1.0\n"
        f'[[providers]]\nname = "scripted"\napi_base = "{url}/v1"\napi_key_env_var = "SCRIPTED_API_KEY"\n'
        'api_style = "openai"\nbackend = "generic"\n'
        '[[models]]\nname = "scripted"\nprovider = "scripted"\nalias = "scripted"\n'
        f"input_price = {PRICE['input']}.0\noutput_price = {PRICE['output']}.0\n",
    )
    return Setting(model="scripted", env={"SCRIPTED_API_KEY": "none"})


def _litellm(_home: Path, url: str) -> Setting:
    return Setting(model="openai/scripted", env={"OPENAI_API_KEY": "none", "OPENAI_API_BASE": f"{url}/v1"})


def _aider(home: Path, url: str) -> Setting:
    plain = _litellm(home, url)
    return Setting(model=plain.model, env=plain.env, args=("--edit-format", "diff", "hello.txt"))


SET_UP: Mapping[str, Callable[[Path, str], Setting]] = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
    "goose": _goose,
    "vibe": _vibe,
    "pi": _pi,
    "aider": _aider,
    "mini-swe-agent": _litellm,
}
"""Given a home and the address of the model, without `/v1`."""


def plan_of(agent: str, home: Path, url: str) -> str:
    """The beginning of a plan for it; what it does lands by itself."""
    setting = SET_UP[agent](home, url)
    coder = {"use": agent, "model": setting.model, "args": setting.args, "env": setting.env}
    head = {"agents": {"coder": coder}, "merge": {"mode": "auto"}, "max_parallel": 10}
    return "\n".join(f"{key}: {json.dumps(value)}" for key, value in head.items())


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


# --- what it is asked to do ---

_LAST = {"mini-swe-agent": {"shell": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}}


def calls(agent: str, *commands: str) -> tuple[ScriptRule, ...]:
    """Rules called `calls`: a model that has these commands run, one after the other, and is done."""
    steps = [*({"shell": command} for command in commands), _LAST.get(agent, {"text": "All is done."})]
    return rules_of({"calls": steps})


def writes(agent: str) -> tuple[ScriptRule, ...]:
    """Rules called `work`: a line is added to hello.txt, and another one if it is told to GO ON."""
    if agent == "aider":
        return rules_of({"work": [{"text": _edit("hello.txt", "hello", "first")}]})
    return tuple(
        rule
        for item, line in (("GO ON", "second"), ("", "first"))
        for rule in _named("work", calls(agent, f"echo {line} >> hello.txt"), item)
    )


def ten_at_once(agent: str) -> tuple[ScriptRule, ...]:
    """Rules called `work`: none of ten agents is told what to write before all of them are at work."""
    if agent == "aider":
        return rules_of({"work": [{"text": _edit("hello.txt", "hello", "first"), "together": 10}]})
    (rule,) = calls(agent, "true", 'echo written > "${PWD##*/}.txt"')
    # Gemini CLI allows no `$(…)`. It is not the first answer, which also titles and the like are asked for.
    first, second, *rest = rule.steps
    return (rule._replace(name="work", steps=(first, second._replace(together=10), *rest)),)


def _edit(file: str, line: str, added: str) -> str:
    """Aider's own form."""
    change = f"<<<<<<< SEARCH\n{line}\n=======\n{line}\n{added}\n>>>>>>> REPLACE"
    return f"I will add it.\n\n{file}\n```\n{change}\n```\n"


def _named(name: str, rules: tuple[ScriptRule, ...], said: str) -> tuple[ScriptRule, ...]:
    return tuple(rule._replace(name=name, prompt_contains=said or None) for rule in rules)


# --- what it cannot do, and why ---

NO_TOOLS = {"aider": "it has no tools that a model could call"}
TURNS = {
    "claude": ("--max-turns", "3"),
    "goose": ("--max-turns", "3"),
    "vibe": ("--max-turns", "3"),
    "gemini": (),
}
"""The option of those that count their turns. Gemini CLI notices by itself that it goes in circles."""
NO_CIRCLES = NO_TOOLS | {"gemini": "it notices by itself that it goes in circles"}
NO_TURNS = NO_TOOLS | {
    agent: "it has no option for the number of turns" for agent in SET_UP if agent not in {*TURNS, *NO_TOOLS}
}
PATIENT = {("opencode", "err500"), ("opencode", "drop")} | {
    ("aider", scenario) for scenario in ("err500", "err429", "drop")
}
"""Those that try again for minutes if this happens, and have no setting for it."""
GIVE_UP = {agent: "it gives up by itself" for agent in SET_UP if (agent, "err500") not in PATIENT}
CLEANS_UP = ("codex",)
"""Those that end what a command has left behind by themselves."""
NO_SESSIONS = dict.fromkeys(("aider", "mini-swe-agent"), "it cannot go on with a conversation")

# --- what it tells of its work ---

TOKENS = {"aider": 1050}
"""Where it is not two answers of 1,000 tokens in and 50 out."""
COSTS = dict.fromkeys(("claude", "opencode", "pi", "vibe"), 7500)
"""Of those that know the price, or were told it."""
