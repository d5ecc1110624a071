"""What goes by its name, what as code, and when a function is packed anew."""

import functools
import io
import math
import pickle
import zipfile

import pytest

from windlass.app.calls.packing import Packer, can_go_by_name, make_cloudpickle_zip, pack_arguments, pack_function
from windlass.errors import NotSendable
from windlass_job import wire


def scale(x: int) -> int:
    return 2 * x


class Scaled:
    def __call__(self, x: int) -> int:
        return x

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("function", [math.sqrt, functools.partial(math.pow, 2), "".join, pytest.approx])
def test_what_can_be_imported_goes_by_name(function: object) -> None:
    assert can_go_by_name(function)  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [lambda: 1, scale, functools.partial(scale, 1)])
def test_what_is_only_here_goes_as_code(function: object) -> None:
    assert not can_go_by_name(function)  # type: ignore[arg-type]


def test_a_function_is_packed_once() -> None:
    packer = Packer()

    calls = [packer.pack_call(scale, (number,), {}) for number in range(3)]

    assert len({id(call.packed) for call in calls}) == 1
    assert all(call.row.startswith(call.packed.digest) for call in calls)
    assert len(calls[0].packed.digest) == wire.CALL_DIGEST
    assert pickle.loads(calls[2].row[wire.CALL_DIGEST :]) == ((2,), {})


def test_a_function_whose_variables_changed_is_packed_anew() -> None:
    packer, factor = Packer(), 2

    def scale_by(x: int) -> int:
        return factor * x

    before = packer.pack_call(scale_by, (1,), {}).packed
    again = packer.pack_call(scale_by, (2,), {}).packed
    factor = 10

    assert again is before
    assert packer.pack_call(scale_by, (1,), {}).packed.digest != before.digest


def test_code_among_arguments_wants_the_same_python() -> None:
    packer = Packer()

    plain, with_code = packer.pack_call(map, ("x",), {}), packer.pack_call(map, (scale,), {})

    assert not plain.packed.by_value
    assert with_code.packed.by_value
    assert with_code.packed.digest != plain.packed.digest


def test_what_cannot_be_hashed_can_be_called() -> None:
    call = Packer().pack_call(Scaled(), (1,), {})

    assert pickle.loads(call.packed.content.partition(b"\n")[2])(3) == 3


def test_chunks_of_one_function_are_of_one_function() -> None:
    packer = Packer()

    calls = [packer.pack_each(math.sqrt, [(number,)]) for number in range(3)]

    assert len({call.packed.digest for call in calls}) == 1
    assert pickle.loads(calls[0].packed.content.partition(b"\n")[2])([(4,), (9,)]) == [2.0, 3.0]


def test_generators_are_refused() -> None:
    with pytest.raises(NotSendable, match="generator"):
        pack_arguments(((number for number in range(3)),), {})
    with pytest.raises(NotSendable, match="cannot be sent"):
        pack_function(io.TextIOWrapper(io.BytesIO()).write)


def test_cloudpickle_goes_along_as_it_is_installed() -> None:
    names = zipfile.ZipFile(io.BytesIO(make_cloudpickle_zip())).namelist()

    assert {"cloudpickle/__init__.py", "cloudpickle/cloudpickle.py"} <= set(names)
