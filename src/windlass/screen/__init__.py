"""`windlass top`: runs, queue, gauges and logs in a terminal, 80 columns and 24 lines or more.

`starting` opens it and leaves the terminal clean, `top` is the program, `seeing` reads what `app/watching` has seen,
the `*_words` say it in lines, and the widgets show them. textual comes with the extra `top`. No text is ever read as
markup: all that is shown goes through `lines`.
"""
