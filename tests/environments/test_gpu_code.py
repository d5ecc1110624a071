"""GPU code in libraries, found without importing them."""

import struct
from pathlib import Path

from windlass_job.working.gpu_code import find_gpu_code, read_fatbins, read_flags


def make_entry(kind: int, architecture: int, code: bytes = b"code") -> bytes:
    head = struct.pack("<HHIQ", kind, 0x101, 64, len(code)) + bytes(12) + struct.pack("<I", architecture)
    return head.ljust(64, b"\0") + code


def make_fatbin(*entries: bytes) -> bytes:
    inside = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(inside)) + inside


def test_pieces_of_a_library_are_found_wherever_they_lie() -> None:
    first = make_fatbin(make_entry(2, 80), make_entry(2, 90, b"x" * 1000))
    second = make_fatbin(make_entry(1, 90), make_entry(2, 80))

    assert read_fatbins(b"elf" * 77 + first + bytes(5) + second + b"tail") == ["compute_90", "sm_80", "sm_90"]


def test_what_only_looks_like_one_is_passed_over() -> None:
    magic = struct.pack("<I", 0xBA55ED50)
    broken = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 10**9)

    assert read_fatbins(magic) == []
    assert read_fatbins(magic * 9 + broken + make_fatbin(make_entry(2, 75)) + broken + magic) == ["sm_75"]
    assert read_fatbins(make_fatbin(make_entry(7, 80))) == []
    assert read_fatbins(b"") == []


def test_pytorch_says_it_in_words() -> None:
    text = b"\0sm_\0compute_\0sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90\0sm_80\0"

    assert read_flags(text) == ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
    assert read_flags(b"no sm_80 here") == []


def test_the_libraries_of_an_environment_are_read(tmp_path: Path) -> None:
    packages = tmp_path / "[env]" / "lib" / "python3.11" / "site-packages"
    (packages / "torch" / "lib").mkdir(parents=True)
    (packages / "torch" / "lib" / "libtorch_python.so").write_bytes(b"\0sm_80 sm_90\0")
    (packages / "jax_plugins" / "xla_cuda12").mkdir(parents=True)
    (packages / "jax_plugins" / "xla_cuda12" / "xla_cuda_plugin.so").write_bytes(make_fatbin(make_entry(1, 90)))
    (packages / "tensorflow").mkdir()
    (packages / "tensorflow" / "libtensorflow_cc.so.2").write_bytes(b"")

    assert find_gpu_code(str(tmp_path / "[env]")) == {"torch": ["sm_80", "sm_90"], "jax": ["compute_90"]}
