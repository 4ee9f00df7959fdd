#!/usr/bin/env python3
"""Runs mpirun over a network slower than one machine's memory: each rank is in its own network namespace, and a switch in
this process, between them, delays each packet as cables would. Needs root; changes nothing outside the namespaces.

    tools/bench/slow_network.py --ranks 4 --delay 5e-5 --rate 1e9 build/release/fedstride bench --fleet mpi --model adadp-cnn

A packet takes bits / rate on its sender's link, `delay` seconds in transit, and bits / rate on its receiver's link; a link
carries one packet at a time, and the switch drops nothing. Namespaces share processors and disk but not memory: the ranks reach
each other only by TCP, under their own host names. First, the script measures how close the switch comes to these figures: the
round-trip time of a small message, and the bytes per second of one stream.
"""
import argparse
import ctypes
import fcntl
import heapq
import os
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
NET = "10.77.0"  # only inside the namespaces
LIBC = ctypes.CDLL(None, use_errno=True)


def call(*command):
    subprocess.run(command, check=True)


def enter(namespace):
    """Moves this thread into the network namespace of an open file."""
    if LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace.name}")


class Hosts:
    """Namespaces, each with a network device whose other end this process holds."""

    def __init__(self, count, mtu):
        self.names = [f"fedstride-{os.getpid()}-{k + 1}" for k in range(count)]
        self.devices = []
        made = []
        home = open("/proc/self/ns/net")
        try:
            for k, name in enumerate(self.names):
                call("ip", "netns", "add", name)
                made.append(name)
                with open(f"/run/netns/{name}") as there:
                    enter(there)
                try:
                    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"cable", IFF_TUN | IFF_NO_PI))
                finally:
                    enter(home)
                self.devices.append(device)
                for words in (["link", "set", "lo", "up"], ["link", "set", "cable", "mtu", str(mtu), "up"],
                              ["addr", "add", f"{NET}.{k + 1}/24", "dev", "cable"]):
                    call("ip", "-n", name, *words)
        except BaseException:
            self.names = made
            self.close()
            raise
        finally:
            home.close()

    def close(self):
        for device in self.devices:
            os.close(device)
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)


class Switch(threading.Thread):
    def __init__(self, devices, delay, rate):
        super().__init__(daemon=True)
        self.devices, self.delay, self.second_a_byte = devices, delay, 8 / rate
        self.sends = [0.0] * len(devices)     # time until which a host's link is busy
        self.receives = [0.0] * len(devices)
        self.waker, self.woken = os.pipe()
        self.bytes = 0

    def run(self):
        number, waiting = 0, []
        index = {device: k for k, device in enumerate(self.devices)}
        while True:
            now = time.perf_counter()
            while waiting and waiting[0][0] <= now:
                _, _, to, packet = heapq.heappop(waiting)
                try:
                    os.write(self.devices[to], packet)
                except OSError:
                    pass  # the host's queue is full, or it is gone: TCP sends again
            pause = max(0.0, waiting[0][0] - time.perf_counter()) if waiting else None
            ready, _, _ = select.select([*self.devices, self.waker], [], [], pause)
            if self.waker in ready:
                return
            for device in ready:
                for _ in range(16):
                    try:
                        packet = os.read(device, 65536)
                    except BlockingIOError:
                        break
                    if packet[0] >> 4 != 4 or packet[16:19] != bytes(int(part) for part in NET.split(".")):
                        continue
                    to, sender = packet[19] - 1, index[device]
                    if not 0 <= to < len(self.devices):
                        continue
                    now, busy = time.perf_counter(), len(packet) * self.second_a_byte
                    self.sends[sender] = max(now, self.sends[sender]) + busy
                    self.receives[to] = max(self.sends[sender] + self.delay, self.receives[to] + busy)
                    self.bytes += len(packet)
                    number += 1
                    heapq.heappush(waiting, (self.receives[to], number, to, packet))

    def stop(self):
        os.write(self.woken, b"x")
        self.join()


