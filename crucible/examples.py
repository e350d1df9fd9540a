"""What `crucible SUBCOMMAND --help` ends with: command lines to begin with."""

from __future__ import annotations

EXAMPLES = {
    "run": (
        "crucible run",
        "crucible run study=demo executor.workers=2 out=runs/demo",
        "crucible run 'system=[late,fcooper]' interference=latency routes=crucible05",
        "crucible run system=oracle dry_run=true",
        "crucible run --config-dir mine system=my_system",
        "crucible run --cfg job",
    ),
    "status": ("crucible status runs/demo", "crucible status runs/demo --json"),
    "twin": (
        "crucible twin runs/demo 3",
        "crucible twin runs/demo 3 --without latency",
        "crucible twin runs/demo late/ahead/latency/0-s1 --window 5 10",
    ),
    "attribute": (
        "crucible attribute runs/demo",
        "crucible attribute runs/demo 3 --placebos 10 --workers 2",
    ),
    "critical": (
        "crucible critical runs/demo --of latency",
        "crucible critical runs/demo --of latency --system late --workers 2",
        "crucible critical runs/demo --of pose_error --sizes 0,1,2,4 --finest 0.5",
        "crucible critical runs/demo --of latency --recorded --format csv,latex",
    ),
    "export": (
        "crucible export runs/demo --to tensorboard",
        "crucible export runs/demo --to wandb mode=online project=fusion",
        "crucible export runs/demo --to mylab.export:Mine file=results.txt",
    ),
    "pack": (
        "crucible pack runs/main --out part-1.parquet",
        "crucible pack runs/main runs/placebo --out part-2.parquet --without part-1.parquet",
    ),
    "unpack": ("crucible unpack part-1.parquet part-2.parquet --out study",),
    "verify": (
        "crucible verify reference.json",
        "crucible verify reference.json --sample 40 --seed 2 --maps towns --workers 2",
    ),
    "reference": (
        "crucible reference part-1.parquet part-2.parquet --protocol protocol.md --maps towns"
        " --out reference.json",
        "crucible reference part-1.parquet --placebo placebo --out reference.json",
    ),
    "routes": (
        "crucible routes list routes/crucible05/routes.xml",
        "crucible routes check mine.xml --hazards mine.json",
        "crucible routes plot mine.xml --hazards mine.json --out routes.png",
        "crucible routes plot mine.xml --only 6 --surveyed --out route6.svg",
        "crucible routes generate --town Crucible05 --seed 1 --count 32 --out mine",
    ),
    "maps": (
        "crucible maps export --town Town05 --out maps",
        "crucible maps generate --seed 1 --count 6 --out towns",
        "crucible maps generate --seed 7 --blocks 4x3 --curvature 0.8 --grade 0.05 --out towns",
        "crucible maps generate --protocol protocol.md --count 4 --out towns",
        "crucible maps check Seeded_1 --maps towns",
    ),
    "doctor": (
        "crucible doctor",
        "crucible doctor --root ~/CARLA_0.9.16 --maps maps",
        "crucible doctor --probe localhost:2000",
    ),
    "serve": (
        "crucible serve",
        "crucible serve --port 0 --town CrucibleOld --seed 7",
        "crucible serve --town Town05 --maps maps",
    ),
    "check": (
        "crucible check late",
        "crucible check mylab.system:Mine threshold=0.3",
        "crucible check mylab.system:Mine --recording street.npz",
        "crucible check mylab.metric:Mine",
        "crucible check study=mine --config-dir mine",
    ),
    "collect": (
        "crucible collect --out data/train",
        "crucible collect --out data/validate --scenarios 18 --seed 2",
    ),
    "train": (
        "crucible train --scheme single --data data/train --held-out data/validate --out training",
        "crucible train --scheme fcooper --data data/train --held-out data/validate"
        " --out training --weights mine --start mine/lite_single.safetensors --freeze",
    ),
    "evaluate": (
        "crucible evaluate --scheme fcooper --data data/test",
        "crucible evaluate --scheme fcooper --data data/test"
        " --weights mine/lite_fcooper.safetensors",
    ),
    "networks": (
        "crucible networks single.json late.json fcooper.json",
        "crucible networks evaluations/*.json --against late --out table.md",
    ),
    "search": (
        "crucible search latency_cut_in executor.workers=2",
        "crucible search latency_cut_in system=fcooper search.sampler=random search.seed=2",
        "crucible search mine --config-dir mine out=runs/mine",
        "crucible search latency_cut_in --study executor.workers=2",
    ),
    "confirm": (
        "crucible confirm runs/mine --redraws 10 --most 20",
        "crucible confirm runs/mine --redraws 20 --least 10 --workers 2",
    ),
    "shrink": ("crucible shrink runs/mine", "crucible shrink runs/mine --finding 7 --cells 0"),
    "curves": (
        "crucible curves runs/latency_cut_in-study",
        "crucible curves runs/tpe runs/random",
    ),
    "rate": (
        "crucible rate latency_cut_in --rounds 100 --width 0.2",
        "crucible rate latency_cut_in --rounds 500 --proposal runs/mine",
    ),
    "metamorphic": (
        "crucible metamorphic list",
        "crucible metamorphic check --scenes data/test --out runs/metamorphic",
        "crucible metamorphic check --scenes data/test --out runs/late --systems late"
        " --operators latency stray_points_1000 --count 50",
        "crucible metamorphic drives runs/metamorphic-drives",
        "crucible metamorphic report runs/metamorphic",
        "crucible metamorphic generate --scenes data/train --out data/hard --operators rain insert"
        " --keep vgt:0.15",
        "crucible metamorphic climb --scenes data/train --system fcooper --out data/worse",
    ),
    "report": (
        "crucible report runs/demo",
        "crucible report runs/one runs/two --out together",
    ),
    "tables": ("crucible tables runs/demo --format csv,latex --out tables",),
    "regress": ("crucible regress runs/demo", "crucible regress runs/demo --systems late,fcooper"),
    "predict": ("crucible predict runs/demo", "crucible predict runs/demo --lead 3 --window 5"),
    "compare": (
        "crucible compare runs/demo late/none late/latency",
        "crucible compare runs/one late/none runs/two:late/none --also runs/two",
    ),
    "effects": (
        "crucible effects runs/effects",
        "crucible effects runs/one runs/two --out effects",
    ),
    "errors": ("crucible errors runs/demo --system late --condition latency --out late.json",),
    "power": (
        "crucible power",
        "crucible power --routes 16,32 --seeds 1,3 --difference 0.1,0.2",
    ),
    "calibrate": (
        "crucible calibrate --campaigns 200",
        "crucible calibrate --pages --campaigns 200 --check",
        "crucible calibrate --effects --routes 12 --seeds 3 --campaigns 500 --check",
    ),
    "replay": (
        "crucible replay runs/demo --list",
        "crucible replay runs/demo --case 3",
        "crucible replay runs/demo --case 3 --film case.webp --dark --layout column",
        "crucible replay runs/demo --attempt late/ahead/latency/0-s1 --rerun drive.rrd",
    ),
    "completion": (
        'eval "$(crucible completion bash)"',
        "crucible completion bash > ~/.local/share/bash-completion/completions/crucible",
        "crucible completion fish > ~/.config/fish/completions/crucible.fish",
    ),
}
"""By subcommand; DIR is the folder of a campaign."""


def format_examples(subcommand: str, action: str = "") -> str:
    """Return the examples of a subcommand, or of one of its actions, as its help prints them."""
    start = f"crucible {subcommand} {action} "
    of_action = [line for line in EXAMPLES[subcommand] if line.startswith(start)]
    lines = of_action or EXAMPLES[subcommand]
    return "\n".join(["", "examples:", *(f"  {line}" for line in lines)])
