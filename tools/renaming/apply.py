"""Applies rename maps to a checkout: python apply.py --tree DIR --maps DIR [--dry-run].

See README.md beside this file. mypy's facts come from facts.py and are kept by the tree's digest.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
if sys.version_info < (3, 12):
    sys.exit("apply.py: Python 3.12 or later is needed (exact positions in f-strings)")

import argparse
import ast
import bisect
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import time

sys.path.insert(0, HERE)
from scopes import File, resolve  # noqa
import texts  # noqa

parser = argparse.ArgumentParser()
parser.add_argument("--tree", required=True)
parser.add_argument("--maps", required=True)
parser.add_argument("--dry-run", action="store_true")
parser.add_argument("--report", default=f"{HERE}/report.txt")
parser.add_argument("--facts", help="a facts file, taken as it is")
parser.add_argument("--no-ruff", action="store_true")
args = parser.parse_args()
sys.setrecursionlimit(20000)
START = time.time()
TREE = pathlib.Path(args.tree).resolve()
SKIP = {"build", "dist", "__pycache__", "node_modules"}


def say(text):
    print(f"[{time.time() - START:5.1f} s] {text}", flush=True)


def listed(suffixes):
    for folder, folders, names in os.walk(TREE):
        folders[:] = sorted(d for d in folders if d not in SKIP and not d.startswith(".") or d == ".ci")
        for name in sorted(names):
            if name.endswith(suffixes):
                yield pathlib.Path(folder, name)


PY = list(listed((".py",)))
texts_of = {p: p.read_text(encoding="utf-8") for p in PY}

# ---------------------------------------------------------------- maps
table, source, refused, report = {}, {}, {}, collections.defaultdict(list)
maps = pathlib.Path(args.maps)
for f in sorted(maps.glob("*.json")) if maps.is_dir() else [maps]:
    for k, v in json.loads(f.read_text()).items():
        if k in table and table[k] != v:
            report["MAPS: the same key twice"].append(f"{k}: {table[k]} in {source[k]}, {v} in {f.name}")
        table[k], source[k] = v, f.name
table = {k: v for k, v in table.items() if k.rpartition(".")[2] != v}
say(f"{len(table)} entries, {len(PY)} Python files")

# ---------------------------------------------------------------- facts
if args.facts:
    facts_file = pathlib.Path(args.facts)
else:
    digest = hashlib.sha256((TREE / "pyproject.toml").read_bytes())
    digest.update(pathlib.Path(HERE, "facts.py").read_bytes())
    for p in PY:
        digest.update(str(p.relative_to(TREE)).encode() + b"\0" + texts_of[p].encode())
    facts_file = pathlib.Path(HERE, f"facts-{digest.hexdigest()[:16]}.json")
if not facts_file.exists():
    say("mypy reads the tree (one to three minutes)")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MYPYPATH")}
    environment["TREE_PYTHON"] = os.path.realpath(TREE / ".venv") + "/bin/python"
    subprocess.run(
        [sys.executable, f"{HERE}/facts.py", str(TREE), str(facts_file)],
        check=True, env=environment,
    )
facts = json.loads(facts_file.read_text())
if facts["errors"]:
    report["MYPY: errors before the renames"] += facts["errors"]
classes, links = facts["classes"], facts["links"]
say(f"facts: {facts_file}")

# ---------------------------------------------------------------- files
module_of_path = {path: m for m, path in facts["modules"].items()}
files, by_module = {}, {}
for p in PY:
    rel = str(p.relative_to(TREE))
    dotted = ".".join(p.relative_to(TREE).with_suffix("").parts)
    package = dotted.endswith(".__init__") or dotted == "__init__"
    dotted = dotted.removesuffix(".__init__")
    module = module_of_path.get(rel, dotted)
    try:
        file = File(rel, module, texts_of[p], package)
    except SyntaxError as problem:
        report["FILES: not parsed"].append(f"{rel}: {problem}")
        continue
    files[rel] = file
    by_module[module] = file
    by_module.setdefault(dotted, file)
    for line, problem in file.problems:
        if "import *" not in problem or problem.split()[1] in facts["modules"]:
            report["FILES: not handled"].append(f"{rel}:{line}: {problem}")
PACKAGES = set()
for m in by_module:
    while "." in m:
        m = m.rpartition(".")[0]
        PACKAGES.add(m)
MODULES = set(by_module) | PACKAGES
say(f"{len(files)} files read")


def split_key(key):
    """The longest module, and the rest."""
    parts = key.split(".")
    for i in range(len(parts) - 1, 0, -1):
        m = ".".join(parts[:i])
        if m in by_module:
            return by_module[m].module, parts[i:]
    return None, parts


# ---------------------------------------------------------------- methods: families
parent = {}


def root(x):
    parent.setdefault(x, x)
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


def is_dunder(name):
    return name.startswith("__") and name.endswith("__")


for c, info in classes.items():
    definers = collections.defaultdict(list)
    for base in info["mro"]:
        for name in classes.get(base, {"names": {}})["names"]:
            if not is_dunder(name):
                definers[name].append(base)
    for name, found in definers.items():
        for base in found[1:]:
            parent[root((found[0], name))] = root((base, name))
        root((found[0], name))
via_protocol = collections.defaultdict(set)
for left, rights in links.items():
    for right in rights:
        if left == right or left not in classes or right not in classes:
            continue
        if not (classes[left]["path"]):
            continue
        wanted = {}
        for base in classes[right]["mro"]:
            if classes.get(base, {}).get("protocol") and base not in ("typing.Protocol",):
                for name in classes[base]["names"]:
                    wanted.setdefault(name, base)
        has = {}
        for base in classes[left]["mro"]:
            for name in classes.get(base, {"names": {}})["names"]:
                has.setdefault(name, base)
        if not set(wanted) <= set(has):
            continue
        for name, base in wanted.items():
            if is_dunder(name) or has[name] == base:
                continue
            parent[root((has[name], name))] = root((base, name))
            via_protocol[base, name].add(has[name])
members_of_family = collections.defaultdict(set)
for x in list(parent):
    members_of_family[root(x)].add(x)

# ---------------------------------------------------------------- entries
var_entry, family_entry = {}, {}  # (module, name) -> key; family root -> key


def refuse(key, why):
    refused.setdefault(key, why)


def defines(module, name):
    var = by_module[module].top.vars.get(name)
    return var if var and var.kinds & {"def", "class", "assign", "annotated", "global"} else None


TARGETS = set()
for p in listed((".yaml", ".yml")):
    if p.relative_to(TREE).parts[0] in ("conf", "docs", "tests"):
        TARGETS.update(re.findall(r"_target_:\s*[\"']?([\w.]+)", p.read_text(encoding="utf-8", errors="ignore")))
asked = collections.defaultdict(list)
for key, new in table.items():
    module, rest = split_key(key)
    if not new.isidentifier():
        refuse(key, f"{new!r} is no name")
    elif module is None or not rest:
        refuse(key, "no such module")
    elif len(rest) == 1:
        var = defines(module, rest[0])
        if var is None:
            refuse(key, "not defined in that module")
        elif key in TARGETS:
            refuse(key, "named in a _target_ of a YAML file")
        elif any(m == f"{module}.{new}" for m in MODULES):
            refuse(key, f"{module}.{new} is a module")
        else:
            fixture = False
            for node in ast.walk(by_module[module].tree):
                if isinstance(node, ast.FunctionDef) and node.name == rest[0]:
                    fixture |= any("fixture" in ast.unparse(d) for d in node.decorator_list)
            if fixture:
                refuse(key, "a pytest fixture: tests name it by parameters")
            else:
                var_entry[module, rest[0]] = key
    else:
        c = f"{module}.{'.'.join(rest[:-1])}"
        name = rest[-1]
        info = classes.get(c)
        if info is None:
            refuse(key, "no such class (or a function's own)")
        elif is_dunder(name):
            refuse(key, "a dunder method")
        else:
            definer = next((b for b in info["mro"] if name in classes.get(b, {"names": {}})["names"]), None)
            if definer is None:
                refuse(key, "no such method")
                continue
            asked[root((definer, name))].append((key, definer, name))
for family, entries in asked.items():
    mates = members_of_family[family]
    name = family[1]
    foreign = sorted(c for c, _ in mates if not classes[c]["path"])
    protocols = {c for c, _ in mates if (c, name) in via_protocol}
    news = {table[k] for k, _, _ in entries}
    if foreign:
        for key, _, _ in entries:
            refuse(key, f"overrides or implements {foreign[0]}.{name}, which is not ours")
        continue
    for c, _ in mates:
        if classes[c]["names"][name] in ("var", "class") and any(
            n.target.id == name
            for s in files[classes[c]["path"]].classes.values() if s.node.lineno == classes[c]["line"]
            for n in s.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
        ):
            report["METHODS: a family with a field (keyword arguments are not renamed)"].append(f"{c}.{name}")
    if protocols:
        named = [e for e in entries if e[1] in protocols]
        if not named:
            for key, _, _ in entries:
                refuse(key, f"a Protocol asks for it, and no map renames {sorted(protocols)[0]}.{name}")
            continue
        chosen = named[0]
    else:
        roots = [
            e for e in entries
            if not any((b, name) in mates for b in classes[e[1]]["mro"][1:])
        ]
        chosen = (roots or entries)[0]
        if not roots:
            report["METHODS: the key is not the first class that defines it; the whole family is renamed"].append(
                f"{chosen[0]} -> {table[chosen[0]]}: also " + ", ".join(sorted(f"{c}" for c, _ in mates)))
    for e in entries:
        if table[e[0]] != table[chosen[0]]:
            refuse(e[0], f"{table[e[0]]}, but {chosen[0]} of the same family becomes {table[chosen[0]]}")
    # Classes that share a name only through Protocols.
    if protocols and len(mates) > 1:
        report["METHODS: renamed in a Protocol and all that implement it"].append(
            f"{chosen[0]} -> {table[chosen[0]]}: " + ", ".join(sorted(c for c, _ in mates)))
    family_entry[family] = chosen[0]


# ---------------------------------------------------------------- final names
def static_module(file, node, scope):
    """The module that an expression of names and dots stands for."""
    if isinstance(node, ast.Name):
        return module_of_var(resolve(scope, node.id))
    if isinstance(node, ast.Attribute):
        m = static_module(file, node.value, scope)
        if m is None:
            return None
        if m in by_module and node.attr in by_module[m].top.vars:
            return module_of_var(by_module[m].top.vars[node.attr])
        return f"{m}.{node.attr}" if f"{m}.{node.attr}" in MODULES else None
    return None


def module_of_var(var, depth=0):
    if var is None or depth > 20:
        return None
    for kind, module, name, _ in var.imports:
        if kind == "module":
            if module in MODULES:
                return module
            # The child's own modules import each other by their bare names.
            return None
        if module in by_module and name in by_module[module].top.vars:
            return module_of_var(by_module[module].top.vars[name], depth + 1)
        if f"{module}.{name}" in MODULES:
            return f"{module}.{name}"
    return None


def bare(file, module):
    """`import wire` of a file beside: the module with its folder."""
    if module in by_module or module in PACKAGES or not module:
        return module
    beside = f"{file.module.rpartition('.')[0]}.{module}"
    return beside if beside in by_module else module


for file in files.values():
    for scope_vars in [file.import_names]:
        for i, (var, module, name, asname, *rest) in enumerate(scope_vars):
            fixed = bare(file, module)
            if fixed != module:
                scope_vars[i] = (var, fixed, name, asname, *rest)
                if var is not None:
                    var.imports = [(k, fixed if m == module else m, n, a) for k, m, n, a in var.imports]

    def walk(scope):
        for var in scope.vars.values():
            var.imports = [(k, bare(file, m) if k == "module" else m, n, a) for k, m, n, a in var.imports]
        for child in scope.children:
            walk(child)

    walk(file.top)


def origin(module, name, depth=0):
    """The entry that renames a module's name, followed through imports without `as`."""
    key = var_entry.get((module, name))
    if key:
        return key
    file = by_module.get(module)
    var = file.top.vars.get(name) if file else None
    return origin_of_imports(var, depth)


