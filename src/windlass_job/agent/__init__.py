"""The agent: takes a link of the chain, runs the command as the job, watches over it, and judges its end."""
