"""The agent at work: it does what `loop` says comes next, until that is the end."""

import json
import sys
import time
from collections.abc import Mapping

from weft.agents.builtin.chat import Brief
from weft.agents.builtin.failures import Asked, Failure, of_body, of_line, of_status, pause
from weft.agents.builtin.loop import NOT_DONE, Ask, End, Use, heard, is_done, next_move, told
from weft.agents.builtin.record import Record
from weft.agents.builtin.settings import Settings
from weft.agents.builtin.talk import Answer, Call, Talk, User, shortened, trimmed
from weft.agents.builtin.tools import Toolbox, offered
from weft.agents.builtin.transport import LineError, post
from weft.agents.builtin.values import table
from weft.agents.words import one_line

_MOST_REMEMBERED = 300_000
"""Characters of results that the model is sent again; as many as most models can read, with room for the rest."""
_LONGEST_PROMPT = 1_000_000
_OK = 200

_SYSTEM = """\
You are a coding agent. You work alone in the directory {root}: nobody can answer questions, so decide yourself.
Look at what is there before you change anything, change only what the task needs, and check what you did.
{rights}
When the task is done, call `done` with a short account of it. If it cannot be done, call `done` and say why.
"""
_RIGHTS = "Do not commit, and leave .git alone: what you leave in the directory is your work."
_NO_RIGHTS = "You may read files, but change nothing."


class CouldNotAskError(Exception):
    """The model cannot be reached, or must not be asked any more for now."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Work:
    def __init__(self, settings: Settings, record: Record, root: str, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._record = record
        self._environ = environ
        self._tools = Toolbox(
            root,
            environ,
            read_only=settings.read_only,
            command_timeout=settings.options.command_timeout,
        )
        self._brief = Brief(
            model=settings.model,
            system=_SYSTEM.format(root=root, rights=_NO_RIGHTS if settings.read_only else _RIGHTS),
            tools=[tool.described() for tool in offered(read_only=settings.read_only)],
            max_tokens=settings.options.max_output_tokens,
        )
        api = settings.api
        self._asked = Asked(url=settings.url, model=settings.model, key=api.KEY, base=api.BASE)

    def do(self, talk: Talk, prompt: str) -> End:
        """Raises `CouldNotAskError`."""
        wish = User(shortened(prompt, _LONGEST_PROMPT))
        if talk[-1:] != (wish,):  # else it was asked before and never answered
            talk = (*talk, wish)
        asked = 0
        while True:
            match next_move(talk, asked=asked, most=self._settings.options.max_turns):
                case Ask():
                    self._record.keep(talk)
                    asked += 1
                    answer = self._ask(talk)
                    self._record.spent(answer)
                    if answer.refused:
                        return End(failed=f"the model refused: {one_line(answer.refused)}")
                    talk = heard(talk, answer)
                case Use(calls):
                    talk = told(talk, self._use(calls))
                case End() as end:
                    self._record.keep(talk)
                    return end

    def _use(self, calls: tuple[Call, ...]) -> tuple[tuple[str, str], ...]:
        results: list[tuple[str, str]] = []
        is_over = False
        for call in calls:
            _tell(f"{call.name} {json.dumps(call.arguments)}")
            results.append((call.id, NOT_DONE if is_over else self._tools.use(call)))
            is_over = is_over or is_done(call)
        return tuple(results)

    # --- the model ---

    def _ask(self, talk: Talk) -> Answer:
        options = self._settings.options
        body = json.dumps(self._settings.api.request(trimmed(talk, _MOST_REMEMBERED), self._brief)).encode()
        tried = 0
        while True:
            answer = self._try(body)
            if isinstance(answer, Answer):
                return answer
            tried += 1
            wait = pause(answer, tried, retries=options.retries, first=options.retry_wait)
            if wait is None:
                raise CouldNotAskError(answer)
            _tell(f"{answer.message}; asking again in {wait:g} s")
            time.sleep(wait)

    def _try(self, body: bytes) -> Answer | Failure:
        settings = self._settings
        headers = {"user-agent": "weft", **settings.api.headers(settings.key)}
        timeout = settings.options.request_timeout
        try:
            answered = post(settings.url, body, headers, environ=self._environ, timeout=timeout)
        except LineError as error:
            return of_line(self._asked, str(error))
        if answered.status != _OK:
            return of_status(self._asked, answered.status, answered.headers, answered.body, now=time.time())
        try:
            return settings.api.answer(table(json.loads(answered.body)))
        except (ValueError, RecursionError) as error:
            return of_body(self._asked, answered.status, one_line(str(error)))


def _tell(line: str) -> None:
    """For whoever reads the log."""
    sys.stderr.buffer.write(f"{one_line(line)}\n".encode(errors="replace"))
    sys.stderr.buffer.flush()
