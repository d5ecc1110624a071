"""Rows of the inventory of the centres' documents, by what of a centre they are about: for the names of tests."""

_ROWS = {
    "sdumont": {
        "nvidia": "SD-07",
        "nvidia_small": "SD-08",
        "nvidia_dev": "SD-09",
        "nvidia_scal": "SD-10",
        "nvidia_long": "SD-11",
        "het_scal": "SD-12",
        "gdl": "SD-13",
        "sequana_gpu_shared": "SD-14",
        "b715": "SD-03",
        "ai": "SD-04",
        "bseq": "SD-05",
        "sequana_gpu": "SD-01",
        "sequana_gpu_dev": "SD-01",
        "sequana_gpu_long": "SD-01",
    },
    "jureca-dc": {"gpu": "JS-04", "dc-gpu": "JS-08", "account-none": "JS-10", "reservation": "JS-24"},
    "juwels-booster": {"gpu": "JS-05", "booster": "JS-08", "account-none": "JS-10", "reservation": "JS-24"},
    "daint": {"normal": "CS-13", "low": "CS-13", "gpu": "CS-12"},
    "wilson": {
        "cpu_gce": "WI-10",
        "cpu_gce_test": "WI-11",
        "gpu_gce": "WI-12",
        "gpu_gce_ppc": "WI-13",
        "a100": "WI-14",
        "v100": "WI-15",
        "p100": "WI-16",
        "p100nvlink": "WI-17",
        "opp": "WI-06",
        "regular": "WI-07",
        "test": "WI-08",
        "admin": "WI-09",
        "account": "WI-05",
        "one-gpu": "WI-19",
    },
    **{name: {"limit": "CA-58", "account-none": "CA-26"} for name in ("beluga", "cedar", "graham", "narval")},
}


def make_id(name: str, id: str, about: str = "") -> str:
    """`SD-07-sdumont-longest-nvidia`; without a row where none is about it."""
    rows = _ROWS.get(name.partition("@")[0], {})
    row = rows.get(about) or rows.get(id) or rows.get(id.partition("-")[0])
    return f"{row}-{name}-{id}" if row else f"{name}-{id}"
