"""goose: `goose run --output-format stream-json`, which ends in `complete`; also after errors, with exit code 0.

Messages of the model have an id. What goose says in its own name (an error, that it would like to be asked before
it goes on) comes as a message of the assistant without one, and only that tells it from an answer. What it has
used is the total of the conversation, see `totals`. Conversations have the names that we give them; one is there
as soon as anything is said in it, and can be gone on with if the process was ended then.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from weft.agents.failures import Failure, Program
from weft.agents.streams import count, events, inside, objects, words
from weft.agents.totals import marked, unmarked, used_since
from weft.agents.verdicts import Story, model_of, settings, verdict
from weft.plan.prices import Usage
from weft.ports.agent import AgentCall, AgentEnded, Invocation, Verdict

PROGRAM = Program(
    use="goose",
    name="goose",
    end="`complete`",
    sign_in="set GOOSE_PROVIDER and the key of that provider, such as OPENAI_API_KEY, or type: goose configure",
)
_ITS_ERROR = "Ran into this error:"
_ITS_REQUEST = "\n\nPlease retry"


def invoke(call: AgentCall) -> Invocation:
    argv = ("goose", "run", "-q", "--name", _name(call), *(() if call.session is None else ("--resume",)))
    rest = ("--with-builtin", "developer", *model_of(call), "--output-format", "stream-json")
    return Invocation(
        argv=(*argv, *rest, *call.agent.args, "-i", "-"),
        stdin=call.prompt,
        env=settings(call, {"GOOSE_MODE": "auto"}),
    )


def _name(call: AgentCall) -> str:
    """Of the conversation: one that nobody else has, and the same whenever it is asked for."""
    if call.session is not None:
        return unmarked(call.session)[0]
    return f"weft-{blake2b(call.result_file.encode(errors='replace'), digest_size=10).hexdigest()}"


def judge(call: AgentCall, ended: AgentEnded) -> Verdict:
    nobody = speaker = object()
    pieces: list[str] = []
    last: Mapping[str, Any] = {}
    trouble: str | None = None
    for event in events(ended.stdout):
        match event.get("type"):
            case "message" if inside(event, "message", "role") == "assistant":
                text = _text(event)
                if inside(event, "message", "id") != speaker:
                    speaker = inside(event, "message", "id")
                    pieces.clear()
                if text:
                    pieces.append(text)
            case "error":
                trouble = words(event.get("error")) or "it did not say why"
            case "complete":
                last = event
            case _:
                pass
    result = "".join(pieces)
    failure = _failure(last, result, trouble, is_own=speaker is None)
    total = _total(last)
    is_begun = bool(last) or speaker is not nobody
    story = Story(
        is_over=bool(last) and failure is None,
        failure=failure,
        result="" if failure else result,
        usage=used_since(call.session, total),
        session=marked(_name(call), total, before=call.session) if is_begun else None,
    )
    return verdict(PROGRAM, ended, story, call)


def _text(event: Mapping[str, Any]) -> str:
    content = objects(inside(event, "message", "content"))
    return "".join(words(part.get("text")) for part in content if part.get("type") == "text")


def _failure(last: Mapping[str, Any], said: str, trouble: str | None, *, is_own: bool) -> Failure | None:
    if trouble is not None:
        return Failure(text=trouble)
    if (is_own and said) or said.startswith(_ITS_ERROR):
        return Failure(text=said.removeprefix(_ITS_ERROR).partition(_ITS_REQUEST)[0].strip())
    if last and last.get("total_tokens") is None:
        return Failure(text="it told of no tokens at its end, which is how goose ends after an error")
    return None


def _total(last: Mapping[str, Any]) -> Usage | None:
    given, made = count(last.get("input_tokens")), count(last.get("output_tokens"))
    return None if given is None or made is None else Usage(input=given, output=made)
