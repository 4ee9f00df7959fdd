"""PyTorch as the peer of a measurement: the BLAS libraries that it can run on, and which of them are fast enough for a
comparison."""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"  # Debian's Python, with Debian's PyTorch
WORKER = Path(__file__).with_name("pytorch.py")
SID = ROOT / "build" / "sid"  # made by tools/bench/sid
# A BLAS that reaches less than this share of the core's peak in a large product is not one that PyTorch's users have. Good
# libraries reach 0.7 to 0.9, Debian's reference BLAS 0.03, a good library with another processor's kernels 0.2 to 0.5.
LEAST_SHARE = 0.6
# The kernels of a library that its own detection may miss: the variable that chooses them, and its values, first those that need
# AVX-512. BLIS up to 0.9 has numbers for names.
KERNELS = {"openblas": ("OPENBLAS_CORETYPE", ("SkylakeX", "Cooperlake"), ("Haswell", "Zen")),
           "blis": ("BLIS_ARCH_TYPE", ("0", "skx"), ("3", "haswell", "zen3")),
           "mkl": ("MKL_ENABLE_INSTRUCTIONS", ("AVX512",), ("AVX2",))}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "TORCHINDUCTOR_CPP_SIMDLEN": "256"}
ALLOCATOR = "libtcmalloc_minimal.so.4"
INSTALL = "tools/bench/compare.py --install installs faster ones"


def bench(program, model, batch, seconds):
    """Returns the results of `fedstride bench` for a model."""
    words = [program, "bench", "--model", model, "--batch", str(batch), "--seconds", str(seconds), "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def measured_peak(program):
    """Returns one core's peak in operations per second, from a loop of independent multiply-adds in registers, without a BLAS."""
    return bench(program, "logistic", 10, 0.01)["peak_flops_per_second"]


def libraries(system=Path("/")):
    """The folders of BLAS libraries that Debian packages installed in `system`, as seen inside."""
    return sorted("/" + str(file.parent.relative_to(system)) for file in system.glob("usr/lib/*/*/libblas.so.3"))


def variants(library, is_avx2):
    """The environments in which to try a library: as it detects the processor, and with each of its kernels."""
    name = Path(library).name.split("-")[0]
    variable, newer, older = KERNELS.get(name, ("", (), ()))
    return [{}] * (not is_avx2) + [{variable: value} for value in (older if is_avx2 else newer + older)] or [{}]


class Peer:
    """A process of pytorch.py that uses one BLAS in this environment: here, or in the chroot `system`."""

    def __init__(self, library, system=Path("/"), chosen=None):
        command = [PYTHON, str(WORKER)]
        if system != Path("/"):
            # The mounts are private to this process and disappear with it.
            inside = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$1" -c "$2"'
            command = ["unshare", "--mount", "sh", "-c", inside, str(system), PYTHON, WORKER.read_text()]
        self.system, self.chosen = system, chosen or {}
        environment = {**os.environ, "LD_LIBRARY_PATH": library, "LC_ALL": "C", "MKL_THREADING_LAYER": "SEQUENTIAL", **self.chosen}
        # In a chroot, the preloaded library is that of the inner program.
        if (preload := environment.pop("LD_PRELOAD", None)) and system != Path("/"):
            command[command.index("-c") + 1] = inside.replace('exec chroot "$0"', f'exec chroot "$0" env LD_PRELOAD={preload}')
        elif preload:
            environment["LD_PRELOAD"] = preload
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        bufsize=1, env=environment)
        self.library = library
        self.about = {"system": "Debian here" if system == Path("/") else "Debian unstable", **self.ask(work="hello"),
                      "environment": {key: Path(value).name for key, value in self.chosen.items()}}
        self.flops = self.about["product_flops_per_second"]

    def ask(self, **job):
        """Returns the answer to a job, or None if this PyTorch lacks the feature."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            sys.exit(f"PyTorch with the BLAS in '{self.library}' does not run: "
                     f"LD_LIBRARY_PATH={self.library} {PYTHON} {WORKER} says why")
        return json.loads(line).get("answer")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def in_words(peer):
    """'PyTorch 1.13.0, libblis4-serial 0.9.0-1 (35 GFLOP/s)'"""
    about = peer.about
    chosen = "".join(f" {key}={value}" for key, value in about.get("environment", {}).items())
    return f"PyTorch {about['pytorch']}, {about['package'] or about['blas']}{chosen} ({1e-9 * peer.flops:.1f} GFLOP/s)"


def fast_enough(peers, peak):
    """Returns the peers that are fast enough to compare with. Exits with an error if there are none: a ratio against a slow BLAS
    says nothing about PyTorch."""
    fast = [peer for peer in peers if peer.flops >= LEAST_SHARE * peak]
    if not fast:
        found = "; ".join(in_words(peer) for peer in peers) or "no BLAS"
        sys.exit(f"no ratio: a product of 512x512 matrices must reach {1e-9 * LEAST_SHARE * peak:.1f} GFLOP/s, {LEAST_SHARE:.0%} of the core's "
                 f"{1e-9 * peak:.1f}, and none does: {found}; {INSTALL}")
    return fast


def fastest_kernels(library, system, peak, is_avx2):
    """Returns the peer of a library whose product is fastest. With `is_avx2`, kernels that exceed the peak have not obeyed."""
    best = None
    for chosen in variants(library, is_avx2):
        chosen = {**chosen, **(AVX2 if is_avx2 else {})}
        try:
            peer = Peer(library, system, chosen)
        except SystemExit:  # kernels of another processor: an illegal instruction
            if not chosen:
                raise
            continue
        if (is_avx2 and peer.flops > 1.1 * peak) or (best is not None and peer.flops <= 1.02 * best.flops):
            peer.end()
            continue
        if best is not None:
            best.end()
        best = peer
    return best


def all_peers(peak, is_avx2=False):
    """Every library of every system with its fastest kernels, and again with tcmalloc where it is installed."""
    peers = []
    for system in [Path("/")] + ([SID] if (SID / "made").exists() else []):
        allocator = next(system.glob(f"usr/lib/*/{ALLOCATOR}"), None)
        for library in libraries(system):
            if (peer := fastest_kernels(library, system, peak, is_avx2)) is None:
                continue
            peers.append(peer)
            if allocator is not None and peer.flops >= LEAST_SHARE * peak:
                peers.append(Peer(library, system, {**peer.chosen, "LD_PRELOAD": "/" + str(allocator.relative_to(system))}))
                peers[-1].flops = peer.flops  # a product allocates nothing
    return peers
