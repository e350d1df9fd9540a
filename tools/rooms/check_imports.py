"""python check_imports.py TREE: every import of ours resolves to a module and a name; arrows and counts."""
import ast, sys, pathlib
root = pathlib.Path(sys.argv[1]); tops = ("harness","agents","analysis","studies","tools","crucible","tests","metamorphic")
files = {}
for t in tops:
    for p in (root/t).rglob("*.py"):
        files[".".join(p.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = p
trees = {m: ast.parse(p.read_text()) for m,p in files.items()}
def names(m):
    out=set()
    for n in ast.walk(trees[m]):
        if isinstance(n,(ast.FunctionDef,ast.ClassDef,ast.AsyncFunctionDef)): out.add(n.name)
        elif isinstance(n,ast.Name) and isinstance(n.ctx,ast.Store): out.add(n.id)
        elif isinstance(n,(ast.Import,ast.ImportFrom)):
            out|={(a.asname or a.name).split(".")[0] for a in n.names}
    return out
cache={}
pk=lambda m: any(f.startswith(m+".") for f in files)
bad=0
for m,t in trees.items():
    for n in ast.walk(t):
        if isinstance(n,ast.Import):
            for a in n.names:
                if a.name.split(".")[0] in tops and a.name not in files and not pk(a.name): print(files[m],n.lineno,a.name); bad+=1
        elif isinstance(n,ast.ImportFrom) and n.module and n.module.split(".")[0] in tops:
            if n.module not in files and not pk(n.module): print(files[m],n.lineno,n.module); bad+=1; continue
            for a in n.names:
                if f"{n.module}.{a.name}" in files or pk(f"{n.module}.{a.name}"): continue
                if n.module not in cache: cache[n.module]=names(n.module) if n.module in files else set()
                if a.name not in cache[n.module]: print(files[m],n.lineno,n.module,a.name); bad+=1
print("unresolved:",bad,"modules:",len(files))
