"""Compiles the kernels to PTX with NVRTC, without a card and without a CUDA toolkit.

    python build_ptx.py NVRTC_LIBRARY SOURCES_FOLDER OUT.ptx

The same sources with the same NVRTC give the same bytes. An old NVRTC writes PTX that old drivers take: 12.0 writes version
8.0, for drivers from 525 on.
"""

import ctypes
import pathlib
import sys

ARCHITECTURE = "compute_75"


def main() -> None:
    library, folder, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    nvrtc = ctypes.CDLL(library)
    headers = ["carry.h", "field.h", "curve.h", "kernels.h"]
    source = (folder / "card.cu").read_bytes()
    names = (ctypes.c_char_p * len(headers))(*[name.encode() for name in headers])
    texts = (ctypes.c_char_p * len(headers))(*[(folder / name).read_bytes() for name in headers])
    program = ctypes.c_void_p()
    check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"card.cu", len(headers), texts, names), "create")
    options = [f"--gpu-architecture={ARCHITECTURE}".encode(), b"--std=c++17", b"--restrict"]
    compiled = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if compiled != 0:
        sys.exit(log.value.decode(errors="replace"))
    check(nvrtc, nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)), "size")
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc, nvrtc.nvrtcGetPTX(program, ptx), "PTX")
    out.write_bytes(ptx.value)


def check(nvrtc: ctypes.CDLL, code: int, what: str) -> None:
    if code != 0:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        sys.exit(f"NVRTC: {what}: {nvrtc.nvrtcGetErrorString(code).decode()}")


if __name__ == "__main__":
    main()
