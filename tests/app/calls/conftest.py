"""An executor at each engine. Functions of tests go as code: the site has no tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import cloudpickle
import pytest

import windlass
from windlass.app.following import wait
from windlass.app.session import Session

WORK = """
import os, sys, time

def double(x):
    return 2 * x

def fail(x):
    raise ValueError("not %s" % x)
"""


@pytest.fixture(autouse=True)
def by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    module = sys.modules[request.module.__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WINDLASS_TEST_BEAT_S", "1")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "windlass.toml").write_text('[run]\nname = "calls"\ncommand = "true"\nresults = ["results/**"]\n')
    (folder / "work_at_the_site.py").write_text(WORK)
    return folder


@pytest.fixture
def executor(session: Session, project: Path, site_name: str) -> Iterator[windlass.Executor]:
    with windlass.Executor(site_name, project=project, workers=2, linger="1m", time="10m", session=session) as made:
        yield made
    wait(session, made.record)  # nothing of it is left when the cluster is put away
