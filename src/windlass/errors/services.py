"""Errors about notebooks, tunnels and other services in a job."""

from windlass.errors.general import ExitCode, WindlassError


class TunnelFailed(WindlassError):
    """A port on the node of a job could not be reached from this laptop. The job itself goes on.

    What ssh or Slurm said is quoted. `windlass tunnel RUN PORT --by srun` tries one way only: forward, srun or ssh.
    """

    code = "E921"


class ServiceMissing(WindlassError):
    """The program that was asked for (JupyterLab, TensorBoard, nbclient with ipykernel) is not where it would run.

    The message has the line that installs it. Nothing was submitted unless it says so.
    """

    code = "E922"
    exit_code = ExitCode.CHECK_FAILED


class ServiceFailed(WindlassError):
    """A notebook or another service runs, or ran, and does not answer as it should.

    `windlass logs RUN` shows its words. The job goes on unless the message says otherwise: `windlass cancel RUN`.
    """

    code = "E923"


class InteractiveRefused(WindlassError):
    """This site does not want sessions that one types into, or not of this size. Nothing was asked of Slurm.

    `windlass site show SITE --more` tells what it wants. `windlass run` submits a batch job.
    """

    code = "E924"
    exit_code = ExitCode.CHECK_FAILED
