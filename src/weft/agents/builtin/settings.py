"""What the agent is told: options of its command line, which are `args` of the plan, and the environment.

Nothing is guessed: neither a model, nor whose key is meant if there are two.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from weft.agents.builtin import chat, messages
from weft.agents.builtin.talk import Answer, Talk
from weft.errors import InputError


class Api(Protocol):
    @property
    def KEY(self) -> str: ...  # noqa: N802 - a constant of a module

    @property
    def BASE(self) -> str: ...  # noqa: N802

    @property
    def OFFICIAL(self) -> str: ...  # noqa: N802

    def url(self, base: str) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def request(self, talk: Talk, brief: chat.Brief) -> dict[str, Any]: ...

    def answer(self, body: Mapping[str, Any]) -> Answer: ...


APIS: dict[str, Api] = {"chat": chat, "messages": messages}


class Options(NamedTuple):
    api: str | None = None
    max_turns: int = 100
    max_output_tokens: int | None = None
    """Of one answer."""
    command_timeout: int = 600
    """Seconds."""
    request_timeout: int = 600
    retries: int = 3
    retry_wait: float = 1.0
    """Seconds before the first retry; each further one waits twice as long."""


class Settings(NamedTuple):
    options: Options
    api: Api
    url: str
    key: str | None
    model: str
    read_only: bool
    session: str | None


def options_of(args: Sequence[str]) -> Options:
    """Raises `InputError`."""
    given: dict[str, Any] = {}
    left = list(args)
    while left:
        option, is_given, value = left.pop(0).partition("=")
        name = option.removeprefix("--").replace("-", "_")
        if not option.startswith("--") or name not in _READ:
            known = ", ".join(f"--{name.replace('_', '-')}" for name in _READ)
            raise InputError(f"the agent `builtin` does not know {option!r}; its options are {known}")
        if not is_given and not left:
            raise InputError(f"{option} needs a value, as in `args: [{option}, VALUE]`")
        given[name] = _read(option, name, value if is_given else left.pop(0))
    return Options(**given)


def _read(option: str, name: str, value: str) -> object:
    words, read = _READ[name]
    try:
        return read(value)
    except ValueError:
        raise InputError(f"{option} must be {words}, not {value!r}") from None


def _api(value: str) -> str:
    if value not in APIS:
        raise ValueError
    return value


def _count(value: str) -> int:
    number = int(value)
    if not 1 <= number <= _MOST:
        raise ValueError
    return number


def _retries(value: str) -> int:
    return 0 if value == "0" else _count(value)


def _seconds(value: str) -> float:
    number = float(value)
    if not 0 <= number <= _MOST:
        raise ValueError
    return number


_MOST = 1_000_000
_WHOLE = f"a whole number from 1 to {_MOST:,}"
_READ: dict[str, tuple[str, Callable[[str], object]]] = {
    "api": ("`chat` or `messages`", _api),
    "max_turns": (_WHOLE, _count),
    "max_output_tokens": (_WHOLE, _count),
    "command_timeout": (_WHOLE, _count),
    "request_timeout": (_WHOLE, _count),
    "retries": (f"a whole number from 0 to {_MOST:,}", _retries),
    "retry_wait": (f"seconds, from 0 to {_MOST:,}", _seconds),
}


def settings_of(args: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Raises `InputError`, which says what is missing."""
    options = options_of(args)
    model = environ.get("WEFT_MODEL")
    if not model:
        raise InputError("no model is named: WEFT_MODEL is not set; in a plan, give the agent a `model`")
    api = APIS[options.api] if options.api else _configured(environ)
    key, base = environ.get(api.KEY) or None, environ.get(api.BASE) or api.OFFICIAL
    if key is None and base == api.OFFICIAL:
        raise InputError(f"{api.KEY} is not set: there is no key for {base}; {_SET}")
    if key is not None and not (key.isascii() and key.isprintable()):
        raise InputError(f"{api.KEY} holds signs that no key has, such as a line break; set it anew")
    return Settings(
        options=options,
        api=api,
        url=api.url(base),
        key=key,
        model=model,
        read_only=bool(environ.get("WEFT_READ_ONLY")),
        session=environ.get("WEFT_SESSION") or None,
    )


_SET = "export it before you start Weft, or name it in `env` of the agent"


def _configured(environ: Mapping[str, str]) -> Api:
    found = [api for api in APIS.values() if environ.get(api.KEY) or environ.get(api.BASE)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"there are settings for two providers ({_variables(' and ')}): say which one is meant with "
            "`args: [--api, chat]` or `args: [--api, messages]` of the agent"
        )
    raise InputError(f"neither {_variables(' nor ')} is set: there is no key to any model; {_SET}")


def _variables(between: str) -> str:
    return between.join(api.KEY for api in APIS.values())
