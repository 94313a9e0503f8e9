"""The keys of plans and configurations about what a process can reach: its home, and a sandbox."""

from weft.plan.language.kinds import Boolean, Choice, Text
from weft.plan.language.kinds_of_many import Either, ListOf
from weft.plan.language.records import Key, Record, Words

PLACE_IN_SANDBOX = Text(
    "a path without ..: absolute, of your home as in ~/.cargo, or else in the slice's workspace",
    pattern=r"(?!(?:.*/)?\.\.(?:/|$))(?!~[^/])[^\x00\n]+",
)
_USES = Choice(("bwrap", "none"))
_PLACES = ListOf(PLACE_IN_SANDBOX)

SANDBOX = Record(
    "a sandbox",
    "What a process can reach. Of paths within each other the deepest counts; of one path, `hide` goes before "
    "`read`, and `read` before `write`.",
    (
        Key(name="use", kind=_USES, default="bwrap",
            doc="What makes it: `bwrap` is bubblewrap; with `none` there is no sandbox."),
        Key(name="network", kind=Boolean(), default="true", doc="Whether it reaches the network."),
        Key(name="hide", kind=_PLACES, default="[]", doc="What it does not see, besides your home and .weft.",
            example="[.env, /srv/data]"),
        Key(name="read", kind=_PLACES, default="[]",
            doc="What it sees and cannot change: places in your home that it needs, or parts of its workspace.",
            example="[~/.cargo, tests]"),
        Key(name="write", kind=_PLACES, default="[]", doc="What it may change besides its workspace.",
            example="[~/.cache/pip]"),
    ),
)  # fmt: skip

_KIND = Either(scalar=_USES, table=SANDBOX)
SANDBOX_KEY = Key(
    name="sandbox", kind=_KIND, default="none", example="{network: false}",
    doc="Whether processes are confined to the workspace: with `bwrap` they write nowhere else, and see nothing "
        "of your home. They have an isolated home then.",
)  # fmt: skip
ISOLATED_HOME_KEY = Key(
    name="isolated_home", kind=Boolean(), default="false",
    doc="Whether processes have a home of their own, one for each slice of a run, with nothing of yours in it.",
)  # fmt: skip

ISOLATION_KEYS = (ISOLATED_HOME_KEY, SANDBOX_KEY)
"""The keys as settings."""
AGENT_ISOLATION_KEYS = (
    Key(name="isolated_home", kind=Boolean(), default=Words("the setting `isolated_home`"),
        doc="Whether it has a home of its own, one for each slice of a run."),
    Key(name="sandbox", kind=_KIND, default=Words("the setting `sandbox`"),
        doc="Whether it is confined to the workspace; what is not said here is as the setting says."),
)  # fmt: skip
STEP_SANDBOX_KEY = Key(
    name="sandbox", kind=_KIND, default=Words("the setting `sandbox`"),
    doc="Whether its process is confined to the workspace; what is not said here is as the agent says, else the "
        "setting.",
)  # fmt: skip
