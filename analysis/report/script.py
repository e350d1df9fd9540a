"""The page's one script: tables that sort, one that filters. Without it they are plain tables.

Nothing else of the page runs: the policy in its head has the digest of this script.
"""

from __future__ import annotations

import base64
import hashlib

SCRIPT = """
(() => {
'use strict';
const compared = new Intl.Collator('en', {numeric: true}).compare;
const NUMBER = /^[<+]? ?(-?[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?)(?![^ %])/i;
const ABSENT = new Set(['', '-', 'none']);
const make = (name, parts = {}) => Object.assign(document.createElement(name), parts);
const main = cell => cell.querySelector('small') ? cell.firstElementChild : cell;
const shown = cell => main(cell).textContent.trim();

const sorted = (rows, column, descending) => {
  const texts = rows.map(row => shown(row.cells[column]));
  const present = texts.map((text, at) => at).filter(at => !ABSENT.has(texts[at]));
  const numbers = texts.map(text => parseFloat(NUMBER.exec(text)?.[1]));
  const numeric = present.every(at => !Number.isNaN(numbers[at]));
  const sign = descending ? -1 : 1;
  const absent = at => ABSENT.has(texts[at]);
  const order = (a, b) => absent(a) - absent(b)
    || sign * (numeric ? numbers[a] - numbers[b] || 0 : compared(texts[a], texts[b]))
    || a - b;
  return rows.map((row, at) => at).sort(order).map(at => rows[at]);
};

const sort = (table, column, way) => {
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (at === column && way) head.setAttribute('aria-sort', way);
    else head.removeAttribute('aria-sort');
  });
  const rows = table.crucibleRows;
  table.tBodies[0].append(...(way ? sorted(rows, column, way === 'descending') : rows));
};

const NEXT = {ascending: 'descending', descending: ''};
const sortable = table => {
  table.crucibleRows = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = make('button', {type: 'button', title: 'Sort'});
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () =>
      sort(table, column, NEXT[head.getAttribute('aria-sort')] ?? 'ascending'));
  });
};

const labelled = (name, control) => {
  const label = make('label');
  label.append(make('span', {textContent: name}), control);
  return label;
};

const choice = (first, texts) => {
  const select = make('select');
  select.append(new Option(first, ''), ...texts.map(text => new Option(text, text)));
  return select;
};

const filterable = table => {
  const rows = table.crucibleRows;
  const heads = [...table.tHead.rows[0].cells];
  const names = heads.map(head => head.textContent);
  const find = make('input', {type: 'search', placeholder: 'words of a row'});
  const choices = heads.flatMap((head, column) => {
    if (!head.hasAttribute('data-filter')) return [];
    const texts = [...new Set(rows.map(row => shown(row.cells[column])))].sort(compared);
    return texts.length > 1 ? [[column, choice('all', texts)]] : [];
  });
  const count = make('output');
  const words = rows.map(row => [...row.cells].map(shown).join(' ').toLowerCase());
  const apply = () => {
    const wanted = find.value.toLowerCase().split(' ').filter(word => word);
    let kept = 0;
    rows.forEach((row, at) => {
      row.hidden = !(wanted.every(word => words[at].includes(word)) && choices.every(
        ([column, select]) => !select.value || shown(row.cells[column]) === select.value));
      kept += !row.hidden;
    });
    count.textContent = `${kept} of ${rows.length} rows`;
  };
  const ways = names.flatMap((name, column) => [
    new Option(`${name}, ascending`, `${column} ascending`),
    new Option(`${name}, descending`, `${column} descending`)]);
  const by = choice('as driven', []);
  by.append(...ways);
  by.addEventListener('change', () => {
    const [column, way] = by.value.split(' ');
    sort(table, Number(column), way);
  });
  const clear = make('button', {type: 'button', textContent: 'Show all'});
  clear.addEventListener('click', () => {
    find.value = '';
    choices.forEach(([, select]) => { select.value = ''; });
    apply();
  });
  find.addEventListener('input', apply);
  choices.forEach(([, select]) => select.addEventListener('change', apply));
  const sorting = labelled('sort by', by);
  sorting.className = 'narrow';
  const controls = make('div', {className: 'controls'});
  controls.append(labelled('find', find),
    ...choices.map(([column, select]) => labelled(names[column], select)), sorting, clear, count);
  table.closest('.scroll').before(controls);
  apply();
};

const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName === 'DETAILS') part.open = true;
  }
  const fold = target?.querySelector(':scope > details.part');
  if (fold) fold.open = true;
  if (target) target.scrollIntoView();
};

for (const table of document.querySelectorAll('table.cells')) {
  if (table.tBodies[0].rows.length > 1) sortable(table);
}
for (const table of document.querySelectorAll('table.filtered')) {
  if (table.crucibleRows) filterable(table);
}
const opened = [];
addEventListener('beforeprint', () => {
  document.querySelectorAll('details:not([open]):not(.screen)').forEach(fold => {
    fold.open = true;
    opened.push(fold);
  });
});
addEventListener('afterprint', () => {
  opened.splice(0).forEach(fold => { fold.open = false; });
});
addEventListener('hashchange', reveal);
reveal();
})();
"""


def format_security_policy() -> str:
    """Return what a browser may load and run for the page: its drawings and this script."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
