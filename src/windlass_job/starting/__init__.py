"""How processes start and find each other: ranks, ports, the variables of each framework, helpers in the job."""
