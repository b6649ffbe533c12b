"""llama.cpp: its server, compiled once from the source in a package that is pinned by digest, and its converter.

The package, llama-cpp-python, contains the whole source. Needs CMake and a C++ compiler, 400 MB, and about 12
minutes of one core.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.baselines.environments import FOLDER, PINS, run_command
from semblance.models.processor.usable_cores import usable_cores

PACKAGE = PINS / "llama.cpp.txt"
FLAGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",  # all instructions of this CPU; OpenMP and matrix products of its own are defaults
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",  # which it would fetch from a network
)


def llama_server() -> Path:
    """llama-server compiled for this machine, from a folder that the digest of the package and the flags names.

    Raises:
        RuntimeError: the download, the check of the digest or the compiler failed; the message says why.
    """
    folder = _folder()
    server = folder / "build" / "bin" / "llama-server"
    if not server.is_file():  # linked last
        print(f"compiling {server} (some minutes, once) ...", flush=True)
        source = ("--no-deps", "--no-binary", ":all:", "--require-hashes", "--requirement", str(PACKAGE))
        with TemporaryDirectory() as download:
            run_command([sys.executable, "-m", "pip", "download", "--quiet", *source, "--dest", download])
            [archive] = Path(download).iterdir()
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data")
        build = str(folder / "build")
        run_command(["cmake", "-S", str(_source(folder)), "-B", build, *FLAGS])
        run_command(["cmake", "--build", build, "--target", server.name, "--parallel", str(usable_cores())])
    return server


def convert(model: Path, number_type: str, file: Path) -> None:
    """Write a model in the format of transformers as GGUF, with weights of a number type such as `f32` or `q8_0`.

    Raises:
        RuntimeError: the converter failed; the message holds the end of its output.
    """
    program = str(_source(_folder()) / "convert_hf_to_gguf.py")
    run_command([sys.executable, program, str(model), "--outtype", number_type, "--outfile", str(file)])


def _folder() -> Path:
    digest = hashlib.sha256("\n".join([*FLAGS, PACKAGE.read_text("utf-8")]).encode()).hexdigest()
    return FOLDER / f"llama.cpp-{digest[:12]}"


def _source(folder: Path) -> Path:
    [source] = folder.glob("llama_cpp_python-*/vendor/llama.cpp")
    return source
