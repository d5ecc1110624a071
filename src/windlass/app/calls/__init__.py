"""Calls of Python functions at a site, for `windlass.Executor`.

`packing` makes rows of calls and `outcomes` values of results; `streams` puts together what comes in pieces; `future`
is what the caller holds. `opening` starts a farm or finds it again; `desk` is the thread that sends calls and brings
results.
"""