def origin_of_imports(var, depth=0):
    if var is None or depth > 20:
        return None
    for kind, module, name, asname in var.imports:
        if kind == "from" and (asname is None or asname == name) and module in MODULES:
            key = origin(module, name, depth + 1)
            if key:
                return key
    return None


class_scope_name = {}  # Scope -> fullname
line_class = {(i["path"], i["line"]): c for c, i in classes.items() if i["path"]}
for rel, file in files.items():
    for line, scope in file.classes.items():
        scope.klass = line_class.get((rel, line))
        if scope.klass is None and rel in module_of_path:
            report["CLASSES: unknown to mypy"].append(f"{rel}:{line}")


def entry_of_var(var):
    scope = var.scope
    if scope.kind == "module":
        # Of the module's file, whatever name it is asked by.
        return origin(module_of_scope[scope], var.name)
    if scope.kind == "class":
        if scope.klass and (scope.klass, var.name) in parent:
            return family_entry.get(root((scope.klass, var.name)))
        return None
    return origin_of_imports(var)


module_of_scope = {f.top: f.module for f in files.values()}


def all_scopes(scope):
    yield scope
    for child in scope.children:
        yield from all_scopes(child)


def culprits():
    """Entries that would make two names one, or that a nearer name would hide."""
    bad = {}
    news = {table[k] for k in [*var_entry.values(), *family_entry.values()]}
    for rel, file in files.items():
        finals, entry = {}, {}
        for scope in all_scopes(file.top):
            named = {}
            for name, var in scope.vars.items():
                key = entry_of_var(var)
                final = table[key] if key else name
                entry[var] = (key, final)
                if final in named:
                    other = named[final]
                    blamed = key or entry[other][0]
                    if entry[other][0] != key:
                        bad.setdefault(blamed, f"{rel}: {final} is there already ({scope.kind} {scope.qual})")
                else:
                    named[final] = var
            finals[scope] = named
        for use in file.uses:
            var = use.var
            key, final = entry[var] if var else (None, use.name)
            if not key and final not in news:
                continue
            found = resolve(use.scope, final, finals.__getitem__)
            # `global` and `nonlocal` are looked up under the old name.
            if found is not var and use.name not in use.scope.globals | use.scope.nonlocals:
                blamed = key or (entry[found][0] if found else None)
                if blamed:
                    near = found.scope.qual if found else "nothing"
                    bad.setdefault(blamed, f"{rel}:{use.line}: {final} means another thing there ({near})")
    # methods
    for c, info in classes.items():
        if not any(classes.get(b, {}).get("path") for b in info["mro"]):
            continue
        named = {}
        for base in info["mro"]:
            for name in classes.get(base, {"names": {}})["names"]:
                key = family_entry.get(root((base, name))) if (base, name) in parent else None
                final = table[key] if key else name
                known = named.setdefault(final, (name, key))
                if known[0] != name and (key or known[1]):
                    bad.setdefault(key or known[1], f"{c} has {final} already")
    return bad


