"""A model that plays a script: a server on loopback which speaks what providers of models speak.

So agents can be tried for real, with no key and no network: what they send is on record, and what they are
answered is known beforehand. `script` says what can be answered, `server` how it is started.
"""
