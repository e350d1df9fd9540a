"""How the report looks: on a wide screen, on a phone, on paper; light and dark."""

from __future__ import annotations

from analysis.drawing.palette import format_colour_classes, format_colour_variables
from analysis.drawing.svg import FONT

LAYOUT = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 FONT;
 font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
main,header,footer,nav{max-width:1020px;margin:0 auto;padding:0 20px}
header{padding-top:44px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:21px;line-height:1.3;margin:56px 0 12px;padding-top:14px;
 border-top:1px solid var(--line)}
h3{font-size:15.5px;margin:28px 0 8px}
h4{font-size:14px;margin:0 0 2px}
p,ul,dl{margin:8px 0;max-width:76ch}
ul{padding-left:20px}
li{margin:5px 0}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:2px}
.quiet,small,figcaption{color:var(--quiet)}
.lead{font-size:17px;color:var(--quiet);margin:0 0 14px}
nav ul{list-style:none;padding:10px 0;margin:0;display:flex;flex-wrap:wrap;gap:4px 18px;
 max-width:none;font-size:14px}
nav li{margin:0}
.notes{border-left:3px solid var(--mislocalised);background:var(--panel);padding:10px 16px;
 margin:16px 0;max-width:none}
.notes ul{margin:0}
dl.facts{display:grid;grid-template-columns:max-content 1fr;gap:4px 20px;margin:8px 0 22px;
 font-size:15px}
dl.facts dt{color:var(--quiet)}
dl.facts dd{margin:0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));
 gap:26px 34px;margin:18px 0;align-items:start}
figure{margin:0;max-width:470px;min-width:0}
figure svg{display:block;width:100%;height:auto;overflow:visible}
figure.broad{grid-column:1/-1;max-width:760px;overflow-x:auto}
figure.broad svg{min-width:580px}
svg text{font-family:FONT}
figcaption{font-size:13.5px;line-height:1.45;margin-bottom:8px}
figcaption b{color:var(--ink);display:block;font-size:14px}
table.cells{display:block;overflow-x:auto;border-collapse:collapse;font-size:13.5px;
 line-height:1.35;margin:8px 0 20px;max-width:100%;overflow-wrap:normal}
.cells th,.cells td{padding:5px 11px 5px 0;text-align:right;vertical-align:top;font-weight:400}
.cells thead th{color:var(--quiet);border-bottom:1px solid var(--line);font-size:12.5px;
 vertical-align:bottom}
.cells tbody th,.cells thead th.words{text-align:left}
.cells tbody th:first-child{font-weight:600}
.cells tbody tr{border-bottom:1px solid var(--line)}
.cells small{display:block;font-size:11.5px;white-space:nowrap}
.cells tr[hidden]{display:none}
.cells td.words{text-align:left}
.cells thead button{all:unset;cursor:pointer}
.cells thead button:hover{color:var(--ink);text-decoration:underline}
.cells thead button:focus-visible,.scroll:focus-visible{outline:2px solid var(--accent);
 outline-offset:2px}
.cells th[aria-sort]{color:var(--ink)}
.cells th[aria-sort] button::after{content:" \\25b2"}
.cells th[aria-sort=descending] button::after{content:" \\25bc"}
.wide{width:min(1560px,100vw - 40px);margin-left:calc(50% - min(780px,50vw - 20px))}
.scroll{overflow:auto;max-height:min(80vh,900px);border-bottom:1px solid var(--line)}
.scroll table.cells{display:table;margin:0;width:auto;min-width:100%;max-width:none;
 overflow:visible}
.scroll .cells thead th{position:sticky;top:0;background:var(--paper)}
.scroll .cells td{white-space:nowrap}
.controls{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:end;margin:8px 0 12px;
 font-size:13.5px}
.controls label{display:grid;gap:2px;color:var(--quiet);font-size:12.5px}
.controls input,.controls select,.controls button{font:inherit;font-size:13.5px;color:var(--ink);
 background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:4px 8px;
 max-width:260px;height:30px;box-sizing:border-box}
.controls .narrow{display:none}
.controls output{color:var(--quiet);padding:5px 0}
.case{margin:30px 0;break-inside:avoid}
.case p{margin:0 0 8px;font-size:14px;max-width:none}
.strip{display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:8px;max-width:none}
.strip img{display:block;width:100%;height:auto}
.strip svg{display:block;width:100%;height:auto;border:1px solid var(--line);border-radius:3px;
 background:var(--paper);overflow:hidden}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13.5px;list-style:none;padding:0;
 max-width:none}
