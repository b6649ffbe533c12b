"""The look of the page, light and dark."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --ink: #1f2933; --faint: #5b6770; --rule: #d9dfe4; --paper: #ffffff; --page: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaee; --faint: #a3adb6; --rule: #39434c; --paper: #1c2329; --page: #13181c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 "Segoe UI", "Noto Sans", "Helvetica Neue", Arial, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1rem; margin: 0 0 .5rem; }
p { margin: 0; }
.faint { color: var(--faint); font-size: .875rem; }
section, figure { margin: 1.25rem 0 0; padding: 1.25rem; background: var(--paper);
  border: 1px solid var(--rule); border-radius: .5rem; }
.texts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem; }
.texts + .faint { margin-top: 1rem; }
.text { line-height: 1.9; white-space: pre-wrap; overflow-wrap: anywhere; text-align: start; }
mark { padding: .1em 0; border-radius: .15em; }
.light { --ink: #1f2933; --faint: #5b6770; --paper: #ffffff; color: var(--ink); }
figure { padding: .25rem; }
figcaption { padding: 0 1rem 1rem; }
.wide { overflow-x: auto; }
svg { display: block; max-width: 100%; min-width: 34rem; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .75rem; text-align: start; border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; }
th { font-size: .875rem; color: var(--faint); font-weight: 600; }
td:not(.number) { min-width: 4rem; }
.number { text-align: end; font-variant-numeric: tabular-nums; width: 1%; white-space: nowrap; }
@media (min-width: 45rem) { .number { width: 9rem; } }
@media (max-width: 30rem) {
  main { padding-inline: .75rem; }
  section { padding: .9rem; }
  th, td { padding-inline: .35rem; }
}
"""
