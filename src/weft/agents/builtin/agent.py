"""Run the agent: perform the moves that `loop` decides until the end."""

import json
import sys
import time
from collections.abc import Mapping

from weft.agents.builtin.chat import RequestBrief
from weft.agents.builtin.conversation import (
    Conversation,
    ModelAnswer,
    ToolCall,
    UserMessage,
    shorten,
    trim_results,
)
from weft.agents.builtin.failures import (
    RequestFailure,
    RequestTarget,
    connection_failure,
    http_failure,
    malformed_answer,
    retry_delay,
)
from weft.agents.builtin.loop import (
    DONE,
    SKIPPED,
    AskModel,
    End,
    UseTools,
    add_answer,
    add_results,
    decide_next,
    is_done,
)
from weft.agents.builtin.record import AgentRecord
from weft.agents.builtin.settings import AgentSettings
from weft.agents.builtin.tools import Toolbox, list_tools
from weft.agents.builtin.transport import ConnectionFailedError, post
from weft.agents.builtin.values import as_object
from weft.agents.shared.activity_lines import activity_line
from weft.agents.shared.call_results import command_result
from weft.agents.shared.text import one_line
from weft.agents.shared.tool_activities import describe_tool
from weft.ports.activity import Activity, CallResult, Verb

_MOST_REMEMBERED = 300_000
"""Characters of tool output that are sent again. Most models can read as much, with room for the rest."""
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
    """The model cannot be reached, or its usage limit forbids further requests for now."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Work:
    """One task of the agent: the model, its tools and the record."""

    def __init__(
        self, settings: AgentSettings, record: AgentRecord, root: str, environ: Mapping[str, str]
    ) -> None:
        self._settings = settings
        self._record = record
        self._environ = environ
        self._tools = Toolbox(
            root,
            environ,
            read_only=settings.read_only,
            command_timeout=settings.options.command_timeout,
        )
        self._brief = RequestBrief(
            model=settings.model,
            system=_SYSTEM.format(root=root, rights=_NO_RIGHTS if settings.read_only else _RIGHTS),
            tools=[tool.describe() for tool in list_tools(read_only=settings.read_only)],
            max_tokens=settings.options.max_output_tokens,
        )
        api = settings.api
        self._target = RequestTarget(url=settings.url, model=settings.model, key=api.KEY, base=api.BASE)

    def do(self, conversation: Conversation, prompt: str) -> End:
        """Continues the conversation with the prompt until its end; raises `CouldNotAskError`."""
        prompt_message = UserMessage(shorten(prompt, _LONGEST_PROMPT))
        if conversation[-1:] != (
            prompt_message,
        ):  # otherwise an interrupted process has sent this prompt already
            conversation = (*conversation, prompt_message)
        requests = 0
        while True:
            match decide_next(
                conversation, requests=requests, most_requests=self._settings.options.max_turns
            ):
                case AskModel():
                    # Saved before the request: if the process dies while the model answers, a resumed step asks
                    # again with the same messages.
                    self._record.save(conversation)
                    requests += 1
                    answer = self._ask(conversation)
                    # Before the answer is judged: a refused answer has been paid for as well.
                    self._record.add_spending(answer)
                    if answer.refused:
                        return End(failed=f"the model refused: {one_line(answer.refused)}")
                    conversation = add_answer(conversation, answer)
                    if answer.said.calls and answer.said.text:  # the last answer goes to standard output
                        _show(Activity(verb=Verb.SAYS, object=answer.said.text))
                case UseTools(calls):
                    conversation = add_results(conversation, self._use(calls))
                case End() as end:
                    self._record.save(conversation)
                    return end

    def _use(self, calls: tuple[ToolCall, ...]) -> tuple[tuple[str, str], ...]:
        results: list[tuple[str, str]] = []
        is_over = False
        for call in calls:
            if call.name != DONE:  # its text is the result of the step
                _show(describe_tool(call.name, call.arguments, call=call.id))
            # Every call needs a result, or the provider rejects the next request of a resumed conversation.
            result = SKIPPED if is_over else self._tools.use(call)
            results.append((call.id, result))
            _show(command_result(call.id, result, is_bad=result.startswith("error: ")))
            is_over = is_over or is_done(call)
        return tuple(results)

    # --- the model ---

    def _ask(self, conversation: Conversation) -> ModelAnswer:
        options = self._settings.options
        body = json.dumps(
            self._settings.api.encode_request(trim_results(conversation, _MOST_REMEMBERED), self._brief)
        ).encode()
        tries = 0
        while True:
            answer = self._try(body)
            if isinstance(answer, ModelAnswer):
                return answer
            tries += 1
            wait = retry_delay(answer, tries, retries=options.retries, first=options.retry_wait)
            if wait is None:
                raise CouldNotAskError(answer)
            _log(f"{answer.message}; asking again in {wait:g} s")
            time.sleep(wait)

    def _try(self, body: bytes) -> ModelAnswer | RequestFailure:
        settings = self._settings
        headers = {"user-agent": "weft", **settings.api.headers(settings.key)}
        timeout = settings.options.request_timeout
        try:
            response = post(settings.url, body, headers, environ=self._environ, timeout=timeout)
        except ConnectionFailedError as error:
            return connection_failure(self._target, str(error))
        if response.status != _OK:
            return http_failure(
                self._target, response.status, response.headers, response.body, now=time.time()
            )
        try:
            return settings.api.decode_answer(as_object(json.loads(response.body)))
        except (ValueError, RecursionError) as error:
            return malformed_answer(self._target, response.status, one_line(str(error)))


def _show(activity: Activity | CallResult) -> None:
    """Reports an activity to the readers of the log."""
    _write(activity_line(activity))


def _log(line: str) -> None:
    """Writes a line to the log of the step."""
    _write(one_line(line))


def _write(line: str) -> None:
    sys.stderr.buffer.write(f"{line}\n".encode(errors="replace"))
    sys.stderr.buffer.flush()