while True:
    bad = culprits()
    if not bad:
        break
    for key, why in bad.items():
        refuse(key, why)
    var_entry = {k: v for k, v in var_entry.items() if v not in bad}
    family_entry = {k: v for k, v in family_entry.items() if v not in bad}
say(f"{len(var_entry)} module-level names and {len(family_entry)} methods are renamed, "
    f"{len(refused)} entries refused")

# ---------------------------------------------------------------- edits
edits = collections.defaultdict(dict)  # path -> {(line, byte column): (old, new)}
reasons = collections.Counter()


def edit(file, line, col, old, new, why):
    if old == new:
        return
    if not file.at(line, col, old):
        report["EDITS: not where they were expected"].append(f"{file.path}:{line}:{col}: {old} -> {new} ({why})")
        return
    known = edits[file.path].get((line, col))
    if known and known != (old, new):
        report["EDITS: two at one place"].append(f"{file.path}:{line}: {known} {old} {new}")
        return
    if not known:
        reasons[why] += 1
    edits[file.path][line, col] = (old, new)


def final_of(module, name):
    key = origin(module, name)
    return table[key] if key else name


def final_member(c, name):
    """The new name of a class's attribute, whoever defines it."""
    for base in classes[c]["mro"] if c in classes else []:
        if name in classes.get(base, {"names": {}})["names"]:
            key = family_entry.get(root((base, name))) if (base, name) in parent else None
            return table[key] if key else name
    return name


