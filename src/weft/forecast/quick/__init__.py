"""Quick replications: the rules of the engine, without all that the engine does for real runs only.

A replication on the engine spends most of its time on what a forecast does not read: orders with templates,
facts, outputs, feedback, the records from which a run is resumed. A quick run takes a quarter of that time. It
reads the plan from tables (`quick_tables`), keeps tokens, requests and executions as numbers and small structs,
and takes the first execution of each work from lists that are drawn at once (`first_draws`).

**Why it equals the engine.** It does not model the rules of the engine. It has them, for runs in which nothing
fails for good: in such a run, no rule about failures, holds, pauses, questions or usage limits ever applies. What
remains is little, and each part of it is the engine's own, or a copy that acts in the same order:

- The net of a slice is the engine's `Script`, with the same places, transitions and outcomes. While nothing has
  failed for good, a token at a place has one transition to take.
- Room is granted by the engine's `Allocator`. It gets the same requests, with the same claims, keys and gates, in
  the same order. So lanes, hold-backs and bypass counts are the same (`quick_requests` copies `moves`,
  `admission` and `backlog`).
- Slices start, groups close and results land by the engine's wiring and `LandingOrder` (`quick_tree` copies
  `scopes`).
- The engine's `Budget` counts money, if there is a ceiling (`quick_budget` copies `expenses`).
- `quick_run` works off the queues in the order of `Engine._settle`, and the ends of executions in that of
  `VirtualRun`: by time, then by the number of the firing.

**It does not guess what it does not know.** A plan with a question, or a start in the middle of a slice, has no
quick runs. A run is given up when a step fails for good, meets a usage limit, or does not fit below a ceiling;
the engine then plays it from the start, with the same luck. So a quick run that ends is right, and nothing is
approximated.

The tests play hundreds of random plans both ways. The makespan, the cost, the use of each pool and the work of
each slice are equal to the last bit. A rule that changes in the engine and not here fails these tests.
"""
