"""Every page of the dashboard: a new one is a line here, and is then looked at in all the ways the tests know."""

from tests.web.browser.sample import BROKEN, EARLIER, HOSTILE, MAIN, SITE, SWEEP, WAITING

PAGES = {
    "today": "/",
    "runs": "/runs",
    "runs-found": "/runs?q=sweep&state=waiting",
    "run": f"/runs/{MAIN}",
    "run-waiting": f"/runs/{WAITING}",
    "run-failed": f"/runs/{BROKEN}",
    "points": f"/runs/{MAIN}/points?name=loss",
    "points-gauges": f"/runs/{MAIN}/points?what=use",
    "run-hostile": f"/runs/{HOSTILE}",
    "log": f"/runs/{MAIN}/log",
    "log-found": f"/runs/{MAIN}/log?q=UserWarning",
    "log-hostile": f"/runs/{HOSTILE}/log",
    "chain": f"/runs/{MAIN}/chain",
    "compare": f"/compare?run={MAIN}&run={EARLIER}&run={WAITING}",
    "sweeps": "/sweeps",
    "sweep": f"/sweeps/{SWEEP}",
    "sweep-hostile": f"/sweeps/{HOSTILE}",
    "paper": f"/runs/{MAIN}/papers/job-1.sh",
    "confirm": f"/runs/{MAIN}/cancel",
    "tensorboard": f"/runs/{MAIN}/open/tensorboard",
    "jupyter": f"/runs/{MAIN}/open/jupyter",
    "why": f"/runs/{BROKEN}/why",
    "sites": "/sites",
    "site": f"/sites/{SITE}",
    "site-not-asked": "/sites/narval",
    "budgets": "/budget",
    "budget": f"/budget/{SITE}",
    "missing": "/runs/nobody",
}
