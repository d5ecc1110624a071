"""What can go wrong in pocket, in the words that Slurm uses."""


class PocketError(Exception):
    """Lines for stderr and an exit code; `bare` lines come without the `PROGRAM: error: ` in front."""

    def __init__(self, *lines: str, code: int = 1, bare: bool = False) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.code = code
        self.bare = bare


class UsageError(PocketError):
    """A wrong option: sbatch, srun and salloc leave with 255 there."""

    def __init__(self, *lines: str, code: int = 255, bare: bool = False) -> None:
        super().__init__(*lines, code=code, bare=bare)
