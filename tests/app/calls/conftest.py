"""Functions of tests go as code: the site has no tests."""

import sys
from collections.abc import Iterator

import cloudpickle
import pytest


@pytest.fixture(autouse=True)
def by_value(request: pytest.FixtureRequest) -> Iterator[None]:
    module = sys.modules[request.module.__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)
