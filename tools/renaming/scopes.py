"""Names of one file: scopes, variables, and the place of every use."""
import ast
import re


class Var:
    __slots__ = ("scope", "name", "imports", "is_import_module", "defs", "uses", "kinds")

    def __init__(self, scope, name):
        self.scope, self.name = scope, name
        self.imports = []  # (kind, module, name) where no `as` differs, or with
        self.kinds = set()
        self.uses = []


class Scope:
    def __init__(self, kind, node, parent, qual):
        self.kind, self.node, self.parent, self.qual = kind, node, parent, qual
        self.vars, self.globals, self.nonlocals = {}, set(), set()
        self.children = []
        self.klass = None
        if parent:
            parent.children.append(self)

    def bind(self, name, kind):
        scope = self
        if name in self.globals:
            while scope.parent:
                scope = scope.parent
        elif name in self.nonlocals:
            scope = scope.parent
            while scope and not (scope.kind == "function" and name in scope.vars):
                scope = scope.parent
            if scope is None:
                return None
        var = scope.vars.get(name)
        if var is None:
            var = scope.vars[name] = Var(scope, name)
        var.kinds.add(kind)
        return var

    def function_like(self):
        scope = self
        while scope.kind == "comprehension":
            scope = scope.parent
        return scope


def resolve(scope, name, key=lambda s: s.vars):
    first = True
    s = scope
    if name in s.globals:
        while s.parent:
            s = s.parent
        return key(s).get(name)
    while s:
        if s.kind != "class" or first:
            if name not in s.nonlocals and name in key(s):
                return key(s)[name]
        if not (s.kind == "class" and first and False):
            first = False
        s = s.parent
    return None


class Use:
    __slots__ = ("scope", "name", "line", "col", "var", "star")

    def __init__(self, scope, name, line, col):
        self.scope, self.name, self.line, self.col, self.var = scope, name, line, col, None


