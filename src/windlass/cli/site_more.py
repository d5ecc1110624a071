"""What else a site file tells people: how to get in, and what is good to know there. None of it drives a plan."""

from collections.abc import Iterator

from windlass.cli.output import Output
from windlass.core.site import Site
from windlass.core.units import format_duration

Line = tuple[str, str | None]


def show_more(output: Output, site: Site) -> None:
    if site.onboarding:
        output.show("\nhow to get in")
        for number, step in enumerate(site.onboarding, start=1):
            output.show(f"{number}. {step}")
    lines = [(name, words) for name, words in _list_all(site) if words]
    if lines:
        output.show("\ngood to know")
        width = max(len(name) for name, _ in lines)
        for name, words in lines:
            output.show(f"{name:<{width}}  {words}")


def _list_all(site: Site) -> Iterator[Line]:
    yield from _list_accounts(site)
    yield from _list_transfers(site)
    yield from _list_login_nodes(site)
    yield from _list_software(site)
    yield from _list_hardware(site)
    yield from ((f"data: {name}", words) for name, words in site.datasets.items())
    yield from ((f"see: {name}", address) for name, address in site.links.items())


def _list_accounts(site: Site) -> Iterator[Line]:
    accounting = site.accounting
    yield "accounts", accounting.account_rule
    yield "they begin", ", ".join(accounting.account_prefixes)
    yield "list them", accounting.account_command
    yield "what is left", accounting.balance_page


def _list_transfers(site: Site) -> Iterator[Line]:
    login = site.login
    if login.transfer_root:
        yield (
            "data lands",
            f"in {login.transfer_root} of {login.transfer_host or login.host}; the login node takes it on",
        )
    yield "globus", login.globus
    if login.globus_after is not None:
        yield "large data", f"by Globus when it takes longer than {format_duration(login.globus_after)}"
    yield "moving data", login.transfer_note


def _list_login_nodes(site: Site) -> Iterator[Line]:
    rules = site.rules
    yield "login nodes", rules.login_for
    if rules.login_gpus is not None:
        yield "", f"they have {'GPUs' if rules.login_gpus else 'no GPUs'}"
    if not site.software.modules_on_login:
        yield "", "they have no `module`; jobs have"
    if rules.slurm_mail is not None:
        yield "mail", "Slurm's own mail arrives" if rules.slurm_mail else "Slurm's own mail does not arrive"
    if rules.login_services is not None:
        yield "", f"small servers such as TensorBoard {'may' if rules.login_services else 'may not'} run there"
    if rules.interactive is False:
        yield "interactive", "shells and notebooks on the nodes are not wanted"
    if rules.max_nodes_interactive is not None:
        yield "interactive", f"salloc gives at most {rules.max_nodes_interactive} nodes"


def _list_software(site: Site) -> Iterator[Line]:
    software = site.software
    yield "system", software.operating_system
    container = software.container and ", ".join(
        part
        for part in (
            software.container,
            software.container_module and f"module {software.container_module}",
            software.container_home and f"home inside is {software.container_home}",
        )
        if part
    )
    yield "containers", container
    yield "wheels", software.wheel_command


def _list_hardware(site: Site) -> Iterator[Line]:
    machine = site.machine
    size = (
        machine.petaflops is not None and f"{machine.petaflops:g} petaflops",
        machine.memory_tb is not None and f"{machine.memory_tb:g} TB of memory",
        machine.processor,
    )
    yield "country", site.country
    yield "machine", ", ".join(part for part in size if part)
    yield from ((f"node {one.name}", one.processor) for one in site.node_types)
    yield from ((f"gpu {one.name}", f"{one.cuda_cores} CUDA cores") for one in site.gpus if one.cuda_cores)
