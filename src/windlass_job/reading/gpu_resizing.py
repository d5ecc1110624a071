"""One kernel of our own: pictures of any size become one tensor - resized, flipped, normalised, in any number format.

It is compiled when it is first needed, by the compiler that PyTorch brings along (NVRTC), for the GPU that is there.
On the CPU resizing costs half as much as decoding; here it is lost in the noise of a training.
"""

import ctypes
import glob
import os

from windlass_job.reading import libraries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Sequence

THREADS = 16  # in each direction, of a block
SOURCE = r"""
struct Row {
  long long label, where;
  int height, width, flip, state, row_step, pixel_step, colour_step, number;
};

__device__ unsigned short as_half(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

__device__ unsigned short as_bfloat(float value) {
  unsigned int bits = __float_as_uint(value);
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);  // to the nearest, halves to the even
}

__device__ unsigned char as_byte(float value) { return (unsigned char)(fminf(fmaxf(value, 0.f), 255.f) + 0.5f); }
__device__ float as_float(float value) { return value; }

extern "C" __global__ void finish(const unsigned char* pixels, const Row* rows, ELEMENT* out, int size, float4 scale,
                                  float4 shift) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const Row row = rows[blockIdx.z];
  const unsigned char* picture = pixels + row.where;
  float step_x = (float)row.width / size, step_y = (float)row.height / size;
  float reach_x = fmaxf(step_x, 1.f), reach_y = fmaxf(step_y, 1.f);
  float middle_x = ((row.flip ? size - 1 - x : x) + 0.5f) * step_x, middle_y = (y + 0.5f) * step_y;
  int left = max((int)(middle_x - reach_x + 0.5f), 0), right = min((int)(middle_x + reach_x + 0.5f), row.width);
  int top = max((int)(middle_y - reach_y + 0.5f), 0), bottom = min((int)(middle_y + reach_y + 0.5f), row.height);
  float total = 0.f, red = 0.f, green = 0.f, blue = 0.f;
  for (int v = top; v < bottom; ++v) {
    float weight_y = fmaxf(1.f - fabsf(v + 0.5f - middle_y) / reach_y, 0.f);
    for (int u = left; u < right; ++u) {
      float weight = weight_y * fmaxf(1.f - fabsf(u + 0.5f - middle_x) / reach_x, 0.f);
      const unsigned char* pixel = picture + (long long)v * row.row_step + (long long)u * row.pixel_step;
      total += weight;
      red += weight * pixel[0];
      green += weight * pixel[row.colour_step];
      blue += weight * pixel[2 * row.colour_step];
    }
  }
  ELEMENT* to = out + ((long long)blockIdx.z * size * size + (long long)y * size + x) * 3;
  to[0] = CONVERT(red / total * scale.x + shift.x);
  to[1] = CONVERT(green / total * scale.y + shift.y);
  to[2] = CONVERT(blue / total * scale.z + shift.z);
}
"""
# dtype -> type in the kernel, and how a number is brought into it.
FORMATS = {
    "uint8": ("unsigned char", "as_byte"),
    "float32": ("float", "as_float"),
    "float16": ("unsigned short", "as_half"),
    "bfloat16": ("unsigned short", "as_bfloat"),
}
_kernels: "Dict[Any, Kernel]" = {}


class KernelFailed(RuntimeError):
    """The kernel cannot be made here."""


