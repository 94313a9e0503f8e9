"""The keys below `merge`: how results are merged, verified together, land and are pushed."""

from weft.plan.language.kinds import Boolean, Choice, Integer, RemoteName, Switch
from weft.plan.language.kinds_of_many import ListOf
from weft.plan.language.records import Key, Record
from weft.plan.language.values import GLOB

MERGE = Record(
    "merge",
    "How results are merged from branch to branch and land on the target.",
    (
        Key(
            name="when", kind=Choice(("milestone", "slice")), default="milestone",
            doc="What lands: with `milestone` a top-level subplan as a whole, with `slice` each slice "
                "once it has passed.",
        ),
        Key(
            name="mode", kind=Choice(("auto", "confirm", "manual")), default="confirm",
            doc="How it lands: `auto` by itself, `confirm` after asking at the end of the run, `manual` "
                "with `weft merge`.",
        ),
        Key(
            name="order", kind=Choice(("sequential", "completion")), default="sequential",
            doc="The order in which results land: `sequential` is that of the plan, `completion` as they are "
                "completed. Within a group, it is the order of merging among those that are ready.",
        ),
        Key(
            name="take_branch", kind=ListOf(GLOB), default="[]",
            doc="Files for which a conflict is resolved by taking the branch's version.",
        ),
        Key(
            name="resolve", kind=Choice(("hold", "agent")), default="hold",
            doc="What happens when the merge of a slice has a conflict: with `hold` it waits for a person; with "
                "`agent` the slice's agent resolves the conflict first, and the result must pass verify.",
        ),
        Key(
            name="sign", kind=Switch(), default="auto",
            doc="Whether Weft signs the commits that it creates and that land: `auto` follows git's "
                "`commit.gpgSign`. One value for the whole plan.",
        ),
        Key(
            name="batch", kind=Integer(1, 1000), default="32",
            doc="The most results that are verified and land together; 1 runs `verify` for each of them. The "
                "value at the top of the plan counts.",
        ),
        Key(
            name="push", kind=RemoteName(), default="false",
            doc="Whether the target is pushed after a landing, never by force: `true` to its upstream, or the "
                "name of a remote. The value at the top of the plan counts.",
        ),
        Key(
            name="allow_red_base", kind=Boolean(), default="false",
            doc="Whether results may land although `verify` already fails on the target, as long as it ends with "
                "the same exit status. The value at the top of the plan counts.",
        ),
    ),
)  # fmt: skip
