"""Names in strings, comments, docstrings, YAML, Markdown and notebooks."""
import ast
import collections
import io
import re
import tokenize

TOPS = "harness|agents|analysis|metamorphic|crucible|tests|docs"
DOTTED = re.compile(rf"(?<![\w./\-])((?:{TOPS})(?:\.\w+)+)(?::(\w+(?:\.\w+)*))?")
FROM = re.compile(rf"\bfrom\s+((?:{TOPS})(?:\.\w+)*)\s+import\s+(\([^)]*\)|[^\n;\\\"')]*)")
IMPORT = re.compile(rf"\bimport\s+((?:{TOPS})(?:\.\w+)*)(?:\s+as\s+(\w+))?")
TICKS = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
SIMPLE = re.compile(r"^([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(\(.*\))?$")


def run(c):
    files, by_module, modules = c["files"], c["by_module"], c["MODULES"]
    edits, report, reasons = c["edits"], c["report"], c["reasons"]
    final_of, final_member = c["final_of"], c["final_member"]
    classes, table = c["classes"], c["table"]
    tree = c["TREE"]

    # ---- what a bare name can mean in the whole house
    meanings = collections.defaultdict(set)  # old -> {final}
    module_level = collections.defaultdict(set)
    for module, file in by_module.items():
        for name, var in file.top.vars.items():
            if var.kinds & {"def", "class", "assign", "annotated"}:
                final = final_of(file.module, name)
                meanings[name].add(final)
                module_level[name].add((file.module, final))
    methods = collections.defaultdict(set)
    for name_class, info in classes.items():
        if info["path"]:
            for name in info["names"]:
                final = final_member(name_class, name)
                meanings[name].add(final)
                methods[name].add(final)
    by_class_name = collections.defaultdict(set)
    for name_class in classes:
        if classes[name_class]["path"]:
            by_class_name[name_class.rpartition(".")[2]].add(name_class)
    by_last = collections.defaultdict(set)
    for m in by_module:
        by_last[m.rpartition(".")[2]].add(by_module[m].module)
    others = set()  # parameters, strings, settings: names that are more than a function's
    for file in files.values():
        for scope in c["all_scopes"](file.top):
            if scope.kind == "function":
                others.update(n for n, v in scope.vars.items() if "param" in v.kinds)
        for node, _ in file.all_strings:
            if re.fullmatch(r"\w+", node.value):
                others.add(node.value)
    for path in c["listed"]((".yaml", ".yml")):
        others.update(re.findall(r"^\s*-?\s*(\w+):", path.read_text(encoding="utf-8", errors="ignore"), re.MULTILINE))
    compound = lambda name: "_" in name.strip("_") or bool(re.search(r"[a-z][A-Z]", name))  # noqa

    def unambiguous(name, called=False):
        """The one new name of a bare old name, or None; and whether it has to be reported."""
        finals = meanings.get(name, set())
        if not finals or finals == {name}:
            return None, False
        if len(finals) == 1 and (name not in others or called) and (
            compound(name) or called or name[0].isupper()
        ):
            return next(iter(finals)), False
        return None, True

    def unique_method(name):
        if name in c["foreign_members"] or name in module_level:
            return None
        finals = methods.get(name, set())
        return next(iter(finals)) if len(finals) == 1 and finals != {name} else None

    def dotted_edits(text):
        """(offset, old, new) of dotted paths from a top folder."""
        for m in DOTTED.finditer(text):
            path, after = m.group(1), m.group(2)
            parts = path.split(".")
            i = len(parts)
            while i and ".".join(parts[:i]) not in modules:
                i -= 1
            if not i:
                continue
            module = ".".join(parts[:i])
            rest, offset = parts[i:], m.start() + len(module) + 1
            if after:
                if rest:
                    continue
                rest, offset = after.split("."), m.start(2)
            yield from chain_edits(module, rest, offset)

    def chain_edits(module, rest, offset):
        if not rest or module not in by_module:
            return
        file = by_module[module]
        name = rest[0]
        if name not in file.top.vars:
            return
        yield offset, name, final_of(module, name)
        if len(rest) > 1:
            var = file.top.vars[name]
            for _ in range(9):
                froms = [i for i in var.imports if i[0] == "from" and i[1] in by_module]
                if not froms:
                    break
                file = by_module[froms[0][1]]
                var = file.top.vars.get(froms[0][2])
                if var is None:
                    return
            cls = f"{file.module}.{var.name}"
            if cls in classes:
                yield offset + len(name) + 1, rest[1], final_member(cls, rest[1])

    def imported(pieces):
        """What code in texts imports: {name: new}, {alias: module}; edits within the imports."""
        names, aliases, out = {}, {}, []
        for k, text in enumerate(pieces):
            for m in FROM.finditer(text):
                module = m.group(1)
                if module not in modules:
                    continue
                start = m.start(2)
                for a in re.finditer(r"\b(\w+)\b(?:\s+as\s+(\w+))?|\*", re.sub(r"#[^\n]*", lambda x: " " * len(x.group()), m.group(2))):
                    if a.group() == "*":
                        if module in by_module:
                            for name in by_module[module].top.vars:
                                names[name] = (final_of(module, name), module)
                        continue
                    name, alias = a.group(1), a.group(2)
                    if f"{module}.{name}" in modules and not (
                        module in by_module and name in by_module[module].top.vars
                    ):
                        aliases[alias or name] = f"{module}.{name}"
                        continue
                    new = final_of(module, name) if module in by_module else name
                    out.append((k, start + a.start(1), name, new))
                    if not alias:
                        names[name] = (new, module)
            for m in IMPORT.finditer(text):
                if m.group(2) and m.group(1) in modules:
                    aliases[m.group(2)] = m.group(1)
        return names, aliases, out

    def code_edits(pieces, names=None, aliases=None):
        """(piece, offset, old, new) in pieces of code that import from us."""
        got, got_aliases, out = imported(pieces)
        names, aliases = {**(names or {}), **got}, {**(aliases or {}), **got_aliases}
        for k, text in enumerate(pieces):
            out += [(k, *e) for e in dotted_edits(text)]
            if names:
                taken = [(m.start(), m.end()) for m in FROM.finditer(text)]
                for m in WORD.finditer(text):
                    first, *rest = m.group().split(".")
                    if any(a <= m.start() < b for a, b in taken):
                        continue
                    if re.match(r"=[^=]", text[m.end() : m.end() + 2]):
                        # A keyword, unless a line begins with it.
                        continue
                    if first in names:
                        new, module = names[first]
                        out += [(k, *e) for e in chain_edits(module, [first, *rest], m.start())]
                    elif first in aliases and rest:
                        out += [(k, *e) for e in chain_edits(aliases[first], rest, m.start() + len(first) + 1)]
            if names or aliases:
                for m in re.finditer(r"\.(\w+)\(", text):
                    new = unique_method(m.group(1))
                    if new:
                        out.append((k, m.start(1), m.group(1), new))
                    elif m.group(1) in methods and methods[m.group(1)] != {m.group(1)}:
                        out.append((k, m.start(1), m.group(1), None))
        return out, names, aliases

    def tick_edits(text, where, bare, offset0=0):
        """Names in backticks: (offset, old, new)."""
        for m in TICKS.finditer(text):
            content, offset = m.group(1), m.start(1)
            s = SIMPLE.match(content)
            words = [(s.group(1), 0, bool(s.group(2)))] if s else []
            if s and s.group(2) or not s:
                at = len(s.group(1)) if s else 0
                for w in WORD.finditer(content, at):
                    if compound(w.group()) and not re.match(r"\s*=[^=]", content[w.end() : w.end() + 3]) \
                            and (w.start() == 0 or content[w.start() - 1] not in "-/$\"'{"):
                        words.append((w.group(), w.start(), content[w.end() : w.end() + 1] == "("))
            for word, at, called in words:
                parts = word.split(".")
                if re.match(rf"(?:{TOPS})\.", word):
                    yield from dotted_edits_at(word, offset + at)
                elif len(parts) == 1:
                    new, doubt = bare(parts[0], called)
                    if new and new != parts[0]:
                        yield offset + at, parts[0], new
                    elif doubt:
                        doubts[parts[0]].append(where(offset + at))
                else:
                    first, rest = parts[0], parts[1:]
                    own = by_class_name.get(first, set())
                    ends = by_last.get(first, set())
                    if len(own) == 1:
                        cls = next(iter(own))
                        module, _, name = cls.rpartition(".")
                        if module in by_module:
                            yield offset + at, first, final_of(module, name)
                        yield offset + at + len(first) + 1, rest[0], final_member(cls, rest[0])
                    elif own:
                        finals = {final_member(x, rest[0]) for x in own}
                        if len(finals) > 1:
                            doubts[word].append(where(offset + at))
                        elif finals:
                            yield offset + at + len(first) + 1, rest[0], next(iter(finals))
                    elif ends:
                        known = [e for e in ends if rest[0] in by_module[e].top.vars]
                        finals = {final_of(e, rest[0]) for e in known}
                        if len(finals) == 1:
                            yield offset + at + len(first) + 1, rest[0], next(iter(finals))
                        elif finals:
                            doubts[word].append(where(offset + at))
                    elif rest[0] in methods and methods[rest[0]] != {rest[0]}:
                        new = unique_method(rest[0])
                        if new:
                            yield offset + at + len(first) + 1, rest[0], new
                        else:
                            doubts[word].append(where(offset + at))

    def dotted_edits_at(word, offset):
        for o, old, new in dotted_edits(word):
            yield offset + o, old, new

    doubts = collections.defaultdict(list)
    plain = collections.defaultdict(list)

    def put(rel, starts, text, offset, old, new, why):
        """An edit at a character offset of a text."""
        if old == new:
            return
        line = bisect(starts, offset)
        col = len(text[starts[line - 1] : offset].encode())
        if text[offset : offset + len(old)] != old:
            report["EDITS: not where they were expected"].append(f"{rel}:{line}: {old} -> {new} ({why})")
            return
        known = edits[rel].get((line, col))
        if known and known != (old, new):
            report["EDITS: two at one place"].append(f"{rel}:{line}: {known} {old} {new} ({why})")
            return
        if not known:
            reasons[why] += 1
            if why in LOGGED:
                report[f"TEXTS CHANGED, to look at: {why}"].append(
                    f"{rel}:{line}: {old} -> {new}: {text[starts[line - 1]:].split(chr(10), 1)[0].strip()[:100]}")
        edits[rel][line, col] = (old, new)

    LOGGED = {"code in strings", "dotted in strings", "names beside modules", "setattr and kin"}

    import bisect as b

    def bisect(starts, offset):
        return b.bisect_right(starts, offset)

    def line_starts(text):
        starts = [0]
        for m in re.finditer("\n", text):
            starts.append(m.end())
        return starts

    # ---- Python
    olds = {n for n, f in meanings.items() if f != {n}}
    for rel, file in files.items():
        text = file.text
        starts = line_starts(text)
        members_at = []  # (first line, last line, scope)
        spans = [
            (s.node.lineno, s.node.end_lineno, s)
            for s in c["all_scopes"](file.top) if s.kind in ("class", "function") and hasattr(s.node, "body")
            and not isinstance(s.node, ast.Lambda)
        ]

        def bare_at(line, file=file, spans=spans):
            inside = [s for a, z, s in spans if a <= line <= z]

            def bare(name, called):
                for s in reversed(inside):
                    if s.kind == "function" and name in s.vars and not s.vars[name].imports:
                        return None, False
                    if s.kind == "class" and s.klass:
                        for base in classes[s.klass]["mro"]:
                            if name in classes.get(base, {"names": {}})["names"]:
                                return final_member(s.klass, name), False
                if name in file.top.vars:
                    return final_of(file.module, name), False
                return unambiguous(name, called)

            return bare

        all_lists = set()
        for node in ast.walk(file.tree):
            value = None
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
                value = node.value
            if isinstance(value, (ast.List, ast.Tuple)):
                for e in value.elts:
                    if isinstance(e, ast.Constant) and isinstance(e.value, str):
                        off = starts[e.lineno - 1] + len(file.blines[e.lineno - 1][: e.col_offset].decode()) + 1
                        put(rel, starts, text, off, e.value, final_of(file.module, e.value), "__all__")
                        all_lists.add((e.lineno, e.col_offset))

        handled = set(all_lists)

        def put_constant(node, new, why):
            off = starts[node.lineno - 1] + len(file.blines[node.lineno - 1][: node.col_offset].decode()) + 1
            handled.add((node.lineno, node.col_offset))
            put(rel, starts, text, off, node.value, new, why)

        # setattr and kin: what mypy knows of the first argument
        known = {(l, col): (called, value, who) for l, col, called, value, who in c["facts"]["literals"].get(rel, [])}
        for node, name, scope in file.calls:
            consts = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if name in ("setattr", "getattr", "hasattr", "delattr", "object") and len(node.args) > 1:
                second = node.args[1]
                m = c["static_module"](file, node.args[0], scope)
                if m in by_module and second in consts and second.value in by_module[m].top.vars:
                    put_constant(second, final_of(m, second.value), "setattr and kin")
            for a in consts:
                fact = known.get((a.lineno, a.col_offset))
                if fact and fact[1] == a.value:
                    for w in fact[2]:
                        new = a.value
                        if w.startswith("M:"):
                            new = final_of(w[2:], a.value)
                        elif w in classes:
                            new = final_member(w, a.value)
                        elif a.value in olds and w.startswith("?"):
                            report["GETATTR AND KIN: first argument unknown"].append(
                                f"{rel}:{a.lineno}: {fact[0]}(…, {a.value!r}) on {w}")
                            continue
                        if new != a.value:
                            put_constant(a, new, "setattr and kin")
                        else:
                            handled.add((a.lineno, a.col_offset))
            if name in ("methodcaller", "attrgetter"):
                for a in consts:
                    if any(p in olds for p in a.value.split(".")):
                        report["GETATTR AND KIN: first argument unknown"].append(f"{rel}:{a.lineno}: {name}({a.value!r})")
            for a in node.args:
                if isinstance(a, ast.Constant) and a.value in by_module or (
                    isinstance(a, ast.Name) and False
                ):
                    for other in consts:
                        if other is not a and other.value in by_module[a.value].top.vars:
                            new = final_of(a.value, other.value)
                            if new != other.value:
                                put_constant(other, new, "names beside modules")
        # tokens
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (tokenize.TokenError, SyntaxError) as problem:
            report["FILES: not handled"].append(f"{rel}: {problem}")
            continue
        group, depth, groups = [], 0, []
        quiet = {tokenize.NL, tokenize.COMMENT, tokenize.NEWLINE}

        def close():
            nonlocal group
            if group:
                groups.append(group)
            group = []

        for tok in tokens:
            off = starts[tok.start[0] - 1] + tok.start[1]
            if tok.type == tokenize.COMMENT:
                for o, old, new in tick_edits(tok.string, lambda o, l=tok.start[0]: f"{rel}:{l}", bare_at(tok.start[0])):
                    put(rel, starts, text, off + o, old, new, "comments")
                for w in re.finditer(r"(?<![\w.`])\w+(?![\w`])", tok.string):
                    if compound(w.group()) and w.group() in olds:
                        plain[w.group()].append(f"{rel}:{tok.start[0]}")
                for o, old, new in dotted_edits(tok.string):
                    put(rel, starts, text, off + o, old, new, "comments")
            elif tok.type == tokenize.STRING:
                body = re.match(r"(?i)[rbuf]*(\"\"\"|'''|\"|')", tok.string)
                q = body.end()
                group.append((off + q, tok.string[q : len(tok.string) - len(body.group(1))]))
            elif tok.type == tokenize.FSTRING_START:
                depth += 1
            elif tok.type == tokenize.FSTRING_MIDDLE:
                raw = text[off : off + len(tok.string)]
                # Doubled braces make the token shorter than its text.
                end = starts[tok.end[0] - 1] + tok.end[1]
                group.append((off, text[off:end] if raw != tok.string else raw))
            elif tok.type == tokenize.FSTRING_END:
                depth -= 1
            elif depth == 0 and tok.type not in quiet:
                close()
        close()
        docstrings = set()
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                docstrings.add(node.value.lineno)
        for group in groups:
            first_line = bisect(starts, group[0][0])
            is_doc = first_line in docstrings and len(group) == 1
            if is_doc:
                off, body = group[0]
                where = lambda o, off=off: f"{rel}:{bisect(starts, off + o)}"  # noqa
                # A docstring of a function stands within its span.
                for o, old, new in tick_edits(body, where, bare_at(first_line)):
                    put(rel, starts, text, off + o, old, new, "docstrings")
                for o, old, new in dotted_edits(body):
                    put(rel, starts, text, off + o, old, new, "docstrings")
                for w in re.finditer(r"(?<![\w.`])\w+(?![\w`])", body):
                    if compound(w.group()) and w.group() in olds:
                        plain[w.group()].append(where(w.start()))
                continue
            pieces = [body for _, body in group]
            out, names, aliases = code_edits(pieces)
            why = "code in strings" if names or aliases else "dotted in strings"
            for k, o, old, new in out:
                at = group[k][0] + o
                if new is None:
                    report["STRINGS: .method in code, for you to decide"].append(f"{rel}:{bisect(starts, at)}: .{old}")
                else:
                    put(rel, starts, text, at, old, new, why)
            if not (names or aliases):
                for off, body in group:
                    where = lambda o, off=off: f"{rel}:{bisect(starts, off + o)}"  # noqa
                    for m in TICKS.finditer(body):
                        if m.group(1) in olds:
                            plain["`" + m.group(1) + "`"].append(where(m.start()))
        for node, scope in file.all_strings:
            if (node.lineno, node.col_offset) in handled:
                continue
            if node.value in olds and compound(node.value):
                report["STRINGS equal to an old name, unchanged"].append(
                    f"{rel}:{node.lineno}: {node.value!r} ({', '.join(sorted(meanings[node.value]))}): "
                    f"{file.lines[node.lineno - 1].strip()[:80]}")

    # ---- YAML, TOML, Makefile, .ci, Markdown, notebooks
    tops = [tree / n for n in ("pyproject.toml", "Makefile", "mkdocs.yml", "MANIFEST.in")]
    others_files = [p for p in tops if p.exists()]
    others_files += [p for p in (tree / ".ci").rglob("*") if p.is_file() and p.suffix != ".py"]
    others_files += [p for p in c["listed"]((".yaml", ".yml", ".sh", ".toml", ".cfg")) if p not in tops]
    for path in others_files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        rel = str(path.relative_to(tree))
        starts = line_starts(text)
        out, *_ = code_edits([text])
        for k, o, old, new in out:
            if new is not None:
                put(rel, starts, text, o, old, new, "settings and scripts")
        where = lambda o: f"{rel}:{bisect(starts, o)}"  # noqa
        for o, old, new in tick_edits(text, where, unambiguous):
            put(rel, starts, text, o, old, new, "settings and scripts")
    for path in c["listed"]((".md",)):
        text = path.read_text(encoding="utf-8")
        rel = str(path.relative_to(tree))
        starts = line_starts(text)
        blocks = [(m.start(2), m.group(2)) for m in
                  re.finditer(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)^[ \t]*```", text, re.MULTILINE | re.DOTALL)]
        out, names, aliases = code_edits([body for _, body in blocks])
        for k, o, old, new in out:
            at = blocks[k][0] + o
            if new is None:
                report["DOCS: .method in code, for you to decide"].append(f"{rel}:{bisect(starts, at)}: .{old}")
            else:
                put(rel, starts, text, at, old, new, "code in docs")
        hidden = list(text)
        for off, body in blocks:
            for i in range(off, off + len(body)):
                if hidden[i] != "\n":
                    hidden[i] = " "
        hidden = "".join(hidden).replace("```", "   ")

        def bare(name, called, names=names):
            if name in names:
                return names[name][0], False
            return unambiguous(name, called)

        where = lambda o: f"{rel}:{bisect(starts, o)}"  # noqa
        for o, old, new in tick_edits(hidden, where, bare):
            put(rel, starts, text, o, old, new, "docs")
        for o, old, new in dotted_edits(hidden):
            put(rel, starts, text, o, old, new, "docs")
        for w in re.finditer(r"(?<![\w.`/\-])\w+(?![\w`])", hidden):
            if compound(w.group()) and w.group() in olds:
                plain[w.group()].append(where(w.start()))
    for path in c["listed"]((".ipynb",)):
        text = path.read_text(encoding="utf-8")
        rel = str(path.relative_to(tree))
        starts = line_starts(text)
        # Strings of JSON, each a line of source.
        pieces = [(m.start(1), m.group(1)) for m in re.finditer(r'"((?:[^"\\\n]|\\.)*)"', text)]
        out, names, aliases = code_edits([body.replace("\\n", "\n ") if False else body for _, body in pieces])
        for k, o, old, new in out:
            at = pieces[k][0] + o
            if new is None:
                report["DOCS: .method in code, for you to decide"].append(f"{rel}:{bisect(starts, at)}: .{old}")
            else:
                put(rel, starts, text, at, old, new, "code in docs")
        for off, body in pieces:
            where = lambda o, off=off: f"{rel}:{bisect(starts, off + o)}"  # noqa
            for o, old, new in tick_edits(body, where, unambiguous):
                put(rel, starts, text, off + o, old, new, "docs")
    for word, places in sorted(doubts.items()):
        report["BACKTICKS: an old name that may mean another thing, unchanged"].append(
            f"`{word}` ({', '.join(sorted(meanings.get(word, ())))}): {len(places)} places: {' '.join(places[:6])}")
    for word, places in sorted(plain.items()):
        report["PROSE without backticks that has an old name, unchanged"].append(
            f"{word} ({', '.join(sorted(meanings.get(word.strip('`'), ())))}): {len(places)} places: {' '.join(places[:6])}")
