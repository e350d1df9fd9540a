"""Checks the rename maps against the tree and prints the figures after them."""
import ast, collections, json, pathlib, re, sys, importlib.util
import argparse
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--tree', required=True, type=pathlib.Path)
parser.add_argument('--names', required=True, help='the script names.py that has the word lists')
parser.add_argument('--maps', type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent)
parser.add_argument('--room')
args = parser.parse_args()
ROOT = args.tree.resolve(); MAPS = args.maps; room = args.room
spec = importlib.util.spec_from_file_location('names', args.names)
n = importlib.util.module_from_spec(spec); spec.loader.exec_module(n)
table, source, problems = {}, {}, []
for f in sorted(MAPS.glob('*.json')):
    for k, v in json.loads(f.read_text()).items():
        if k in table: problems.append(f'{k}: in {source[k]} and {f.name}')
        if not str(v).isidentifier(): problems.append(f'{f.name}: {k}: {v!r} is no name')
        table[k] = v; source[k] = f.name
seen = set(); items = []  # (module, qual, newname, kind, decorated)
per_module = collections.defaultdict(collections.Counter)
for p in sorted(ROOT.rglob('*.py')):
    parts = p.relative_to(ROOT).parts
    if {'tests','docs','build','.venv'} & set(parts): continue
    mod = '.'.join(p.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
    tree = ast.parse(p.read_text())
    def visit(node, prefix, kind):
        for ch in ast.iter_child_nodes(node):
            if isinstance(ch, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                q = f'{prefix}.{ch.name}'; seen.add(q)
                new = table.get(q, ch.name)
                k = 'class' if isinstance(ch, ast.ClassDef) else kind
                decs = ' '.join(ast.unparse(d) for d in ch.decorator_list)
                if k == 'method' and 'property' in decs: k = 'property'
                items.append((mod, q, ch.name, new, k, str(p.relative_to(ROOT))))
                if prefix == mod: per_module[mod][new] += 1
                visit(ch, q, 'method' if isinstance(ch, ast.ClassDef) else 'closure')
            else:
                visit(ch, prefix, kind)
    visit(tree, mod, 'module')
    for node in tree.body:
        for t in (node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []):
            if isinstance(t, ast.Name): seen.add(f'{mod}.{t.id}'); per_module[mod][table.get(f'{mod}.{t.id}', t.id)] += 0
for k in table:
    if k not in seen: problems.append(f'{source[k]}: {k}: not in the tree')
places = collections.defaultdict(set)
for mod, q, old, new, k, path in items:
    if q == f'{mod}.{old}': places[new].add(mod)
for mod, c in per_module.items():
    for name, count in c.items():
        if count > 1: problems.append(f'{mod}: {name} defined {count} times')
def figures(sub):
    fn = [i for i in sub if i[4] != 'class' and not i[2].startswith('__')]
    cl = [i for i in sub if i[4] == 'class']; mf = [i for i in sub if i[4] == 'module']
    ml = [i for i in sub if i[1] == f'{i[0]}.{i[2]}']
    w = [i[3].strip('_').split('_') for i in fn]; f = [i[3].strip('_').split('_') for i in mf]
    s = lambda c, o: f'{100*c/max(o,1):.0f} %'
    one = sum(len(re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+', i[3])) == 1 for i in cl)
    part = lambda x: bool(n.PARTICIPLE.fullmatch(x[0])) and x[0] not in n.NOT_PARTICIPLES
    return (f'functions {len(fn)}: one word {s(sum(len(x)==1 for x in w), len(w))}, verb first {s(sum(x[0] in n.VERBS for x in w), len(w))}; '
            f'classes {len(cl)}: one word {s(one, len(cl))}; namesakes {s(sum(len(places[i[3]])>1 for i in ml), len(ml))} of {len(ml)}; '
            f'module functions: participle {s(sum(map(part, f)), len(f))}, preposition {s(sum(len(x)>1 and x[-1] in n.PREPOSITIONS for x in f), len(f))}')
if room:
    sub = [i for i in items if i[5].startswith(room)]
    for mod, q, old, new, k, path in sub:
        if new.startswith('__') : continue
        x = new.strip('_').split('_'); flags = []
        if k == 'class':
            if len(re.findall(r'[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+', new)) == 1: flags.append('one word')
        else:
            if len(x) == 1: flags.append('one word')
            if k == 'module':
                if x[0] not in n.VERBS: flags.append('no verb')
                if n.PARTICIPLE.fullmatch(x[0]) and x[0] not in n.NOT_PARTICIPLES: flags.append('participle')
                if len(x) > 1 and x[-1] in n.PREPOSITIONS: flags.append('preposition')
        if q == f'{mod}.{old}' and len(places[new]) > 1: flags.append('namesake in ' + ', '.join(sorted(places[new]-{mod})[:3]))
        if flags: print(f'{k:9}{q} -> {new}: {"; ".join(flags)}')
    print(room, figures(sub))
else:
    for top in sorted({i[5].split('/')[0] if i[5].split('/')[0] != 'harness' else '/'.join(i[5].split('/')[:2]) for i in items}):
        print(f'{top}: ', figures([i for i in items if i[5].startswith(top)]))
print('ALL', figures(items))
mine = [p for p in problems]
print(f'{len(table)} renames, {len(mine)} problems'); print('\n'.join(mine[:60]))
