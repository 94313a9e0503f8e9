"""The pipelines that every plan has. A plan that defines one of the same name uses its own.

A comment `# agent: NAME` below becomes a key if the plan or a configuration has an agent of that name. Otherwise
the slice's agent does the step, as with every step that names no agent.
"""

import re
from collections.abc import Collection
from functools import cache

from weft.plan.language.kinds import Text
from weft.plan.language.kinds_of_many import MapOf
from weft.plan.language.reader import Reader
from weft.plan.language.tables import STEPS
from weft.plan.loader import build
from weft.plan.model import Pipeline
from weft.plan.text.document import read_document

FILE = "built-in pipelines"

TEXT = """\
direct:
  - id: work
    prompt: |
      {{ slice.prompt }}
      {{ feedback }}
  - id: check
    action: verify
    on_fail: {retry_from: work}

tdd:
  - id: tests
    # agent: tester
    prompt: |
      Write tests for the task below, and nothing else. They must fail now, for the right reason,
      and pass once the task is done.
      {{ slice.prompt }}
  - id: code
    prompt: |
      Do the task below so that its tests pass. Do not weaken the tests.
      {{ slice.prompt }}
      {{ feedback }}
  - id: check
    action: verify
    on_fail: {retry_from: code}
  - id: judge
    # agent: judge
    read_only: true
    prompt: |
      Judge whether the work in this directory does the whole of the task below, and whether its tests
      would notice if it did not. Answer in JSON: accepted (true or false), reasons (a list of sentences).
      {{ slice.prompt }}
    output_schema:
      type: object
      properties:
        accepted: {type: boolean}
        reasons: {type: array, items: {type: string}}
      required: [accepted, reasons]
    on_result:
      - {when: step.judge.accepted == false, action: fail}
    on_fail: {retry_from: code}
"""


_AGENT = re.compile(r"# (agent: ([a-z]+))")
AGENTS = frozenset(match[2] for match in _AGENT.finditer(TEXT))
"""The names of agents that the built-in pipelines use if they exist."""


def built_in_pipelines(agents: Collection[str] = ()) -> dict[str, Pipeline]:
    """Returns the built-in pipelines for a plan with these agents."""
    return _pipelines(AGENTS.intersection(agents))


@cache
def _pipelines(agents: frozenset[str]) -> dict[str, Pipeline]:
    # The text and not the model is changed, so that `weft show` prints what really runs.
    text = _AGENT.sub(lambda match: match[1] if match[2] in agents else match[0], TEXT)
    document = read_document(text, FILE)
    steps_by_name = MapOf(Text(), STEPS).read(document.root, Reader(document), FILE)
    return {
        name: build.pipeline(name, steps, document, built_in=True) for name, steps in steps_by_name.items()
    }
