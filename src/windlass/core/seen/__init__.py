"""What a look at a living site means: free nodes, quotas, balances, estimates, a draft of its file."""