PROBE = """
import socket, sys, time
def read(s, n):
    while n: n -= len(s.recv(min(n, 1 << 20)))
if sys.argv[1] == "serve":
    s = socket.create_server(("", 7000)); print("ready", flush=True); c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(200): read(c, 1); c.send(b"x")
    for _ in range(5): read(c, 1 << 24); c.send(b"x")
else:
    c = socket.create_connection((sys.argv[2], 7000)); c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    def timed(data, n):
        all = []
        for _ in range(n):
            t = time.perf_counter(); c.sendall(data); read(c, 1); all.append(time.perf_counter() - t)
        return sorted(all)[n // 2]
    there_and_back = timed(b"x", 200); print(there_and_back, (1 << 24) / (timed(bytes(1 << 24), 5) - there_and_back))
"""


def probe(hosts):
    inside = lambda k, *words: ["ip", "netns", "exec", hosts.names[k], sys.executable, "-c", PROBE, *words]
    server = subprocess.Popen(inside(0, "serve"), stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    result = subprocess.run(inside(1, "ask", f"{NET}.1"), check=True, capture_output=True, text=True).stdout.split()
    server.wait()
    return float(result[0]), float(result[1])


def mpirun(hosts, command):
    """Runs mpirun in the first namespace; to reach a host, mpirun enters its namespace instead of using ssh."""
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "agent"
        prefix = hosts.names[0].rsplit("-", 1)[0]
        enter_host = 'exec ip netns exec "%s-$k" unshare --uts bash -c \'hostname "node$0"; eval "$*"\' "$k" "$@"' % prefix
        agent.write_text(f'#!/bin/bash\nk=${{1##*.}}; shift\n{enter_host}\n')
        agent.chmod(0o700)
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        words = ["mpirun", "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "cable",
                 "--mca", "oob_tcp_if_include", "cable", "--mca", "pml", "ob1", "--bind-to", "none",
                 "--host", ",".join(f"{NET}.{k + 1}:1" for k in range(len(hosts.names))), "-n", str(len(hosts.names)), *command]
        start = ["unshare", "--uts", "bash", "-c", 'hostname node1; exec "$@"', "-", *words]
        return subprocess.run(["ip", "netns", "exec", hosts.names[0], *start], env=environment).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2, help="from 2 to 64 [2]")
    parser.add_argument("--delay", type=float, default=5e-5, help="seconds from host to host [5e-5]")
    parser.add_argument("--rate", type=float, default=1e9, help="bits per second of each host's link, in each direction [1e9]")
    parser.add_argument("--mtu", type=int, default=9000, help="largest packet in bytes; smaller ones cost more time here [9000]")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    for name, good, valid in (("ranks", 2 <= args.ranks <= 64, "2 to 64"), ("delay", 0 <= args.delay <= 10, "0 to 10"),
                              ("rate", 1e4 <= args.rate <= 1e12, "1e4 to 1e12"), ("mtu", 576 <= args.mtu <= 65521, "576 to 65521"),
                              ("command", bool(args.command), "a program and its arguments")):
        if not good:
            parser.error(f"{name} is {getattr(args, name)}; valid: {valid}")
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("mpirun"):
        sys.exit("slow_network.py: needs root, ip (iproute2) and mpirun (openmpi-bin)")
    LIBC.prctl(29, 1, 0, 0, 0)  # PR_SET_TIMERSLACK: sleeps end within microseconds
    hosts = Hosts(args.ranks, args.mtu)
    switch = Switch(hosts.devices, args.delay, args.rate)
    switch.start()
    try:
        there_and_back, speed = probe(hosts)
        print(f"requested: {args.delay * 1e6:.0f} us, {args.rate / 1e9:g} Gbit/s; measured by TCP: round trip of a small message "
              f"{there_and_back * 1e6:.0f} us, one stream {speed * 8 / 1e9:.2f} Gbit/s", flush=True)
        before = switch.bytes
        code = mpirun(hosts, args.command)
        print(f"{(switch.bytes - before) / 1e6:.1f} MB went over the switch")
    finally:
        switch.stop()
        hosts.close()
    sys.exit(code)


if __name__ == "__main__":
    main()
