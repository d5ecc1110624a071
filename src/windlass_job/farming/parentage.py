"""What becomes of processes whose parent dies. Where Linux or ctypes is not there: nothing."""

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_SET_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def be_subreaper() -> None:
    """What a task leaves behind becomes our child: so it can be found and ended."""
    _tell_kernel(_SET_SUBREAPER, 1)


def end_with_parent(number: int) -> None:
    """This process gets such a signal when the one that started it dies, which can tell it nothing any more."""
    _tell_kernel(_SET_DEATH_SIGNAL, number)


def _tell_kernel(what: int, value: int) -> None:
    try:
        import ctypes  # the Python of a run's environment may have been built without

        ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass
