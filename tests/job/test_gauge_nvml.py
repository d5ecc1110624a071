"""NVIDIA's library by ctypes, with a small one in its place; `benchmarks/gauges.py --gpu` asks the real one."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Two cards, the second cut into slices, and two of another job. The prototypes are those of nvml.h.
LIBRARY = r"""
#include <stdio.h>
#include <string.h>
typedef struct card *device;
struct card { const char *uuid; unsigned use, milliwatts, is_cut; unsigned long long total, used; } CARDS[] = {
  {"GPU-a312", 87, 412345, 0, 143771ull << 20, 30211ull << 20},
  {"GPU-b423", 0, 60123, 1, 40960ull << 20, 512ull << 20},
  {"MIG-c534", 0, 0, 0, 4864ull << 20, 37ull << 20},
};
struct newer { unsigned version; unsigned long long total, reserved, free, used; };
struct older { unsigned long long total, free, used; };
enum { WELL = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6, MISMATCH = 25 };
int nvmlInit_v2(void) { return WELL; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 4; return WELL; }
int nvmlDeviceGetHandleByIndex_v2(unsigned place, device *found) {
  if (place == 0 || place == 3) return NO_PERMISSION;  /* those of another job */
  *found = &CARDS[place - 1];
  return WELL;
}
int nvmlDeviceGetHandleByUUID(const char *uuid, device *found) {
  for (unsigned i = 0; i < 3; i++) if (!strcmp(CARDS[i].uuid, uuid)) { *found = &CARDS[i]; return WELL; }
  return NOT_FOUND;
}
int nvmlDeviceGetUUID(device card, char *text, unsigned size) { snprintf(text, size, "%s", card->uuid); return WELL; }
int nvmlDeviceGetName(device card, char *text, unsigned size) { snprintf(text, size, "NVIDIA H200"); return WELL; }
int nvmlDeviceGetUtilizationRates(device card, struct { unsigned gpu, memory; } *rates) {
  if (card != &CARDS[0]) return NOT_SUPPORTED;
  rates->gpu = card->use; rates->memory = 11;
  return WELL;
}
#ifdef NEWER
int nvmlDeviceGetMemoryInfo_v2(device card, struct newer *memory) {
  if (memory->version != (sizeof(struct newer) | 2 << 24)) return MISMATCH;
  memory->total = card->total; memory->reserved = 600ull << 20; memory->used = card->used;
  return WELL;
}
#endif
int nvmlDeviceGetMemoryInfo(device card, struct older *memory) {
  memory->total = card->total; memory->used = card->used + (600ull << 20);
  return WELL;
}
int nvmlDeviceGetPowerUsage(device card, unsigned *milliwatts) {
  *milliwatts = card->milliwatts;
  return card == &CARDS[2] ? NOT_SUPPORTED : WELL;
}
int nvmlDeviceGetMigMode(device card, unsigned *current, unsigned *pending) {
  *current = *pending = card->is_cut;
  return WELL;
}
"""
ASK = """
import json, os
from windlass_job.gauging.cards import open_cards
cards = open_cards(os.environ, 2)
print(json.dumps({"about": cards.about, "read": cards.read()}))
"""


def ask(folder: Path, *flags: str, **env: str) -> dict[str, Any]:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (folder / "library.c").write_text(LIBRARY)
    argv = [
        compiler,
        "-w",
        "-shared",
        "-fPIC",
        *flags,
        "-o",
        str(folder / "libnvidia-ml.so.1"),
        str(folder / "library.c"),
    ]
    subprocess.run(argv, check=True)
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CUDA_", "SLURM_"))}
    env = {**clean, "LD_LIBRARY_PATH": str(folder), **env}
    said = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True).stdout
    answer = json.loads(said)
    assert isinstance(answer, dict)
    return answer


def test_cards_tell_use_memory_and_power(tmp_path: Path) -> None:
    answer = ask(tmp_path, "-DNEWER", CUDA_VISIBLE_DEVICES="0,1")

    assert answer["about"] == [
        {"uuid": "GPU-a312", "name": "NVIDIA H200", "memory_mb": 143771},
        {"uuid": "GPU-b423", "name": "NVIDIA H200", "memory_mb": 40960, "slice": True},
    ]
    assert answer["read"] == [[87, 30211, 412.345], [None, 512, 60.123]]


def test_an_older_library_counts_what_the_driver_keeps_too(tmp_path: Path) -> None:
    assert ask(tmp_path, CUDA_VISIBLE_DEVICES="GPU-a3")["read"] == [[87, 30811, 412.345]]


def test_of_a_slice_only_its_memory_is_known(tmp_path: Path) -> None:
    answer = ask(tmp_path, "-DNEWER", CUDA_VISIBLE_DEVICES="MIG-c534")

    assert answer["about"] == [{"uuid": "MIG-c534", "name": "NVIDIA H200", "memory_mb": 4864, "slice": True}]
    assert answer["read"] == [[None, 37, None]]