method_olds = collections.defaultdict(set)
for family, key in family_entry.items():
    method_olds[family[1]].add(table[key])
var_olds = collections.defaultdict(set)
for (module, name), key in var_entry.items():
    var_olds[name].add(table[key])

foreign_members = set()
for rel, file in files.items():
    finals = {}
    for use in file.uses:
        if use.var is None:
            continue
        if use.var not in finals:
            key = entry_of_var(use.var)
            finals[use.var] = table[key] if key else use.var.name
        edit(file, use.line, use.col, use.name, finals[use.var], "names")
    for var, module, name, asname, line, col, end_line, end_col, scope in file.import_names:
        if module not in MODULES:
            continue
        key = origin(module, name)
        new = table[key] if key else name
        edit(file, line, col, name, new, "imports")
        if asname and key and asname == name:
            back = end_col - len(asname.encode())
            edit(file, end_line, back, asname, new, "imports")
    known = {(a, b, c): who for a, b, c, who in facts["members"].get(rel, [])}
    for node, scope in file.attributes:
        name = node.attr
        line, col = node.end_lineno, node.end_col_offset - len(name.encode())
        m = static_module(file, node.value, scope)
        if m is not None:
            if m in by_module and name in by_module[m].top.vars:
                edit(file, line, col, name, final_of(m, name), "module.name")
            continue
        if name not in method_olds and name not in var_olds:
            continue
        who = known.get((line, node.end_col_offset, name))
        if who is None:
            where = "MYPY NEVER SAW (unreachable, or no file of mypy's)"
            if name in method_olds:
                report[f"ATTRIBUTES: {where}"].append(
                    f"{rel}:{line}: .{name} ({', '.join(sorted(method_olds[name]))}) {file.lines[line - 1].strip()[:90]}")
            continue
        news = set()
        for w in who:
            if w.startswith("M:"):
                news.add(final_of(w[2:], name))
            elif w in classes and (w, name) in parent:
                key = family_entry.get(root((w, name)))
                news.add(table[key] if key else name)
                if not classes[w]["path"]:
                    foreign_members.add(name)
            elif w.startswith("?"):
                if w == "?foreign" or w.startswith("?missing"):
                    news.add(name)
                    foreign_members.add(name)
                else:
                    base = ast.unparse(node.value)
                    possible = method_olds[name] | var_olds[name] if w == "?module" or "import_module" in base \
                        else method_olds.get(name, set())
                    last = base.rpartition(".")[2]
                    possible |= {
                        table[k] for (mm, n2), k in var_entry.items() if n2 == name and mm.endswith("." + last)}
                    if possible:
                        kind = {"?Any": "receiver is Any", "?none": "no type (unreachable?)"}.get(w, w)
                        report[f"ATTRIBUTES: {kind}"].append(
                            f"{rel}:{line}: .{name} ({', '.join(sorted(possible))}) {file.lines[line - 1].strip()[:90]}")
            else:
                news.add(name)
                foreign_members.add(name)
        if len(news) > 1:
            report["ATTRIBUTES: a union of which only some are renamed"].append(
                f"{rel}:{line}: .{name} {sorted(who)} {sorted(news)}")
            continue
        if news:
            edit(file, line, col, name, news.pop(), "attributes")
