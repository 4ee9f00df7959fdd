# The module in C++. Only the package beside it calls these.
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

version: str
build: str

class Error(Exception): ...
class UsageError(Error, ValueError): ...

def run(
    settings: Mapping[str, Any],
    config: str,
    resume: str,
    on_round: Callable[[dict[str, Any]], object] | None,
    verbose: bool,
    data: Mapping[str, NDArray[Any]] | None,
    functions: Mapping[str, Any],
) -> dict[str, Any]: ...
def join(
    client: int,
    connect: str,
    certificates: str,
    insecure_loopback: bool,
    folder: str,
    data: str,
    data_dir: str,
    threads: int,
    patience: float,
    require_dp: str,
    max_epsilon: float,
    delta: float,
    accept_other_builds: bool,
    quiet: bool,
    functions: Mapping[str, Any],
) -> dict[str, Any]: ...
class Lots:
    def __init__(self, terms: bytes, tensors: Sequence[tuple[int, int]]) -> None: ...
    def next(self) -> NDArray[numpy.int64] | None: ...
    def release(self, part: Callable[[], tuple[int, Sequence[tuple[int, int, NDArray[numpy.float32]]]] | None]) -> NDArray[numpy.float32]: ...
    def told(self) -> tuple[int, int, int, int, int, float]: ...

def load_dataset(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None) -> dict[str, Any]: ...
def partition(
    settings: Mapping[str, Any], config: str, arrays: Mapping[str, NDArray[Any]] | None
) -> list[NDArray[numpy.uint32]]: ...
def command(words: Sequence[str]) -> tuple[int, str, str]: ...
def evaluate_on(model: str, arrays: Mapping[str, NDArray[Any]], training_part: bool, threads: int) -> str: ...
def set_program(path: str) -> None: ...
def load_tensors(path: str) -> dict[str, NDArray[numpy.float32]]: ...
def load_metadata(path: str) -> dict[str, str]: ...
def save_tensors(path: str, tensors: Mapping[str, NDArray[numpy.float32]], metadata: Mapping[str, str]) -> None: ...
