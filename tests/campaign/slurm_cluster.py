"""A cluster of two nodes under Slurm on this machine: Slurm's and munge's daemons, on loopback.

Debian has them: `apt-get install slurmctld slurmd slurm-client munge`. No accounts are kept, as on
many small clusters.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
NODES = ("one", "two")
PATIENCE = 60.0
SETTINGS = """\
ClusterName=two_nodes
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdTimeout=10
KillWait=5
NodeName=one NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=8000
NodeName=two NodeHostname=localhost NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=8000
PartitionName=main Nodes=one,two Default=YES MaxTime=INFINITE State=UP
"""


@dataclass
class SlurmCluster:
    """Two nodes that run."""

    folder: Path
    nodes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def ask(self, *command: str) -> str:
        """Return what a command of Slurm prints."""
        return subprocess.run(
            command, check=True, capture_output=True, text=True, env=self.environment, timeout=30
        ).stdout

    def list_jobs(self, *options: str) -> list[str]:
        """Return the numbers of jobs that run."""
        return self.ask("squeue", "--noheader", "--format=%A", "--states=RUNNING", *options).split()

    def lose_node(self, name: str) -> None:
        """Kill all processes of a node at once, as when its machine loses power."""
        jobs = self.list_jobs(f"--nodelist={name}")
        self.nodes[name].kill()
        self.nodes[name].wait()
        steps = [
            step
            for step in psutil.process_iter(["cmdline"])
            for line in [" ".join(step.info["cmdline"] or ())]
            if line.startswith("slurmstepd") and any(f"[{job}." in line for job in jobs)
        ]
        lost = [one for step in steps for one in (step, *step.children(recursive=True))]
        for process in lost:
            process.kill()
        assert psutil.wait_procs(lost, timeout=PATIENCE)[1] == []

    def end_node(self, name: str) -> None:
        """End a node's daemon."""
        end_process(self.nodes[name])

    def start_node(self, name: str) -> None:
        """Start a node, or start it again; its jobs may begin when it is idle."""
        self.nodes[name] = subprocess.Popen(
            ["slurmd", "-D", "-N", name],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + PATIENCE
        while "idle" not in self.ask("sinfo", "--noheader", "--format=%t", f"--nodes={name}"):
            assert time.monotonic() < until, (self.folder / f"slurmd-{name}.log").read_text()
            time.sleep(0.2)


def is_slurm_here() -> bool:
    """Return whether Slurm's daemons can be started on this machine."""
    return all(shutil.which(program) for program in PROGRAMS)


@contextmanager
def run_slurm_cluster(folder: Path) -> Iterator[SlurmCluster]:
    """Run a controller and two nodes; they are gone afterwards, and so are their jobs."""
    (folder / "munge").mkdir(mode=0o700)
    (folder / "state").mkdir()
    (folder / "munge" / "key").write_bytes(os.urandom(1024))
    (folder / "munge" / "key").chmod(0o600)
    user = pwd.getpwuid(os.getuid()).pw_name
    ports = find_free_ports(3)
    (folder / "slurm.conf").write_text(SETTINGS.format(folder=folder, user=user, ports=ports))
    cluster = SlurmCluster(folder)
    munge = folder / "munge"
    daemons = [
        [
            "munged",
            "--foreground",
            "--force",
            f"--socket={munge / 'socket'}",
            f"--key-file={munge / 'key'}",
            f"--pid-file={munge / 'pid'}",
            f"--log-file={munge / 'log'}",
            f"--seed-file={munge / 'seed'}",
        ],
        ["slurmctld", "-D"],
    ]
    with ExitStack() as running:
        for daemon in daemons:
            process = subprocess.Popen(
                daemon,
                env=cluster.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.callback(end_process, process)
            wait_for_answer(cluster, daemon[0])
        for name in NODES:
            cluster.start_node(name)
            running.callback(cluster.end_node, name)
        running.callback(lambda: cluster.ask("scancel", f"--user={user}"))
        yield cluster


def wait_for_answer(cluster: SlurmCluster, daemon: str) -> None:
    """Return once munge's socket is there, or the controller answers."""
    until = time.monotonic() + PATIENCE
    while not does_answer(cluster, daemon):
        assert time.monotonic() < until, f"{daemon} does not answer"
        time.sleep(0.2)


def does_answer(cluster: SlurmCluster, daemon: str) -> bool:
    if daemon == "munged":
        return (cluster.folder / "munge" / "socket").exists()
    try:
        cluster.ask("sinfo")
    except subprocess.SubprocessError:
        return False
    return True


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ask a daemon to exit, and wait."""
    process.terminate()
    try:
        process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def find_free_ports(count: int) -> list[int]:
    """Return ports of loopback that were free a moment ago."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
