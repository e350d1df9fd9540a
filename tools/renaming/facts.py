"""What mypy knows of a tree: who defines each attribute that is accessed, classes, protocols.

Run by apply.py with its own interpreter (Python 3.12 and mypy):
facts.py TREE OUT.json
"""
import gc
import json
import os
import sys
import time

import mypy.build
from mypy import nodes as n
from mypy import types as t
from mypy.main import process_options
from mypy.typestate import type_state

tree, out = sys.argv[1], sys.argv[2]
os.chdir(tree)
sys.setrecursionlimit(20000)
# Libraries come from mypy's cache; our own files must be read, or there are no trees of them.
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cache")
import glob, sqlite3, ast, re  # noqa
TOPS = {d for d in os.listdir(tree) if os.path.isdir(d) and not d.startswith(".")}
ours = tuple(f"{d}/" for d in TOPS) + tuple(f + "." for f in ("run_campaign", "setup"))
beside = tuple(f[:-3] + "." for d, _, fs in os.walk("docs/study") for f in fs if f.endswith(".py"))
for db in glob.glob(f"{CACHE}/*/cache*.db"):
    with sqlite3.connect(db) as each:
        names = [r[0] for r in each.execute("select path from files2")]
        gone = [x for x in names if x.startswith(ours + beside)]
        each.executemany("delete from files2 where path = ?", [(x,) for x in gone])
gc.disable()
start = time.time()
extra = [f for f in ("setup.py",) if os.path.exists(f)]
sources, options = process_options(["--config-file", "pyproject.toml"])
options.python_executable = os.environ["TREE_PYTHON"]
options.incremental = True
options.cache_dir = CACHE
options.export_types = True
options.preserve_asts = True
options.warn_unused_configs = False
# process_options has derived the search path from the interpreter that runs us.
from mypy.modulefinder import get_search_dirs  # noqa
result = mypy.build.build(sources, options)
print(f"mypy: {len(result.errors)} errors, {time.time() - start:.0f} s", flush=True)
for e in result.errors[:5]:
    print("  ", e)
here = os.getcwd() + os.sep
files = {}
for name, f in result.files.items():
    path = os.path.abspath(f.path)
    if path.startswith(here) and not path.startswith(here + ".venv") and path.endswith(".py"):
        files[name] = (path[len(here):], f)
types = result.types


def lookup(info, name, mro=None):
    for base in mro or info.mro:
        if name in base.names:
            return base.fullname
    return None


def owners(typ, name, depth=0):
    if typ is None:
        return {"?none"}
    p = t.get_proper_type(typ)
    if isinstance(p, t.AnyType):
        return {"?Any"}
    if isinstance(p, t.UnionType):
        return set().union(*(owners(i, name) for i in p.items))
    if isinstance(p, t.NoneType):
        return {"?foreign"}
    if isinstance(p, t.Instance):
        found = lookup(p.type, name)
        if found:
            return {found}
        if p.extra_attrs and p.extra_attrs.mod_name:
            return {"M:" + p.extra_attrs.mod_name}
        if p.type.fullname == "types.ModuleType":
            return {"?module"}
        return {"?missing:" + p.type.fullname}
    if isinstance(p, t.TypeVarType):
        if p.values:
            return set().union(*(owners(i, name) for i in p.values))
        return owners(p.upper_bound, name)
    if isinstance(p, t.TupleType):
        return owners(p.partial_fallback, name)
    if isinstance(p, t.LiteralType):
        return owners(p.fallback, name)
    if isinstance(p, t.TypedDictType):
        return {"?foreign"}
    if isinstance(p, (t.CallableType, t.Overloaded)):
        if p.is_type_obj():
            info = p.type_object()
            found = lookup(info, name)
            if found:
                return {found}
            if info.metaclass_type:
                found = lookup(info.metaclass_type.type, name)
                if found:
                    return {found}
        return owners(p.fallback, name)
    if isinstance(p, t.TypeType):
        item = t.get_proper_type(p.item)
        if isinstance(item, t.AnyType):
            return {"?Any"}
        return owners(item, name)
    if isinstance(p, t.UninhabitedType):
        return {"?none"}
    return {"?other:" + type(p).__name__}


ATTRIBUTES = {}


def attributes_of(kind):
    """The data attributes of a kind of node, without those that lead to other trees."""
    if kind not in ATTRIBUTES:
        ATTRIBUTES[kind] = [
            attr
            for attr in dir(kind)
            if not attr.startswith("__")
            and attr not in ("node", "info", "type", "names", "original_def")
            and not callable(getattr(kind, attr, None))
        ]
    return ATTRIBUTES[kind]


