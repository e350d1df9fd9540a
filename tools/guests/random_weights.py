"""Random numbers as weights for a published agent, in a file that the agent reads as its own.

For trying an agent whose weights are not at hand. The network is built by the model class of the
agent's own checkout, so keys and shapes are right; the numbers are those of its initialisation,
from a seed. Files that the class would download, such as a pretrained image encoder, are written in
the same way where torch looks for them: in $TORCH_HOME. A drive with such weights shows that
sensors, steps and records work, and nothing about the agent.

It runs in the agent's own Python, where torch is all that it needs:

    TORCH_HOME=/data/random-hub /data/tcp-env/bin/python tools/guests/random_weights.py \
        --root /data/TCP --model TCP.model:TCP --settings TCP.config:GlobalConfig \
        --under state_dict --out random.ckpt
"""

from __future__ import annotations

import argparse
import copy
import importlib
import os
import pickle
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.guests import guest_tools
else:
    sys.path.insert(0, str(Path(__file__).absolute().parent))
    import guest_tools

HOME = "TORCH_HOME"
"""Environment variable: the folder in which torch looks for what it would download."""
CLASS = "MODULE:CLASS"
NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
REMARK = f"""Set {HOME} to a new folder first. Files that the network would download, such as a
pretrained encoder, are written there with random numbers, and the drive needs the same {HOME}."""


