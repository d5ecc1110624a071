"""What is left of a run that ended: symptoms, tracebacks, the agent's papers, a ticket."""