.legend li{display:flex;align-items:center;gap:7px;margin:0}
.legend svg{width:22px;height:14px;flex:none}
code,pre{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{background:var(--panel);padding:2px 5px;border-radius:3px}
pre{background:var(--panel);padding:14px 16px;border-radius:4px;white-space:pre-wrap;margin:8px 0}
details{margin:10px 0}
details.part{border-top:1px solid var(--line);margin:0}
details.part>summary{padding:13px 0;color:var(--ink)}
details.part>summary h2{display:inline;border:0;margin:0;padding:0}
details.part[open]{padding-bottom:30px}
.pair{max-width:none}
.pair>div{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));
 gap:14px 34px}
.pair svg{max-width:470px}
summary{cursor:pointer;font-size:14.5px;color:var(--accent)}
.list{list-style:none;padding:0;max-width:none;font-size:14px;columns:2;column-gap:40px}
.list li{break-inside:avoid;border-bottom:1px solid var(--line);padding:4px 0;margin:0}
footer{padding-top:40px;padding-bottom:40px;font-size:13.5px;color:var(--quiet)}
"""
ROOMY = """
table.cells{width:max-content;max-width:calc(50vw + 470px)}
table.cells.many{max-width:calc(100vw - 40px);position:relative;left:50%;
 transform:translateX(-50%)}
"""
PHONE = """
body{font-size:15px}
header{padding-top:24px}
h1{font-size:24px}
h2{margin-top:40px}
main,header,footer,nav{padding-left:14px;padding-right:14px}
figure{max-width:none}
dl.facts{grid-template-columns:1fr;gap:0}
dl.facts dd{margin:0 0 8px}
.strip{grid-template-columns:minmax(0,300px)}
.list{columns:1}
"""
# Below this width a broad figure is wider than a screen without its margins.
SIDEWAYS_BELOW = 608
SIDEWAYS = """
figure.broad figcaption::after{display:block;color:var(--ink);
 content:"Wider than the screen: move it sideways to see the rest. \\2192"}
"""
CARDS = """
table.cells{overflow-wrap:anywhere}
.cells tbody{display:block}
.cells thead{display:none}
.cells tbody tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(98px,1fr));gap:7px 12px;
 padding:10px 0}
.cells tbody th,.cells tbody td{display:block;padding:0;text-align:left}
.scroll{padding:0 2px}
.scroll .cells td{white-space:normal}
.controls .narrow{display:grid}
.wide{width:auto;margin-left:0}
.cells tbody th::before,.cells tbody td::before{content:attr(data-label);display:block;
 color:var(--quiet);font-size:11.5px;font-weight:400}
"""
# Chromium repeats the head of a table on each page only if no button of it has a box of its own.
PRINT = """
body{font-size:10.5pt;background:#fff}
nav,footer{display:none}
h2{margin-top:26pt;break-after:avoid}
h2,h3{break-inside:avoid}
h3{break-after:avoid}
main,header{max-width:none;padding:0}
.figures{grid-template-columns:repeat(2,1fr)}
figure,.cells tr{break-inside:avoid}
figure.broad{max-width:560px}
figure.broad svg{min-width:0}
table.cells,.scroll table.cells{display:table;font-size:7.5pt}
.wide{width:auto;margin:0}
.scroll{max-height:none;overflow:visible;border:0}
.scroll .cells thead th{position:static}
.scroll .cells td{white-space:normal}
.scroll table.cells{font-size:6.5pt}
.controls label,.controls button{display:none}
.cells thead button{display:contents}
.pair>div{grid-template-columns:repeat(2,1fr);gap:8px 14px}
.pair svg{max-height:100mm}
.cells small{white-space:normal}
details:not([open]):not(.screen)::details-content{display:block;content-visibility:visible;
 height:auto}
.screen:not([open])>summary::after{content:" (not printed; the files have it)";
 color:var(--quiet);font-size:9pt}
summary{color:var(--ink);list-style:none}
details.part>summary{break-after:avoid}
.cells th,.cells td{padding:3px 5px 3px 0}
.cells thead th,.cells small{font-size:6.5pt}
.strip{grid-template-columns:repeat(3,1fr)}
"""


def format_style_sheet() -> str:
    """Return the style sheet; paper is always light."""
    light, dark = format_colour_variables(False), format_colour_variables(True)
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{format_colour_classes()}{LAYOUT.replace('FONT', FONT)}"
        f"@media screen and (min-width:1100px){{{ROOMY}}}"
        f"@media screen and (max-width:860px){{{CARDS}}}"
        f"@media screen and (max-width:640px){{{PHONE}}}"
        f"@media screen and (max-width:{SIDEWAYS_BELOW - 0.02}px){{{SIDEWAYS}}}"
        f"@page{{margin:12mm}}@media print{{{PRINT}}}"
    )