class Awaited(dict):  # type: ignore[type-arg]  # no dict[...] is a base before Python 3.9
    """What a download would bring: weights that are not there yet.

    Attributes:
        file: in which torch looks for them from now on.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file


def find_hub_file(torch: Any, url: str, file_name: str | None = None) -> Path:
    """Return where `torch.hub.load_state_dict_from_url` keeps what an address gives."""
    name = file_name or url.rsplit("/", maxsplit=1)[-1]
    return Path(torch.hub.get_dir()) / "checkpoints" / name


def await_downloads(torch: Any) -> dict[Path, Any]:
    """Let a network that loads weights from an address keep its own random ones.

    Returns:
        The weights by the file of the download, as the network asks for them.
    """
    load = torch.nn.Module.load_state_dict
    awaited: dict[Path, Any] = {}

    def await_download(url: str, *_: Any, file_name: str | None = None, **__: Any) -> Awaited:
        return Awaited(find_hub_file(torch, url, file_name))

    def keep_or_load(self: Any, state: Any, *given: Any, **named: Any) -> Any:
        if not isinstance(state, Awaited):
            return load(self, state, *given, **named)
        # a copy: the network may change its weights later
        awaited[state.file] = copy.deepcopy(self.state_dict())
        return load(self, self.state_dict())

    torch.hub.load_state_dict_from_url = await_download
    torch.nn.Module.load_state_dict = keep_or_load
    return awaited


def find_named(option: str, name: str, root: Path) -> Any:
    """Return what `MODULE:CLASS` of an option names."""
    what = f"{option} {name}"
    module, _, member = name.partition(":")
    with guest_tools.refuse_failures(what, root):
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as problem:
            # a package that the module itself needs is another lack
            if not (problem.name and f"{module}.".startswith(f"{problem.name}.")):
                raise
            raise guest_tools.RefusalError(
                f"{what}: no module {problem.name} in {root}; --path names the folders of it"
            ) from None
    if not callable(getattr(imported, member, None)):
        raise guest_tools.RefusalError(f"{what}: module {module} has no class {member}")
    return getattr(imported, member)


def build_network(options: argparse.Namespace, torch: Any) -> tuple[Any, list[Any]]:
    """Return the network with its random numbers, and what its constructor was given."""
    given = []
    if options.settings is not None:
        kind = find_named("--settings", options.settings, options.root)
        with guest_tools.refuse_failures(f"--settings {options.settings}", options.root):
            given = [kind()]
    kind = find_named("--model", options.model, options.root)
    advice = "" if given else "; --settings names what the constructor takes, if anything"
    with guest_tools.refuse_failures(f"--model {options.model}", options.root, advice):
        network = kind(*given)
    if not isinstance(network, torch.nn.Module):
        raise guest_tools.RefusalError(
            f"--model {options.model}: gives {type(network).__name__}, no torch.nn.Module"
        )
    return network, given


def write_weights(options: argparse.Namespace) -> None:
    """Build the network, and write its weights and its settings."""
    torch = guest_tools.load_package("torch")
    sys.path[:0] = [str(options.root / part) for part in options.path]
    torch.manual_seed(options.seed)
    downloads = await_downloads(torch)
    network, given = build_network(options, torch)
    with guest_tools.refuse_failures(f"--model {options.model}", options.root):
        state = {f"{options.prefix}{key}": value for key, value in network.state_dict().items()}
        described = guest_tools.describe_weights(state)
    if not state:
        raise guest_tools.RefusalError(f"--model {options.model}: the network has no weights")

    # all files at the end, so that a failure leaves none
    lines = {file: guest_tools.describe_weights(kept) for file, kept in downloads.items()}
    writers = {file: make_saving(torch, kept) for file, kept in downloads.items()}
    writers[options.out] = make_saving(torch, {options.under: state} if options.under else state)
    lines[options.out] = f"{described}, seed {options.seed}"
    if options.pickled_settings:
        file = options.out.parent / options.pickled_settings
        with guest_tools.refuse_failures(f"--settings {options.settings}", options.root):
            pickled = pickle.dumps(*given)
        writers[file] = lambda part: part.write_bytes(pickled)
        lines[file] = options.settings
    guest_tools.write_all(writers)
    for file, line in lines.items():
        print(f"{file}: {line}")


def make_saving(torch: Any, state: Any) -> Any:
    """Return what writes weights into a file."""
    return lambda part: torch.save(state, part)


def read_name(word: str) -> str:
    """Return `MODULE:CLASS`, if a word is such a name."""
    if not NAMED.fullmatch(word):
        raise argparse.ArgumentTypeError(f"{word}: {CLASS} is needed, such as TCP.model:TCP")
    return word


def read_options(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = guest_tools.OneLineParser(
        description="Write random numbers as weights for a published agent.", epilog=REMARK
    )
    add = parser.add_argument
    add("--root", type=Path, required=True, metavar="DIR", help="the agent's checkout")
    add("--path", nargs="+", default=["."], metavar="DIR",
        help="folders of the checkout to import from (default: .)")  # fmt: skip
    add("--model", required=True, metavar=CLASS, type=read_name, help="the agent's network")
    add("--settings", metavar=CLASS, type=read_name,
        help="what the network's constructor takes (default: nothing)")  # fmt: skip
    add("--under", metavar="KEY", help="key of the weights in the file (default: none)")
    add("--prefix", default="", metavar="TEXT", help="before each key of the weights")
    add("--pickled-settings", metavar="NAME", help="write the settings next to the weights, too")
    add("--seed", type=guest_tools.read_seed, default=1, help="of the numbers (default: 1)")
    add("--out", type=Path, required=True, metavar="FILE", help="file to be written")
    options = parser.parse_args(given)
    options.root = options.root.expanduser().absolute()
    for problem in list_problems(options):
        parser.error(problem)
    return options


def list_problems(options: argparse.Namespace) -> list[str]:
    """Return what is wrong with options, as far as it is seen without the agent's code."""
    root, out, name = options.root, options.out, options.pickled_settings
    problems = [] if root.is_dir() else [f"--root {root}: folder not found"]
    problems += [
        f"--path {part}: folder not found: {root / part}"
        for part in options.path
        if not (root / part).is_dir()
    ]
    if out.is_dir():
        problems.append(f"--out {out}: a folder; name the file in it")
    if name is not None and options.settings is None:
        problems.append("--pickled-settings needs --settings")
    if name is not None and (Path(name).name != name or name == out.name):
        problems.append(f"--pickled-settings {name}: the name of another file next to --out")
    home = os.environ.get(HOME)
    if not home:
        problems.append(f"set {HOME} to a new folder: random numbers stay out of true weights")
    elif Path(home).expanduser().resolve() == find_usual_home().resolve():
        problems.append(f"{HOME} {home}: torch keeps true weights there; name a new folder")
    return problems


def find_usual_home() -> Path:
    """Return where torch keeps downloads if `TORCH_HOME` is not set."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path("~/.cache").expanduser()) / "torch"


if __name__ == "__main__":
    asked = read_options()
    guest_tools.run_or_refuse(lambda: write_weights(asked))