class File(ast.NodeVisitor):
    """All uses of plain names; attributes; annotations in quotes; strings."""

    def __init__(self, path, module, text, is_package):
        self.path, self.module, self.text, self.is_package = path, module, text, is_package
        self.lines = text.split("\n")
        self.blines = [l.encode() for l in self.lines]
        self.uses, self.attributes, self.problems = [], [], []
        self.import_names = []  # (scope, from module, name, asname, line, col)
        self.classes = {}
        self.all_strings, self.calls, self.keywords = [], [], []
        self.tree = ast.parse(text)
        self.scope = self.top = Scope("module", self.tree, None, module)
        self.pending = []
        self.annotation = False
        for node in self.tree.body:
            self.visit(node)
        while self.pending:
            todo, self.pending = self.pending, []
            for scope, work in todo:
                self.scope = scope
                work()
        for use in self.uses:
            if use.var is None:
                use.var = resolve(use.scope, use.name)
            if use.var is not None:
                use.var.uses.append(use)

    # -- helpers
    def use(self, name, line, col, scope=None):
        u = Use(scope or self.scope, name, line, col)
        self.uses.append(u)
        return u

    def at(self, line, col, name):
        return self.blines[line - 1][col : col + len(name.encode())] == name.encode()

    def find(self, line, col, name):
        m = re.compile(rb"\b" + name.encode() + rb"\b").search(self.blines[line - 1], col)
        return m.start() if m else None

    def bind_use(self, name, line, col, kind):
        var = self.scope.bind(name, kind)
        if col is not None:
            u = self.use(name, line, col)
            u.var = var
        return var

    # -- statements
    def visit_FunctionDef(self, node):
        col = self.find(node.lineno, node.col_offset + 3, node.name)
        var = self.bind_use(node.name, node.lineno, col, "def")
        for d in node.decorator_list:
            self.visit(d)
        self.function(node, f"{self.scope.qual}.{node.name}")

    visit_AsyncFunctionDef = visit_FunctionDef

    def function(self, node, qual):
        a = node.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]:
            self.visit(d)
        params = [*a.posonlyargs, *a.args, *a.kwonlyargs]
        params += [x for x in (a.vararg, a.kwarg) if x]
        for p in params:
            if p.annotation:
                self.annotated(p.annotation)
        if getattr(node, "returns", None):
            self.annotated(node.returns)
        inner = Scope("function", node, self.scope, qual)
        for p in params:
            inner.bind(p.arg, "param")

        def work(node=node):
            body = node.body if isinstance(node.body, list) else [node.body]
            for b in body:
                self.visit(b)

        # All bindings of the enclosing scopes must be known before nonlocal ones are resolved.
        self.pending.append((inner, work))

    def visit_Lambda(self, node):
        self.function(node, self.scope.qual + ".<lambda>")

    def visit_ClassDef(self, node):
        col = self.find(node.lineno, node.col_offset + 5, node.name)
        self.bind_use(node.name, node.lineno, col, "class")
        for d in node.decorator_list:
            self.visit(d)
        for b in [*node.bases, *[k.value for k in node.keywords]]:
            self.visit(b)
        inner = Scope("class", node, self.scope, f"{self.scope.qual}.{node.name}")
        self.classes[node.lineno] = inner
        outer, self.scope = self.scope, inner
        for b in node.body:
            self.visit(b)
        self.scope = outer

    def comprehension(self, node, *results):
        first = node.generators[0]
        self.visit(first.iter)
        inner = Scope("comprehension", node, self.scope, self.scope.qual)
        outer, self.scope = self.scope, inner
        for i, g in enumerate(node.generators):
            if i:
                self.visit(g.iter)
            self.visit(g.target)
            for c in g.ifs:
                self.visit(c)
        for r in results:
            self.visit(r)
        self.scope = outer

    def visit_ListComp(self, node):
        self.comprehension(node, node.elt)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node):
        self.comprehension(node, node.key, node.value)

    def visit_NamedExpr(self, node):
        self.visit(node.value)
        outer = self.scope
        self.scope = outer.function_like()
        self.visit(node.target)
        self.scope = outer

    def visit_Name(self, node):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            self.bind_use(node.id, node.lineno, node.col_offset, "assign")
        else:
            self.use(node.id, node.lineno, node.col_offset)

    def visit_AugAssign(self, node):
        self.visit(node.target)
        self.visit(node.value)

    def visit_AnnAssign(self, node):
        self.visit(node.target)
        if isinstance(node.target, ast.Name):
            self.scope.bind(node.target.id, "annotated")
        self.annotated(node.annotation)
        if node.value:
            alias = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
            self.annotated(node.value) if alias else self.visit(node.value)

    def visit_Global(self, node):
        kind = self.scope.globals if isinstance(node, ast.Global) else self.scope.nonlocals
        kind.update(node.names)
        for name in node.names:
            col = self.find(node.lineno, node.col_offset + 6, name)
            if isinstance(node, ast.Global):
                self.bind_use(name, node.lineno, col, "global")
            elif col is not None:
                self.use(name, node.lineno, col)

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node):
        if node.type:
            self.visit(node.type)
        if node.name:
            self.scope.bind(node.name, "assign")
            self.problem_name(node, node.name)
        for b in node.body:
            self.visit(b)

    def problem_name(self, node, name):
        col = self.find(node.lineno, node.col_offset + 7, "as")
        if col is not None:
            col = self.find(node.lineno, col + 2, name)
        if col is not None:
            self.use(name, node.lineno, col)

    def visit_MatchAs(self, node):
        if node.pattern:
            self.visit(node.pattern)
        if node.name:
            end = self.blines[node.end_lineno - 1][: node.end_col_offset]
            self.bind_use(node.name, node.end_lineno, len(end) - len(node.name.encode()), "assign")

    def visit_MatchStar(self, node):
        if node.name:
            self.bind_use(node.name, node.end_lineno,
                          node.end_col_offset - len(node.name.encode()), "assign")

    def visit_MatchMapping(self, node):
        self.generic_visit(node)
        if node.rest:
            self.scope.bind(node.rest, "assign")

    def absolute(self, node):
        if not node.level:
            return node.module
        parts = self.module.split(".")
        if not self.is_package:
            parts = parts[:-1]
        if node.level > 1:
            parts = parts[: -(node.level - 1)]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def visit_ImportFrom(self, node):
        module = self.absolute(node)
        for a in node.names:
            if a.name == "*":
                self.problems.append((node.lineno, f"from {module} import *"))
                continue
            local = a.asname or a.name
            var = self.scope.bind(local, "import")
            if var is not None:
                var.imports.append(("from", module, a.name, a.asname))
            self.import_names.append((var, module, a.name, a.asname, a.lineno, a.col_offset,
                                      a.end_lineno, a.end_col_offset, self.scope))

    def visit_Import(self, node):
        for a in node.names:
            local = a.asname or a.name.split(".")[0]
            var = self.scope.bind(local, "import")
            if var is not None:
                target = a.name if a.asname else local
                var.imports.append(("module", target, None, a.asname))

    # -- expressions
    def visit_Attribute(self, node):
        self.visit(node.value)
        self.attributes.append((node, self.scope))

    def visit_Call(self, node):
        f = node.func
        name = f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""
        self.calls.append((node, name, self.scope))
        self.visit(f)
        for i, a in enumerate(node.args):
            if name == "cast" and i == 0 or name in ("TypeVar", "NewType") and i:
                self.annotated(a)
            else:
                self.visit(a)
        for k in node.keywords:
            if k.arg == "bound":
                self.annotated(k.value)
            else:
                self.visit(k.value)

    def visit_Constant(self, node):
        if isinstance(node.value, str):
            self.all_strings.append((node, self.scope))

    def annotated(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            self.quoted(node)
        elif isinstance(node, ast.Subscript):
            self.annotated(node.value)
            base = node.value
            name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
            if name == "Literal":
                self.visit(node.slice)
            elif name == "Annotated" and isinstance(node.slice, ast.Tuple):
                self.annotated(node.slice.elts[0])
                for e in node.slice.elts[1:]:
                    self.visit(e)
            else:
                self.annotated(node.slice)
        elif isinstance(node, (ast.Tuple, ast.List)):
            for e in node.elts:
                self.annotated(e)
        elif isinstance(node, ast.BinOp):
            self.annotated(node.left)
            self.annotated(node.right)
        else:
            self.visit(node)

    def quoted(self, node):
        raw = self.blines[node.lineno - 1]
        start = node.col_offset
        literal = raw[start : node.end_col_offset]
        if node.lineno != node.end_lineno or literal[1:-1] != node.value.encode():
            self.problems.append((node.lineno, f"annotation in quotes: {node.value}"))
            return
        try:
            inner = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return
        for each in ast.walk(inner):
            if hasattr(each, "lineno"):
                each.lineno += node.lineno - 1
                each.end_lineno += node.lineno - 1
                each.col_offset += start + 1
                each.end_col_offset += start + 1
        self.annotated(inner)