class Walker:
    """mypyc's visitors take no interpreted subclasses: nodes are walked by their attributes."""

    def walk(self, top):
        seen, stack = set(), [top]
        while stack:
            x = stack.pop()
            if isinstance(x, (list, tuple)):
                stack.extend(x)
                continue
            if not isinstance(x, n.Node) or isinstance(x, (n.TypeInfo, n.Var)) or id(x) in seen:
                continue
            if isinstance(x, n.MypyFile) and x is not top:
                continue
            seen.add(id(x))
            self.put_node(x)
            for attr in attributes_of(type(x)):
                try:
                    value = getattr(x, attr)
                except Exception:
                    continue
                if isinstance(value, (list, tuple, n.Node)):
                    stack.append(value)

    def put_node(self, x):
        visit = {n.MemberExpr: "visit_member_expr", n.SuperExpr: "visit_super_expr",
                 n.CallExpr: "visit_call_expr", n.ClassDef: "visit_class_def"}.get(type(x))
        if visit and hasattr(self, visit):
            try:
                getattr(self, visit)(x)
            except Exception as problem:
                print(f"facts: {type(x).__name__} line {x.line}: {problem!r}", flush=True)


class Visitor(Walker):
    def __init__(self):
        self.found = {}
        self.literals = []

    def put(self, e, who):
        key = (e.end_line, e.end_column, e.name)
        self.found.setdefault(key, set()).update(who)

    def visit_member_expr(self, e):
        x = e.expr
        if isinstance(x, n.RefExpr) and isinstance(x.node, n.MypyFile):
            self.put(e, {"M:" + x.node.fullname})
            return
        if isinstance(x, n.RefExpr) and isinstance(x.node, n.TypeInfo):
            found = lookup(x.node, e.name)
            if found:
                self.put(e, {found})
                return
        if isinstance(x, n.RefExpr) and isinstance(x.node, n.TypeAlias):
            self.put(e, owners(x.node.target, e.name))
            return
        self.put(e, owners(types.get(x), e.name))

    def visit_super_expr(self, e):
        if e.info:
            found = lookup(None, e.name, e.info.mro[1:])
            self.put(e, {found or "?foreign"})
        else:
            self.put(e, {"?none"})

    def visit_call_expr(self, e):
        c = e.callee
        called = c.name if isinstance(c, (n.NameExpr, n.MemberExpr)) else ""
        if called in ("setattr", "getattr", "hasattr", "delattr", "object") and len(e.args) > 1:
            a, s = e.args[0], e.args[1]
            if isinstance(s, n.StrExpr):
                if isinstance(a, n.RefExpr) and isinstance(a.node, n.MypyFile):
                    who = {"M:" + a.node.fullname}
                elif isinstance(a, n.RefExpr) and isinstance(a.node, n.TypeInfo):
                    who = {lookup(a.node, s.value) or "?missing:" + a.node.fullname}
                else:
                    who = owners(types.get(a), s.value)
                self.literals.append([s.line, s.column, called, s.value, sorted(who)])


def kind(sym):
    node = sym.node
    if isinstance(node, n.Decorator):
        return "property" if node.func.is_property else "method"
    if isinstance(node, n.OverloadedFuncDef):
        return "property" if node.is_property else "method"
    if isinstance(node, n.FuncDef):
        return "method"
    if isinstance(node, n.TypeInfo):
        return "class"
    return "var"


members, literals = {}, {}
for name, (path, f) in files.items():
    v = Visitor()
    v.walk(f)
    members[path] = [[*k, sorted(who)] for k, who in v.found.items()]
    literals[path] = v.literals
classes = {}
done = set()


def put_class(info, path=None):
    if info.fullname in classes and (path is None or classes[info.fullname]["path"]):
        return
    classes[info.fullname] = {
        "path": path,
        "line": info.line,
        "mro": [b.fullname for b in info.mro],
        "protocol": info.is_protocol,
        "names": {k: kind(s) for k, s in info.names.items()},
    }
    for b in info.mro[1:]:
        put_class(b)


class Classes(Walker):
    path = None

    def visit_class_def(self, d):
        put_class(d.info, self.path)


for name, (path, f) in files.items():
    v = Classes()
    v.path = path
    v.walk(f)
from mypy.subtypes import is_subtype  # noqa
from mypy.typevars import fill_typevars_with_any  # noqa

infos = {}
for f in result.files.values():
    pass
links = {}
for left, rights in type_state._attempted_protocols.items():
    links[left] = sorted(rights)
for right in {r for rs in links.values() for r in rs}:
    if right not in classes:
        module = right
        while "." in module:
            module = module.rpartition(".")[0]
            if module in result.files:
                sym = result.files[module].names.get(right[len(module) + 1 :])
                if sym and isinstance(sym.node, n.TypeInfo):
                    put_class(sym.node)
                break
json.dump(
    {
        "modules": {name: path for name, (path, f) in files.items()},
        "members": members,
        "literals": literals,
        "classes": classes,
        "links": links,
        "errors": result.errors[:20],
    },
    open(out, "w"),
)
print(f"facts: {time.time() - start:.0f} s, {len(files)} files", flush=True)
os._exit(0)
