"""NVIDIA's own library, asked by ctypes: a hundredth of what starting nvidia-smi costs, and the same answers."""

from typing import Any, Dict, List, Optional, Sequence, Tuple

LIBRARY = "libnvidia-ml.so.1"
MB = 1024 * 1024
_LONGEST_NAME = 96
_SLICE = "MIG-"

Reading = Tuple[Optional[float], Optional[float], Optional[float]]  # use in percent, memory in MB, power in W


class NoLibrary(Exception):
    """There is none here, or it has no driver to talk to."""


class Nvml:
    """All GPUs that this process may open: where control groups hide others, only the job's own."""

    def __init__(self) -> None:
        try:
            import ctypes  # some builds of Python have none

            self._types: Any = ctypes
            self._library = ctypes.CDLL(LIBRARY)
            self._call("nvmlInit_v2")
        except (ImportError, OSError, AttributeError, NvmlError) as error:
            raise NoLibrary(str(error))
        # It counts others' cards too, and only refuses to open them.
        opened = [self._try(self._open, place) for place in range(self._count())]
        self._handles = [handle for handle in opened if handle is not None]
        self._has_newer_memory = True

    def list_cards(self) -> List[Dict[str, Any]]:
        return [self._describe(handle) for handle in self._handles]

    def open_slice(self, uuid: str) -> int:
        """A MIG slice by its name, as one more card. May raise NvmlError."""
        handle = self._types.c_void_p()
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode("ascii"), self._types.byref(handle))
        self._handles.append(handle)
        return len(self._handles) - 1

    def read(self, places: Sequence[int]) -> List[Reading]:
        """None where a card does not tell: a slice its use, a card that fell off the bus everything."""
        return [self._read(self._handles[place]) for place in places]

    def _read(self, handle: Any) -> Reading:
        return self._try(self._use, handle), self._try(self._memory, handle), self._try(self._power, handle)

    def _count(self) -> int:
        number = self._types.c_uint()
        self._call("nvmlDeviceGetCount_v2", self._types.byref(number))
        return int(number.value)

    def _open(self, place: int) -> Any:
        handle = self._types.c_void_p()
        self._call("nvmlDeviceGetHandleByIndex_v2", self._types.c_uint(place), self._types.byref(handle))
        return handle

    def _describe(self, handle: Any) -> Dict[str, Any]:
        uuid = self._try(self._text, handle, "nvmlDeviceGetUUID") or ""
        card = {"uuid": uuid, "name": self._try(self._text, handle, "nvmlDeviceGetName") or ""}
        total = self._try(self._memory_total, handle)
        if total is not None:
            card["memory_mb"] = round(total)
        if uuid.startswith(_SLICE) or self._try(self._is_cut, handle):
            card["slice"] = True
        return card

    def _text(self, handle: Any, function: str) -> str:
        buffer = self._types.create_string_buffer(_LONGEST_NAME)
        self._call(function, handle, buffer, self._types.c_uint(_LONGEST_NAME))
        return str(buffer.value.decode("utf-8", "replace"))

    def _use(self, handle: Any) -> float:
        rates = (self._types.c_uint * 2)()  # of the GPU, and of its memory's bus
        self._call("nvmlDeviceGetUtilizationRates", handle, rates)
        return float(rates[0])

    def _memory(self, handle: Any) -> float:
        return self._load_memory(handle)[1] / MB

    def _memory_total(self, handle: Any) -> float:
        return self._load_memory(handle)[0] / MB

    def _load_memory(self, handle: Any) -> Tuple[int, int]:
        """(total, used). The newer form leaves out what the driver keeps for itself, as nvidia-smi does."""
        if self._has_newer_memory:
            try:
                newer = (self._types.c_ulonglong * 5)()  # version, total, reserved, free, used
                newer[0] = self._types.sizeof(newer) | 2 << 24
                self._call("nvmlDeviceGetMemoryInfo_v2", handle, newer)
                return int(newer[1]), int(newer[4])
            except (NvmlError, AttributeError):
                self._has_newer_memory = False
        older = (self._types.c_ulonglong * 3)()  # total, free, used
        self._call("nvmlDeviceGetMemoryInfo", handle, older)
        return int(older[0]), int(older[2])

    def _power(self, handle: Any) -> float:
        milliwatts = self._types.c_uint()
        self._call("nvmlDeviceGetPowerUsage", handle, self._types.byref(milliwatts))
        return float(milliwatts.value) / 1000.0

    def _is_cut(self, handle: Any) -> bool:
        current, pending = self._types.c_uint(), self._types.c_uint()
        self._call("nvmlDeviceGetMigMode", handle, self._types.byref(current), self._types.byref(pending))
        return bool(current.value)

    def _try(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (NvmlError, AttributeError):  # AttributeError: an older library without this function
            return None

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            raise NvmlError("{}: {}".format(name, code))


class NvmlError(Exception):
    """The library's own number is in the text."""
