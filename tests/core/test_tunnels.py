"""Ports as they are written, the ways to a node, and the lines that open them."""

import shlex
from dataclasses import replace

import pytest

from tests.builders import SITE
from windlass.core.services.tunnels import Ports, Spot, Way, check_host, list_ways, make_relay_line, read_ports
from windlass.core.site import Login, Software
from windlass.errors import UsageError

FAR = replace(SITE, login=Login(host="login"))
SPOT = Spot(site=FAR, job_id="4711", node="gpu042", port=8888)
PROGRAM = ("python3", "-I", "-c", "import os;print('it is here')")


def test_a_port_is_the_same_here_unless_another_is_named() -> None:
    assert read_ports("8888") == Ports(there=8888, here=8888)
    assert read_ports("8888:9999") == Ports(there=8888, here=9999, is_named=True)


@pytest.mark.parametrize("text", ["", "0", "65536", "http", "80:", ":80", "-1", "8888:9999:1", "٣"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no port"):
        read_ports(text)


@pytest.mark.parametrize("name", ["-oProxyCommand=x", "a b", "", "n1;id", "$(id)"])
def test_a_node_has_a_name_that_is_nothing_else(name: str) -> None:
    with pytest.raises(UsageError, match="no name of a node"):
        check_host(name)


def test_ssh_forwards_where_the_port_is_reached_and_a_step_calls_it_elsewhere() -> None:
    assert list_ways(FAR, is_reachable=True) == (Way.FORWARD, Way.SRUN, Way.SSH)
    assert list_ways(FAR, is_reachable=False) == (Way.SRUN, Way.SSH)
    assert list_ways(SITE, is_reachable=False) == (Way.SRUN,)
    assert list_ways(FAR, is_reachable=True, wanted=Way.SSH) == (Way.SSH,)


def test_a_step_shares_the_job_with_the_training_and_takes_no_gpu() -> None:
    words = shlex.split(make_relay_line(Way.SRUN, SPOT, PROGRAM))

    assert words[:2] == ["exec", "srun"]
    assert {"--jobid=4711", "--overlap", "--nodelist=gpu042", "--gres=none"} <= set(words)
    assert words[-len(PROGRAM) :] == list(PROGRAM)


def test_slurm_is_found_where_the_site_says() -> None:
    spot = replace(SPOT, site=replace(FAR, software=Software(slurm_path="/opt/my slurm/bin")))

    assert make_relay_line(Way.SRUN, spot, PROGRAM).startswith("export PATH='/opt/my slurm/bin':$PATH; exec srun ")


def test_by_ssh_the_program_arrives_word_for_word() -> None:
    words = shlex.split(make_relay_line(Way.SSH, SPOT, PROGRAM))

    assert words[:2] == ["exec", "ssh"]
    assert words[-2] == "gpu042"
    assert shlex.split(words[-1]) == ["exec", *PROGRAM]
