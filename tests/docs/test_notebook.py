"""A notebook as a page: text, code, outputs and figures, in their order."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from .notebook import ABOUT, notebook_files

PAGE = """# Title

{about}

```py
first
```

![what the code above shows](little-1.png)

```py
second
```

<table>
  <tr><td>3</td></tr>
</table>

```py
third
```

```text
plain
```

![what the code above shows](little-3.png)
"""


def code(count: int, source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": count,
        "source": [source],
        "outputs": [{"data": data} for data in outputs],
    }


def png(content: bytes) -> dict[str, Any]:
    return {"image/png": base64.b64encode(content).decode() + "\n", "text/plain": ["<Image>"]}


def test_a_page_has_text_code_and_outputs_and_figures_are_files(tmp_path: Path) -> None:
    html = [
        "<div>\n",
        "<style scoped></style>\n",
        '<table border="1" class="dataframe">\n',
        '  <tr style="text-align: right;"><td>3</td></tr>\n',
        "</table>\n",
        "</div>",
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title"]},
        code(1, "first", png(b"one")),
        code(2, "second", {"text/html": html, "text/plain": ["3"]}),
        code(3, "third", {"text/plain": ["plain"]}, png(b"two")),
    ]
    notebook = tmp_path / "little.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    files = notebook_files(notebook)
    page = files.pop(tmp_path / "little.md").decode()
    assert files == {tmp_path / "little-1.png": b"one", tmp_path / "little-3.png": b"two"}
    assert page == PAGE.format(about=ABOUT)
