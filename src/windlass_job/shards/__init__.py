"""Many small files in a few large ones: plain tar archives, an index beside each, and a card about them all.

The laptop writes and reads them as jobs do, so both import this room. It needs nothing but the standard library.
"""