class Kernel:
    def __init__(self, device: "Any", dtype: str) -> None:
        torch = libraries.load("torch", "the GPU")
        if dtype not in FORMATS:
            raise ValueError("dtype is one of {}, not {!r}".format(", ".join(FORMATS), dtype))
        with torch.cuda.device(device):
            torch.zeros(1, device=device)  # so that there is a context
            major, minor = torch.cuda.get_device_capability(device)
            code = _compile(_load_compiler(torch), dtype, major * 10 + minor)
            self._cuda = ctypes.CDLL("libcuda.so.1")
            module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
            self._call("cuModuleLoadData", ctypes.byref(module), code)
            self._call("cuModuleGetFunction", ctypes.byref(self._function), module, b"finish")

    def run(
        self, pixels: int, rows: int, count: int, out: "Any", mean: "Sequence[float]", std: "Sequence[float]"
    ) -> None:
        """On the current stream, into `out`: (count, 3, size, size), channels last. pixels and rows are addresses."""
        torch = libraries.load("torch", "the GPU")
        size = out.shape[2]
        if out.dtype == torch.uint8:
            scale, shift = _Four(1, 1, 1, 0), _Four(0, 0, 0, 0)
        else:
            scale = _Four(*([1 / (255 * one) for one in std] + [0.0]))
            shift = _Four(*([-m / s for m, s in zip(mean, std)] + [0.0]))
        given = (
            ctypes.c_void_p(pixels),
            ctypes.c_void_p(rows),
            ctypes.c_void_p(out.data_ptr()),
            ctypes.c_int(size),
            scale,
            shift,
        )
        addresses = (ctypes.c_void_p * len(given))(*[ctypes.addressof(one) for one in given])
        blocks = -(-size // THREADS)
        stream = ctypes.c_void_p(torch.cuda.current_stream(out.device).cuda_stream)
        self._call(
            "cuLaunchKernel", self._function, blocks, blocks, count, THREADS, THREADS, 1, 0, stream, addresses, None
        )

    def _call(self, name: str, *arguments: "Any") -> None:
        code = getattr(self._cuda, name)(*arguments)
        if code:
            raise KernelFailed("{} answers {}".format(name, code))


class _Four(ctypes.Structure):
    _fields_ = [(name, ctypes.c_float) for name in "xyzw"]


def get(device: "Any", dtype: str) -> Kernel:
    key = str(device), dtype
    if key not in _kernels:
        _kernels[key] = Kernel(device, dtype)
    return _kernels[key]


def find_problem(device: "Any") -> "Optional[str]":
    """Why the kernel cannot be used here, or None."""
    try:
        get(device, "uint8")
    except (OSError, KernelFailed, AttributeError) as error:
        return str(error)
    return None


def _load_compiler(torch: "Any") -> "Any":
    version = str(torch.version.cuda).split(".")[0]
    names = ["libnvrtc.so." + version]
    for folder in (os.path.dirname(torch.__file__), os.path.dirname(os.path.dirname(torch.__file__))):
        for pattern in ("lib/libnvrtc*.so*", "nvidia/*/lib/libnvrtc.so*"):
            names += sorted(one for one in glob.glob(os.path.join(folder, pattern)) if "builtins" not in one)
    names += [os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "lib64", "libnvrtc.so")]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise KernelFailed("libnvrtc of CUDA {} is not to be found".format(version))


def _compile(compiler: "Any", dtype: str, capability: int) -> bytes:
    """For this very GPU; by way of PTX where the compiler is older than the GPU."""
    kind, convert = FORMATS[dtype]
    program = ctypes.c_void_p()
    if compiler.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode("ascii"), b"windlass.cu", 0, None, None):
        raise KernelFailed("the compiler takes no program")
    for target in ("--gpu-architecture=sm_{}".format(capability), "--gpu-architecture=compute_75"):
        words = [target.encode(), b"-DELEMENT=" + kind.encode(), b"-DCONVERT=" + convert.encode()]
        if not compiler.nvrtcCompileProgram(program, len(words), (ctypes.c_char_p * len(words))(*words)):
            break
    else:
        raise KernelFailed(_read_log(compiler, program))
    form = "CUBIN" if "sm_" in target else "PTX"
    size = ctypes.c_size_t()
    getattr(compiler, "nvrtcGet{}Size".format(form))(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    getattr(compiler, "nvrtcGet{}".format(form))(program, code)
    return code.raw


def _read_log(compiler: "Any", program: "Any") -> str:
    size = ctypes.c_size_t()
    compiler.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetProgramLog(program, text)
    return text.value.decode("utf-8", "replace")
