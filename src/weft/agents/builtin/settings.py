"""The settings of the agent: its command-line options, which are `args` in the plan, and the environment.

The agent guesses neither the model nor, if keys for two providers are set, the provider.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from weft.agents.builtin import chat, messages
from weft.agents.builtin.conversation import Conversation, ModelAnswer
from weft.errors import InputError


class Api(Protocol):
    """The protocol of a provider: one of the modules `chat` and `messages`."""

    @property
    def KEY(self) -> str: ...  # noqa: N802 - a constant of a module

    @property
    def BASE(self) -> str: ...  # noqa: N802

    @property
    def OFFICIAL(self) -> str: ...  # noqa: N802

    def request_url(self, base: str) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def encode_request(self, conversation: Conversation, brief: chat.RequestBrief) -> dict[str, Any]: ...

    def decode_answer(self, body: Mapping[str, Any]) -> ModelAnswer: ...


APIS: dict[str, Api] = {"chat": chat, "messages": messages}


class Options(NamedTuple):
    """The command-line options."""

    api: str | None = None
    max_turns: int = 100
    max_output_tokens: int | None = None
    """The limit for one answer."""
    command_timeout: int = 600
    """Seconds."""
    request_timeout: int = 600
    retries: int = 3
    retry_wait: float = 1.0
    """Seconds before the first retry; each further one waits twice as long."""


class AgentSettings(NamedTuple):
    """The options together with the settings from the environment."""

    options: Options
    api: Api
    url: str
    key: str | None
    model: str
    read_only: bool
    session: str | None


def parse_options(args: Sequence[str]) -> Options:
    """Parses the options; raises `InputError`."""
    values: dict[str, Any] = {}
    remaining = list(args)
    while remaining:
        option, has_value, value = remaining.pop(0).partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name not in _OPTIONS:
            option_names = ", ".join(f"--{name.replace('_', '-')}" for name in _OPTIONS)
            raise InputError(f"the agent `builtin` does not know {option!r}; its options are {option_names}")
        if not has_value and not remaining:
            raise InputError(f"{option} needs a value, as in `args: [{option}, VALUE]`")
        values[name] = _parse_option(option, name, value if has_value else remaining.pop(0))
    return Options(**values)


def _parse_option(option: str, name: str, value: str) -> object:
    words, read = _OPTIONS[name]
    try:
        return read(value)
    except ValueError:
        raise InputError(f"{option} must be {words}, not {value!r}") from None


def _parse_api(value: str) -> str:
    if value not in APIS:
        raise ValueError
    return value


def _parse_count(value: str) -> int:
    number = int(value)
    if not 1 <= number <= _MOST:
        raise ValueError
    return number


def _parse_retries(value: str) -> int:
    return 0 if value == "0" else _parse_count(value)


def _parse_seconds(value: str) -> float:
    number = float(value)
    if not 0 <= number <= _MOST:
        raise ValueError
    return number


_MOST = 1_000_000
_WHOLE = f"a whole number from 1 to {_MOST:,}"
_OPTIONS: dict[str, tuple[str, Callable[[str], object]]] = {
    "api": ("`chat` or `messages`", _parse_api),
    "max_turns": (_WHOLE, _parse_count),
    "max_output_tokens": (_WHOLE, _parse_count),
    "command_timeout": (_WHOLE, _parse_count),
    "request_timeout": (_WHOLE, _parse_count),
    "retries": (f"a whole number from 0 to {_MOST:,}", _parse_retries),
    "retry_wait": (f"seconds, from 0 to {_MOST:,}", _parse_seconds),
}


def read_settings(args: Sequence[str], environ: Mapping[str, str]) -> AgentSettings:
    """Combines options and environment; raises `InputError` that says what is missing."""
    options = parse_options(args)
    model = environ.get("WEFT_MODEL")
    if not model:
        raise InputError("no model is named: WEFT_MODEL is not set; in a plan, give the agent a `model`")
    api = APIS[options.api] if options.api else _choose_api(environ)
    key, base = environ.get(api.KEY) or None, environ.get(api.BASE) or api.OFFICIAL
    # A local server often needs no key; the provider's own address always does.
    if key is None and base == api.OFFICIAL:
        raise InputError(f"{api.KEY} is not set: there is no key for {base}; {_HOW_TO_SET}")
    # Such a key would fail inside the HTTP library, with a message that prints it.
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError(f"{api.KEY} contains characters that no key has, such as a line break; set it again")
    return AgentSettings(
        options=options,
        api=api,
        url=api.request_url(base),
        key=key,
        model=model,
        read_only=bool(environ.get("WEFT_READ_ONLY")),
        session=environ.get("WEFT_SESSION") or None,
    )


_HOW_TO_SET = "export it before you start Weft, or name it in `env` of the agent"


def _choose_api(environ: Mapping[str, str]) -> Api:
    configured = [api for api in APIS.values() if environ.get(api.KEY) or environ.get(api.BASE)]
    if len(configured) == 1:
        return configured[0]
    if configured:
        raise InputError(
            f"there are settings for two providers ({_variables(' and ')}): choose one with "
            "`args: [--api, chat]` or `args: [--api, messages]` of the agent"
        )
    raise InputError(f"neither {_variables(' nor ')} is set: there is no key to any model; {_HOW_TO_SET}")


def _variables(between: str) -> str:
    return between.join(api.KEY for api in APIS.values())
