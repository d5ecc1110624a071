"""Errors about environments, packages and what is fetched before a run."""

from windlass.errors.general import ExitCode, WindlassError


class EnvironmentFailed(WindlassError):
    """An environment could not be built, packed or read. The first line that failed is quoted.

    What was built before is as it was, and runs go on using it. `windlass env build` tries again.
    """

    code = "E901"


class EnvironmentNotFound(WindlassError):
    """There is no environment, image or module of that name at the site.

    `windlass env list --on SITE` and `windlass modules find NAME --on SITE` show what there is.
    """

    code = "E902"


class EnvironmentInUse(WindlassError):
    """A run that is waiting or running uses this environment: it is not removed.

    Wait for the run (`windlass wait RUN`), or take it out of the queue (`windlass cancel RUN`).
    """

    code = "E903"


class WheelsMissing(WindlassError):
    """There are no wheels, at the site or in the index, of what the environment asks for. What was built is as it was.

    `windlass wheels check --on SITE` lists each. `wheels = "laptop"` in [environment] brings them from here.
    """

    code = "E904"


class RequirementsInvalid(WindlassError):
    """A list of packages (requirements.txt, pyproject.toml, uv.lock) cannot be read, or names what no site installs."""

    code = "E905"
    exit_code = ExitCode.USAGE


class PrefetchFailed(WindlassError):
    """What a run needs from the internet could not be fetched for nodes that have none. The first bad line is quoted.

    What was fetched stays in the caches at the site, and the same command goes on with it.
    """

    code = "E906"
