"""Small plans with something of everything: they are killed, and robbed of their disk, at every point."""

PLAN = """
max_parallel: 3
infra_retries: 10
failure_mode: continue_on_error
subplans:
  - id: base
    verify: MARK; cat a.txt b.txt
    subplans:
      - id: a
        setup: [MARK, echo set up > setup.txt]
        steps:
          - {id: write, run: MARK; cat setup.txt > a.txt}
      - id: b
        depends_on: [a]
        verify: MARK; cat a.txt; grep good b.txt
        steps:
          - {id: code, run: "MARK; case {{ attempt }} in 1) echo bad;; *) echo good;; esac > b.txt"}
          - {id: note, run: "MARK; echo {{ feedback }} > why.txt"}
          - {id: check, action: verify, on_fail: {retry_from: code, max: 2}}
  - id: top
    depends_on: [base]
    verify: MARK; cat both.txt c.txt
    subplans:
      - id: both
        steps:
          - {id: one, async: true, run: MARK; cat a.txt}
          - {id: two, async: true, run: MARK; cat b.txt}
          - {id: join, action: join, depends_on: [one, two]}
          - {id: use, run: "MARK; echo {{ step.join.result }} > both.txt"}
      - id: c
        steps:
          - {id: write, run: MARK; echo c > c.txt}
      - id: wrong
        steps:
          - {id: fails, run: MARK; exit 3, on_error: continue}
          - {id: goes-on, run: MARK; echo w > w.txt}
"""

SMALL = """
infra_retries: 10
subplans:
  - id: g
    verify: MARK; cat a.txt b.txt
    subplans:
      - id: a
        setup: MARK; echo set up > setup.txt
        steps:
          - {id: one, async: true, run: MARK; cat setup.txt}
          - {id: two, async: true, run: MARK; echo two}
          - {id: join, action: join, depends_on: [one, two]}
          - {id: use, run: "MARK; echo {{ step.join.result }} > a.txt"}
      - id: b
        depends_on: [a]
        steps:
          - {id: x, run: MARK; cat a.txt > b.txt}
"""
