"""One poller for all that watch: pages, the terminal's screen, `windlass ps`, notebooks."""
