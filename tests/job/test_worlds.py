"""What the ranks of Horovod, TensorFlow and MPI find in their environment, and how they meet."""

import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from windlass_job.starting.hostlist import read_hosts
from windlass_job.starting.interfaces import find_interface
from windlass_job.starting.key_store import KeyStore
from windlass_job.starting.steps import read_step
from windlass_job.starting.worlds import WORLDS
from windlass_job.starting.worlds_horovod import find_store

# Two nodes that sort the other way round as text, with two ranks and one.
STEP = {
    "SLURM_JOB_ID": "45",
    "SLURM_STEP_NODELIST": "n[2,10]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
    "SLURM_STEP_NUM_TASKS": "3",
    "WINDLASS_PORT_BLOCK": "12000",
}


def make(world: str, rank: int, **more: str) -> dict[str, str]:
    place = {"SLURM_PROCID": rank, "SLURM_NODEID": int(rank > 1), "SLURM_LOCALID": rank if rank < 2 else 0}
    return WORLDS[world]({**STEP, **{name: str(value) for name, value in place.items()}, **more})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", ["n1"]),
        ("n[2,10],login1", ["n2", "n10", "login1"]),
        ("gpu[008-011]", ["gpu008", "gpu009", "gpu010", "gpu011"]),
        ("r[1-2]c[5,7]-ib", ["r1c5-ib", "r1c7-ib", "r2c5-ib", "r2c7-ib"]),
        ("", []),
    ],
)
def test_hosts_are_written_out_in_slurms_order(text: str, hosts: list[str]) -> None:
    assert read_hosts(text) == hosts


# ---- TensorFlow -------------------------------------------------------------------------------------


def test_workers_stand_in_the_order_of_their_ranks_and_not_of_their_names() -> None:
    configs = [json.loads(make("tensorflow", rank)["TF_CONFIG"]) for rank in range(3)]

    assert [one["cluster"] for one in configs] == [{"worker": ["n2:12003", "n2:12004", "n10:12003"]}] * 3
    assert [one["task"] for one in configs] == [{"type": "worker", "index": rank} for rank in range(3)]


def test_workers_are_reached_over_the_fabric_and_never_through_a_proxy() -> None:
    made = make("tensorflow", 0, WINDLASS_HOST_SUFFIX="-ib")

    assert '"n2-ib:12003"' in made["TF_CONFIG"]
    assert made["no_grpc_proxy"] == "n2-ib,n10-ib"


def test_pretended_nodes_of_one_machine_have_different_ports() -> None:
    config = json.loads(make("tensorflow", 0, WINDLASS_POCKET_JOB="45.token")["TF_CONFIG"])

    assert config["cluster"]["worker"] == ["127.0.0.1:12003", "127.0.0.1:12004", "127.0.0.1:12005"]


@pytest.mark.parametrize(
    ("rank", "visible", "seen"),
    [(0, "0,1,2,3", "0,1"), (1, "0,1,2,3", "2,3"), (2, "0,1", None), (1, "0", None), (0, "", None)],
)
def test_workers_of_a_node_see_different_gpus(rank: int, visible: str, seen: str | None) -> None:
    assert make("tensorflow", rank, CUDA_VISIBLE_DEVICES=visible).get("CUDA_VISIBLE_DEVICES") == seen


# ---- Horovod ----------------------------------------------------------------------------------------


def test_horovod_knows_its_place_on_the_node_and_across_nodes() -> None:
    names = ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")

    places = [tuple(make("horovod", rank)[f"HOROVOD_{name}"] for name in names) for rank in range(3)]

    assert places == [
        ("0", "3", "0", "2", "0", "2"),
        ("1", "3", "1", "2", "0", "1"),
        ("2", "3", "0", "1", "1", "2"),
    ]


def test_horovod_meets_on_the_first_node() -> None:
    made = make("horovod", 2)

    assert (made["HOROVOD_GLOO_RENDEZVOUS_ADDR"], made["HOROVOD_GLOO_RENDEZVOUS_PORT"]) == ("n2", "12003")
    assert made["HOROVOD_HOSTNAME"] == "n10"
    assert made["HOROVOD_CONTROLLER"] == made["HOROVOD_CPU_OPERATIONS"] == "gloo"


def test_what_the_user_or_the_site_says_of_horovod_counts() -> None:
    made = make("horovod", 0, HOROVOD_GLOO_IFACE="ib0", HOROVOD_GLOO_TIMEOUT_SECONDS="600")

    assert not {"HOROVOD_GLOO_IFACE", "HOROVOD_GLOO_TIMEOUT_SECONDS"} & set(made)


def test_the_interface_is_the_one_that_leads_there() -> None:
    assert find_interface("127.0.0.1") == "lo"
    assert find_interface("no-such-host.invalid") is None


@pytest.fixture
def store() -> Iterator[int]:
    server = KeyStore(0)
    server.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def ask(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_ranks_tell_each_other_their_addresses(store: int) -> None:
    assert ask(store, "GET", "/global/0") == (404, b"")
    assert ask(store, "PUT", "/global/0", b"\0address") == (200, b"")
    assert ask(store, "GET", "/global/0") == (200, b"\0address")
    assert ask(store, "GET", "/local/0") == (404, b"")


def test_a_rank_that_has_finished_takes_nothing_from_the_others(store: int) -> None:
    ask(store, "PUT", "/global/0", b"address")

    assert ask(store, "DELETE", "/global/0")[0] == 200
    assert ask(store, "GET", "/global/0") == (200, b"address")


def test_a_value_that_would_fill_the_memory_is_refused(store: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", store, timeout=10)
    connection.putrequest("PUT", "/global/0")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()

    assert connection.getresponse().status == 400


def rank(number: int, port: int) -> dict[str, str]:
    return {
        "HOROVOD_RANK": str(number),
        "HOROVOD_HOSTNAME": "n2",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": "127.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT": str(port),
    }


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = other.getsockname()[1]

        problem = find_store(rank(0, port))

    assert problem == f"Horovod's rank 0 on n2 cannot meet the others at 127.0.0.1:{port}: Address already in use"


def test_a_rank_goes_on_when_the_store_is_there(store: int) -> None:
    assert find_store(rank(1, store)) is None


def test_a_rank_that_finds_no_store_says_so() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        problem = find_store(rank(1, unused.getsockname()[1]), patience_s=0.5)

    assert problem is not None
    assert problem.startswith("Horovod's rank 1 on n2 cannot meet the others at 127.0.0.1:")
    assert problem.endswith("Connection refused")


# ---- MPI --------------------------------------------------------------------------------------------


def test_ranks_that_mpirun_started_are_counted_by_it() -> None:
    names = {"RANK": "5", "SIZE": "8", "LOCAL_RANK": "1", "LOCAL_SIZE": "4"}

    made = make("mpi", 0, **{f"OMPI_COMM_WORLD_{name}": value for name, value in names.items()})

    assert made == {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    assert make("mpi", 0) == {}


def test_without_the_agents_ports_those_after_master_port_are_taken() -> None:
    env = {name: value for name, value in STEP.items() if name != "WINDLASS_PORT_BLOCK"}

    assert read_step({**env, "MASTER_PORT": "12001"}).first_port == 12003
