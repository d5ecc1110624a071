"""Behind `windlass_job.run`: checkpoints that are whole or not there, progress, metrics, the end of time."""
