"""Site files read into a Site: every field has a key, and what does not fit together is told."""

import dataclasses
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core import site as kinds
from windlass.core.site import CostUnit, GpuDialect, Site
from windlass.core.toml import site_file as shapes
from windlass.core.toml.reading import Shape, Table
from windlass.core.toml.site_file import SITE, find_problems, read_site

WILSON = """
name = "wilson"
title = "Wilson cluster"
root = "/work1/$USER/windlass"
onboarding = ["ask for a Kerberos account"]

[login]
host = "wc.example.org"
jump = ["gate.example.org"]
options = {ServerAliveInterval = "30", IPQoS = "throughput"}
globus = "fnal#wilson"

[storage.work1]
path = "/work1"
quota_gb = 100
per_group = true

[gpu.v100]
memory_gb = 32
capability = "7.0"

[node.v100]
count = 4
cores = 40
memory_gb = 188
gpu = "v100"
gpus = 2

[partition.gpu_gce]
nodes = ["v100"]
max_time = "24h"
default_time = "8:00:00"
qos = ["opp"]

[qos.opp]
max_time = "8h"
max_submitted = 50
priority = 0

[accounting]
unit = "gpu-hours"

[rules]
jobs_from_home = false
gpu_dialect = "gpus-per-node"
time_bins = ["3h", "12h"]

[network]
env = {NCCL_IB_HCA = "ipogif0"}

[sources]
partition.gpu_gce.max_time = "user guide"
"qos.opp" = "sacctmgr"
"""


def problems(text: str, name: str = "x") -> list[str]:
    found = read_site(tomllib.loads(text), name)
    assert not isinstance(found, Site)
    return [f"{one.key}: {one.message}" for one in found]


def test_a_whole_site_is_read() -> None:
    site = read_site(tomllib.loads(WILSON), "wilson")

    assert isinstance(site, Site)
    assert site.login.jump == ("gate.example.org",)
    assert site.partitions[0].name == "gpu_gce"
    assert site.gpu("v100") == site.gpus[0]
    assert site.rules.gpu_dialect is GpuDialect.GPUS_PER_NODE
    assert site.accounting.unit is CostUnit.GPU_HOURS
    assert site.network.env == {"NCCL_IB_HCA": "ipogif0"}
    assert site.sources == {"partition.gpu_gce.max_time": "user guide", "qos.opp": "sacctmgr"}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (shapes.LOGIN, kinds.Login),
        (shapes.MACHINE, kinds.Machine),
        (shapes.AREA, kinds.Area),
        (shapes.GPU, kinds.GpuKind),
        (shapes.NODE, kinds.NodeType),
        (shapes.PARTITION, kinds.Partition),
        (shapes.QOS, kinds.Qos),
        (shapes.ACCOUNTING, kinds.Accounting),
        (shapes.RULES, kinds.Rules),
        (shapes.SOFTWARE, kinds.Software),
        (shapes.NETWORK, kinds.Network),
        (shapes.SITE, kinds.Site),
    ],
)
def test_every_field_has_a_key(fields: dict[str, Shape], kind: type) -> None:
    named = {"name"} if kind is not Site else set()

    assert {shape.into or key for key, shape in fields.items()} | named >= {
        one.name for one in dataclasses.fields(kind)
    }
    assert {shape.into or key for key, shape in fields.items()} <= {one.name for one in dataclasses.fields(kind)}


def test_a_queue_of_another_category_is_closed() -> None:
    text = 'category = "standard"\n[partition]\nall = {}\nrich = {category = "premium"}\nno = {forbidden = "ask"}\n'
    site = read_site(tomllib.loads(text), "x")

    assert isinstance(site, Site)
    assert [site.find_closed(one) for one in site.partitions] == [
        None,
        'it is for premium projects only; category = "premium" in the site file',
        "ask",
    ]
    assert [one.name for one in site.list_partitions("standard")] == ["all"]
    assert [one.name for one in site.list_partitions("premium")] == ["all", "rich"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[node.a]\ngpu = "v10"\n[gpu.v100]', 'node.a.gpu: there is no [gpu.v10]; did you mean "v100"?'),
        ('[partition.p]\nnodes = ["n"]', "partition.p.nodes: there is no [node.n]"),
        ('[partition.p]\nqos = ["a"]\n[qos.long]', "partition.p.qos: there is no [qos.a]"),
        ('[partition.p]\nmax_time = "1h"\ndefault_time = "2h"', "partition.p.default_time: is longer than max_time"),
        ("[partition.p]\nmax_nodes = 1\nmin_nodes = 2", "partition.p.min_nodes: is more than max_nodes"),
        ("[storage.s]\nquota_gb = 1", 'storage.s.path: missing; write where it is: path = "$SCRATCH"'),
        (
            '[rules]\ngpu_dialect = "gress"',
            'rules.gpu_dialect: expected one of gres, gpus-per-node, constraint, none; did you mean "gres"?',
        ),
        ('[login]\nhost = "-oProxyCommand=id"', "login.host: cannot begin with -"),
        ('[login]\nuser = "a b"', "login.user: cannot hold a blank"),
        ("[login]\nport = 70000", "login.port: must be at most 65535"),
        ('[partition."a b"]', 'partition."a b": is no name; use letters, digits, - and _'),
        ('name = "y"', 'name: the file is called "x"; remove the line or rename the file'),
        ("[partitions.gpu]", 'partitions: unknown key; did you mean "partition"?'),
        ("[storage.s]\npath = '/x'\nquota_gb = nan", "storage.s.quota_gb: expected a number that is finite"),
    ],
)
def test_what_does_not_fit_is_told(text: str, expected: str) -> None:
    assert problems(text) == [expected]


tangled = st.recursive(
    st.text() | st.integers() | st.floats() | st.booleans() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
tables = {key: shape.item for key, shape in SITE.items() if hasattr(shape, "item") and isinstance(shape.item, Table)}


@pytest.mark.parametrize("table", sorted(tables))
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_no_value_breaks_the_reader(table: str, data: st.DataObject) -> None:
    inner = st.dictionaries(st.sampled_from(sorted(tables[table].fields)), tangled)
    values = {table: data.draw(st.dictionaries(st.text() | st.just("a"), inner))}

    assert read_site(values, "x")
    find_problems(values)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(SITE)) | st.text(), tangled))
def test_no_file_breaks_the_reader(values: dict[str, object]) -> None:
    assert read_site(values, "x")
    find_problems(values)
