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
# libraries reach 0.6 to 0.9, Debian's reference BLAS 0.03.
LEAST_SHARE = 1 / 3
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


class Peer:
    """A process of pytorch.py that uses one BLAS: here, or in the chroot `system`."""

    def __init__(self, library, system=Path("/")):
        command = [PYTHON, str(WORKER)]
        if system != Path("/"):
            # The mounts are private to this process and disappear with it.
            inside = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$1" -c "$2"'
            command = ["unshare", "--mount", "sh", "-c", inside, str(system), PYTHON, WORKER.read_text()]
        environment = {**os.environ, "LD_LIBRARY_PATH": library, "LC_ALL": "C"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        bufsize=1, env=environment)
        self.library = library
        self.about = {"system": "Debian here" if system == Path("/") else "Debian unstable", **self.ask(work="hello")}
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
    return f"PyTorch {about['pytorch']}, {about['package'] or about['blas']} ({1e-9 * peer.flops:.1f} GFLOP/s)"


def fast_enough(peers, peak):
    """Returns the peers that are fast enough to compare with. Exits with an error if there are none: a ratio against a slow BLAS
    says nothing about PyTorch."""
    fast = [peer for peer in peers if peer.flops >= LEAST_SHARE * peak]
    if not fast:
        found = "; ".join(in_words(peer) for peer in peers) or "no BLAS"
        sys.exit(f"no ratio: a product of 512x512 matrices must reach {1e-9 * LEAST_SHARE * peak:.1f} GFLOP/s, a third of the core's "
                 f"{1e-9 * peak:.1f}, and none does: {found}; {INSTALL}")
    return fast


def all_peers():
    systems = [Path("/")] + ([SID] if (SID / "made").exists() else [])
    return [Peer(library, system) for system in systems for library in libraries(system)]
