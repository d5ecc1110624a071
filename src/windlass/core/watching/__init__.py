"""What is shown of runs while they live and afterwards: on pages, on the terminal's screen, in notebooks."""