say(f"{sum(map(len, edits.values()))} edits in code: {dict(reasons)}")

context = dict(globals())
texts.run(context)
say(f"{sum(map(len, edits.values()))} edits with texts: {dict(reasons)}")

# ---------------------------------------------------------------- write
written = 0
for rel, places in edits.items():
    if not places:
        continue
    path = TREE / rel
    lines = path.read_bytes().split(b"\n")
    for (line, col), (old, new) in sorted(places.items(), reverse=True):
        raw = lines[line - 1]
        assert raw[col : col + len(old.encode())] == old.encode(), (rel, line, col, old)
        lines[line - 1] = raw[:col] + new.encode() + raw[col + len(old.encode()) :]
    if not args.dry_run:
        path.write_bytes(b"\n".join(lines))
        written += 1
say(f"{written} files written")
if not args.dry_run and not args.no_ruff:
    for command in (["check", "--fix", "--select", "I", "-q", "."], ["format", "-q", "."], ["check", "--statistics", "."]):
        done = subprocess.run([str(TREE / ".venv/bin/ruff"), *command], cwd=TREE, capture_output=True, text=True)
        if done.returncode:
            report["RUFF: " + " ".join(command)] += done.stdout.splitlines()[-40:] + done.stderr.splitlines()[-10:]
    say("ruff: imports sorted, formatted, checked")
if refused:
    report["REFUSED ENTRIES"] = [f"{source[k]}: {k} -> {table[k]}: {w}" for k, w in sorted(refused.items())]
order = sorted(report, key=lambda k: (not k.startswith("REFUSED"), k))
with open(args.report, "w") as out:
    out.write(f"{len(table)} entries, {len(refused)} refused; {sum(map(len, edits.values()))} edits "
              f"in {sum(bool(e) for e in edits.values())} files: {dict(reasons)}\n")
    for title in order:
        rows = report[title]
        out.write(f"\n== {title} ({len(rows)})\n" + "\n".join(map(str, rows)) + "\n")
for title in order:
    print(f"  {len(report[title]):5} {title}")
say(f"report: {args.report}")
