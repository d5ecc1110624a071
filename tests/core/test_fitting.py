"""One run file for a supercomputer and for a laptop."""

from windlass.core.placing.fitting import cut_to_fit
from windlass.core.placing.queues import Queue
from windlass.core.run import Resources

LAPTOP = (Queue(name="pocket", cores=8, memory_mb=16_000),)
WORKSTATION = (Queue(name="pocket", cores=16, memory_mb=64_000, gpu="", gpus=2),)


def test_without_gpus_the_run_goes_on_without() -> None:
    fitting, reasons = cut_to_fit(Resources(nodes=2, gpus_per_node=4, gpu="a100"), LAPTOP)

    assert (fitting.gpus, fitting.gpus_per_node, fitting.gpu) == (None, None, None)
    assert {reason.field for reason in reasons} == {"gpus_per_node", "gpu"}


def test_two_gpus_of_eight() -> None:
    fitting, _ = cut_to_fit(Resources(nodes=2, gpus_per_node=4), WORKSTATION)

    assert (fitting.nodes, fitting.gpus_per_node) == (1, 2)


def test_what_fits_is_left_alone() -> None:
    asked = Resources(gpus=2, cpus=4, memory_mb=1000)

    assert cut_to_fit(asked, WORKSTATION) == (asked, ())


def test_pretended_nodes_share_the_machine() -> None:
    fitting, _ = cut_to_fit(Resources(nodes=4, cpus=48, memory_mb=500_000), LAPTOP)

    assert (fitting.nodes, fitting.cpus, fitting.memory_mb) == (4, 2, 4000)


def test_words_of_a_centre_mean_nothing_here() -> None:
    asked = Resources(account="def-prof", partition="gpu", qos="high", constraint="a100", reservation="course")

    fitting, reasons = cut_to_fit(asked, LAPTOP)

    assert fitting == Resources()
    assert len(reasons) == 5


def test_a_partition_that_is_here_stays() -> None:
    assert cut_to_fit(Resources(partition="pocket"), LAPTOP)[0].partition == "pocket"
