"""Pocket: a Slurm for one machine, on which the scripts run that run on a real Slurm.

No root and no daemon to set up. Who does what:

- `programs/` has one file a program (`sbatch`, `srun`, …); they talk to each other through the database only.
- `keeper.py` decides what starts; the first program that needs it starts it, and it leaves when idle.
- `supervisor.py` runs one batch job, and `watch.py` keeps its clock, its memory and its orders. Jobs outlive the
  keeper, and `recovery.py` finds those whose supervisor died.
- Decisions are apart from all that and pure: `directives request layout scheduling dependencies environment …`

`pocket.toml` in the state folder may say `cpus memory_mb gpus gpu_type kill_wait_s idle_s requeue_delay_s
names_nodes`, `[partitions.NAME]` with `max_time max_nodes default`, and `[pretend]` (`pretence.py`), by which another
machine is rehearsed.
"""
