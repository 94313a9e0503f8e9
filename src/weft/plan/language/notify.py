"""The key `notify` of plans and configurations: whom to notify when a run needs a person or ends."""

from weft.plan.language.kinds import Boolean, Choice, Text
from weft.plan.language.kinds_of_many import Either, ListOf
from weft.plan.language.records import AtLeastOne, Key, Record, Words

EVENTS = ("finished", "failed", "conflict", "gate", "budget")
URL = Text(
    "a URL that begins with http:// or https://",
    pattern=r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][!-~]*)?",
)
_COMMAND = Either(
    scalar=Text("a command for /bin/sh"),
    items=ListOf(Text("an argument", empty=True), least=1),
    description="a command for /bin/sh, or a list of arguments",
)

NOTIFY = Record(
    "notify",
    "Who is told of what happens in a run, and how.",
    (
        Key(name="on", kind=ListOf(Choice(EVENTS), least=1), default=Words("all of them"),
            doc="Of what: `finished`, the run is completed; `failed`, a subplan or the run has failed; "
                "`conflict`, a merge is held until a person has helped; `gate`, a question waits, or a "
                "landing to be agreed to; `budget`, 75, 90 or 100 % of a ceiling is spent."),
        Key(name="run", kind=_COMMAND,
            doc="A command that gets the notice as JSON on its standard input, and in WEFT_NOTIFY_EVENT, "
                "WEFT_NOTIFY_TITLE, WEFT_NOTIFY_TEXT and WEFT_RUN."),
        Key(name="desktop", kind=Boolean(), default="false",
            doc="Whether it is shown on the desktop, with notify-send or osascript if there is one."),
        Key(name="webhook", kind=URL, doc="Where the notice is sent as JSON, by POST."),
    ),
    (AtLeastOne(("run", "desktop", "webhook")),),
)  # fmt: skip

NOTIFY_KEY = Key(
    name="notify",
    kind=Either(items=ListOf(NOTIFY), table=NOTIFY),
    default=Words("nobody is told"),
    doc="Who is told when a run needs somebody, or is over; one or several. The plan's own counts, else the "
    "project's, else the user's.",
    example="{on: [failed, gate], desktop: true}",
)
