"""Events: what a run tells, and what its journal holds.

Each fact makes exactly one event that carries it, and then those that follow from it. So the journal needs no
second book: the facts in it, in order, give the state; and the events between them must come out again when they
are fed in.

kind             outcome                                  data
run_started                                               plan, run, subplans, slices (how many)
run_finished     completed, failed, stopped               counts, seconds, message, cause, reason, unknown_costs,
                                                          stuck (what waits for ever; never seen)
subplan_state    the state it is in now                   from, reason, message, cause, failure, carried
step_started                                              firing, execution, transition, kind, command, agent,
                                                          model (if one was asked for), interruption (what an
                                                          agent is told of a cut-off execution), concurrent_group,
                                                          launched_at, pools, session and fork (the conversation
                                                          that an agent goes on with), inputs (a digest of
                                                          what the templates of the step came to)
step_finished    done, failed, rejected, timeout, …       firing, execution, exit_code, signal, message, tail,
                                                          seconds, until, files, conflict, waits_for, asks, moves,
                                                          culprits, session (an agent's), changed (whether an
                                                          agent that was to change files has, in this attempt
                                                          so far), concurrent_group,
                                                          launched_at, completed_at; of what is no process, as
                                                          a join, only message and the times; `rejected`: the
                                                          step ran well, and its result was turned down:
                                                          rejected_by (output_schema, on_result), and message
                                                          is the schema error or the rule
                                                          kept (of @workspace: an earlier run left it);
                                                          earlier_run: the step ended in that run, and was
                                                          not launched in this one; answered has it, too
step_skipped     condition, dependency, cancelled         message
step_cancelled                                            firing, execution, cause
ask                                                       question, firing, transition
answered         yes, no                                  text
stopping                                                  now
paused           pause, freeze, stop                      now; of a subplan and all in it, or of all
resumed          go
recovered                                                 epoch, running (firings taken over)
coordinator_left                                          it ends while only people can continue the run
woke
merge            merged, held, conflict                   of a @merge or @land: message, files, waits_for,
                                                          moves, red (held because a verify failed)
verify           started, passed, failed, timeout, …      of the landing queue: tree, commit, entries (the
                                                          subplans that would land), commands; at its end
                                                          exit_code, seconds, message, tail, log (the beginning
                                                          of its files' names)
push             pushed, failed                           remote, commit, message, command (to push it later),
                                                          final (not tried again)
merge_asked                                               subplan; with --now parts and joins: the subplans
                                                          whose completed parts land, and results that no longer
                                                          wait for their turn
parts            started, landed, held, failed, …         a landing of completed parts: firing, execution; at its
                                                          end parts (the slices that the target has), moves,
                                                          message, red
conflict_ahead   ahead, over                              other, files
left_out                                                  group (it goes on without), culprits, message
spent                                                     firing, execution; of a step under way: cost and tokens
                                                          are what it has spent so far, all in all
cost_unknown                                              firing, execution: it has ended without telling its cost;
                                                          reserved, reserved_tokens: what stays reserved for it
outside_changed                                           place (a slice; empty for the user's checkout),
                                                          directory, files, more (how many others), during (steps
                                                          of agents that ran meanwhile): see `OutsideChange`
limited                                                   firing, agents, until: a usage limit was met
limits_ended                                              a person has ended all usage limits
budget           alert, reached                           unit (usd, tokens), spent, reserved, ceiling, percent
                 reset                                    the ceilings count from zero from here on
ignored                                                   what came too late: firing, or subplan and step

A step that is none of the plan's own has a name with @: @workspace, @merge, @resolve, @land, a group's @verify. A
@merge with a conflict that an agent is to resolve ends as `conflict`; if it waits for a person, as `held`.
"""

from typing import Any

from msgspec import Struct, field

from weft.engine.messages.facts import AnyFact


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    subplan: str = ""
    """The path; empty for the whole plan."""
    step: str = ""
    attempt: int = 0
    outcome: str = ""
    cost: int | None = None
    """In micro-dollars."""
    tokens: int | None = None
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    fact: AnyFact | None = None


class Recorded(Struct, frozen=True, kw_only=True):
    """An event in the journal."""

    seq: int
    """1, 2, 3 … over all runs, without a gap within one."""
    at: float
    run: str
    event: Event
