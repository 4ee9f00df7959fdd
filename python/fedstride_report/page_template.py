"""The page's template (Jinja2, with autoescape). Colors are variables, so the same rules serve light pages, dark pages and print."""

PAGE = """\
<!DOCTYPE html>
{% macro rest(all, what, where) %}
{% if all > most %}
<p class="note">The first {{ most }} of {{ all }} {{ what }}; see {{ where }} for all.</p>
{% endif %}
{% endmacro %}
{% macro figure(one) %}
<figure>
<h3>{{ one.title }}</h3>
{{ one.svg }}<figcaption>{{ one.caption }}
{% for name, link in one.links.items() %}
 <a href="{{ link }}">{{ name }}</a>
{% endfor %}
</figcaption>
</figure>
{% endmacro %}
{% macro pairs(all) %}
<dl class="settings">
{% for name, value in all %}
<div{{ ' class="long"'|safe if (name ~ value)|length > 36 }}><dt>{{ name }}</dt><dd>{{ value }}</dd></div>
{% endfor %}
</dl>
{% endmacro %}
{% macro grid(one) %}
<div class="wide"><table class="results">
<thead>
{% for line in one.grid.header() %}
<tr>{{ "<td></td>"|safe * one.grid.row_keys|length }}
{%- for text, span in line %}<th class="n"{% if span > 1 %} colspan="{{ span }}"{% endif %}>{{ text }}</th>{% endfor %}</tr>
{% endfor %}
<tr>
{%- for key in one.grid.row_keys %}<th>{{ key }}</th>{% endfor %}
{%- for column in one.grid.columns %}<th class="n">{{ column[-1] or "–" }}</th>{% endfor %}</tr>
</thead>
<tbody>
{% for row in one.grid.rows[:most] %}
{% set r = loop.index0 %}
<tr>
{%- for text in row %}<th scope="row"{{ ' class="n"'|safe if one.numeric[loop.index0] }}>{{ text }}</th>{% endfor %}
{%- for column in one.grid.cells %}
{%- set cell = column[r] -%}
<td class="n{{ ' best' if cell.is_best }}" title="{{ cell.detail }}">{{ one.texts[loop.index0][r] }}
{%- if one.stars[loop.index0] %}<span class="star">{{ "*" if cell.is_worse }}</span>{% endif %}</td>
{%- endfor %}</tr>
{% endfor %}
</tbody></table></div>
{{ rest(one.grid.rows|length, "rows", "summary.csv") }}
{%- endmacro %}
{% macro configurations(all) %}
<div class="wide"><table>
<thead><tr>
{%- for key in all["keys"] %}<th>{{ key }}</th>{% endfor %}
{%- for name, label in all.columns %}<th class="n" title="{{ label }}">{{ name }}</th>{% endfor %}
<th class="n">n</th>{{ "<th>rank</th>"|safe if all.is_tuned }}</tr></thead>
<tbody>
{% for line in all.lines %}
<tr{% if line.class %} class="{{ line.class }}"{% endif %}>
{%- for value, is_number in line.point %}<td{{ ' class="n"'|safe if is_number }}>{{ value }}</td>{% endfor %}
{%- for cell in line.cells %}<td class="n"{% if cell %} title="{{ cell[1] }}">{{ cell[0] }}{% else %}>{% endif %}</td>{% endfor %}
<td class="n">{{ line.n }}</td>{% if all.is_tuned %}<td>{{ line.rank }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div>
<p class="note">Mean over n seeds ± half the width of its 95 % interval, after the last round.</p>
{{ rest(all.all, "configurations", "summary.csv") }}
{%- endmacro %}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>
{{ colors }}
body { font: 16px/1.5 Helvetica, Arial, "Liberation Sans", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 50rem; margin: 2rem auto; padding: 0 1rem; }
a { color: var(--l0); }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.3rem; margin-top: 2.2rem; border-bottom: 1px solid var(--grid); }
h3 { font-size: 1.05rem; margin-bottom: .3rem; }
table { border-collapse: collapse; font-size: .85rem; margin: .8rem 0; } .wide { overflow-x: auto; }
table.results td { white-space: nowrap; } td.best { font-weight: bold; } .star { display: inline-block; width: .6em; }
tbody th { font-weight: normal; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.first td { font-weight: bold; } tr.second td.n { text-decoration: underline; }
.status { white-space: nowrap; font-weight: bold; }
dl.settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); gap: 0 1.2rem;
  font-size: .8rem; line-height: 1.45; margin: .6rem 0 1rem; }
dl.settings div { display: flex; justify-content: space-between; gap: .6rem; border-bottom: 1px solid var(--grid); }
dl.settings div.long { grid-column: 1 / -1; }
dl.settings dt { color: var(--soft); white-space: nowrap; }
dl.settings dd { margin: 0; text-align: right; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
figure { margin: 1rem 0 1.8rem; }
figure svg { width: 100%; height: auto; display: block; stroke-linejoin: round; }
figure svg.narrow { display: none; }
figcaption, .note { font-size: .85rem; color: var(--soft); }
.winner { font-size: 1.1rem; font-weight: bold; } .winner + ul { font-size: .85rem; padding-left: 1.2rem; }
thead th[colspan] { text-align: center; border-bottom: 1px solid var(--grid); }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--soft); }
pre { font-size: .78rem; line-height: 1.4; background: var(--panel); border: 1px solid var(--grid); padding: .6rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
svg .v { fill: transparent; } svg .v:hover { stroke: var(--ink); stroke-width: 1; }
@media screen and (max-width: 499px) {
  body { margin: 1rem auto; } h1 { font-size: 1.4rem; } th, td { padding: .25rem .4rem; }
  figure svg.narrow { display: block; } figure svg.broad { display: none; }
}
@media print {
  @page { margin: 14mm 13mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt; line-height: 1.35; }
  a { color: inherit; text-decoration: none; }
  h1 { font-size: 15pt; margin: 0 0 4pt; } h2 { font-size: 12pt; margin: 10pt 0 4pt; } h3 { font-size: 10pt; margin: 0 0 2pt; }
  p, ul { margin: 3pt 0; } .winner { font-size: 10.5pt; } .winner + ul { font-size: 8pt; }
  figure { margin: 0 0 10pt; } figure svg { width: 74%; margin: 0 auto; }
  figcaption, .note { font-size: 8pt; }
  table.facts { break-inside: avoid; }
  table, dl.settings { font-size: 7.5pt; line-height: 1.3; } th, td { padding: 1.5pt 4pt; }
  dl.settings { grid-template-columns: repeat(4, 1fr); }
  figure, tr { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .wide { overflow-x: visible; }
  pre { background: none; font-size: 6.5pt; line-height: 1.25; columns: 2; padding: 4pt; }
  thead { display: table-header-group; }
  .screen, figcaption a, details:not([open]) { display: none; }
}
</style>
</head>
<body>
{% if sections|length > 1 %}
<h1>{{ title }}</h1>
<nav><ol>
{% for section in sections %}
<li><a href="#{{ section.id }}">{{ section.title }}</a></li>
{% endfor %}
</ol></nav>
{% endif %}
{% for section in sections %}
{% set level = "h2" if sections|length > 1 else "h1" %}
{% set experiment = section.experiment %}
<section id="{{ section.id }}">
<{{ level }}>{{ section.title }}</{{ level }}>
{% if experiment.source %}
<p>Source: {{ experiment.source }}</p>
{% endif %}
{% if experiment.claim %}
<p>Claim: {{ experiment.claim }}</p>
{% endif %}
{% if experiment.note %}
<p>{{ experiment.note }}</p>
{% endif %}
<p>{{ section.states }}</p>
{% if experiment.scale == "quick" %}
<p class="note">Small settings that show that everything works; they are not those of the source.</p>
{% endif %}
{% if section.results.notes %}
<h2>Results</h2>
{% for sentence in section.sentences[:1] %}
<p class="winner">{{ sentence }}</p>
{% endfor %}
{% if section.sentences[1:] %}
<ul>
{% for sentence in section.sentences[1:] %}
<li>{{ sentence }}</li>
{% endfor %}
</ul>
{% endif %}
{% for table in section.results.tables %}
{% if table.title %}
<h3>{{ table.title }}</h3>
{% endif %}
{{ grid(table) }}
{%- if not loop.last and not table.hides_note %}
<p class="note">{{ table.grid.note }}</p>
{% endif %}
{% endfor %}
{% for note in section.results.notes if note %}
<p class="note">{{ note }}</p>
{% endfor %}
{% endif %}
{% for remark in section.remarks %}
<p class="note">{{ remark }}</p>
{% endfor %}
{% if section.claims %}
<h2>Expectations</h2>
<div class="wide"><table>
<thead><tr><th>expectation</th><th>result</th><th>numbers</th><th>reason</th></tr></thead>
<tbody>
{% for one in section.claims %}
<tr><td>{{ one.claim }}</td><td class="status">{{ {"holds": "✓", "fails": "✗"}.get(one.status, "–") }} {{ one.status }}</td>
{#- #}<td>{{ one.text }}</td><td>{{ one.reason if one.status == "fails" }}</td></tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if section.figures %}
<h2>Figures</h2>
{% for one in section.figures %}
{{ figure(one) }}
{%- endfor %}
{% endif %}
{% if section.configurations %}
{% if section.configurations.is_open %}
<h2>Configurations</h2>
{{ configurations(section.configurations) }}
{%- else %}
<details>
<summary>All configurations</summary>
{{ configurations(section.configurations) }}
</details>
{% endif %}
{% endif %}
{% for note in section.notes %}
<p class="note">{{ note }}</p>
{% endfor %}
{% if section.unfinished %}
<h2>Cells without results</h2>
<div class="wide"><table>
<thead><tr><th>cell</th><th>status</th><th>reason</th></tr></thead>
<tbody>
{% for point, cell in section.unfinished[:most] %}
<tr><td>{{ point }}</td><td class="status">{{ "not run" if cell.status == "missing" else cell.status }}</td><td>{{ cell.error }}</td></tr>
{% endfor %}
</tbody></table></div>
{{ rest(section.unfinished|length, "cells", "cells.csv") }}
{%- endif %}
{% if section.settings.values()|select|list %}
<h2>Settings</h2>
{% for title, all in section.settings.items() if all %}
{% if title == "Defaults" %}
<details>
<summary>{{ title }}</summary>
{{ pairs(all) }}
</details>
{% else %}
<h3>{{ title }}</h3>
{{ pairs(all) }}
{%- endif %}
{% endfor %}
{% endif %}
{% if section.differing[0] %}
<h2>Settings that differ</h2>
<div class="wide"><table>
<thead><tr><th>run</th>{% for key in section.differing[0] %}<th>{{ key }}</th>{% endfor %}</tr></thead>
<tbody>
{% for line in section.differing[1] %}
<tr>{% for text in line %}<td>{{ text }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% endif %}
{% if section.machine %}
<h2>Machine and program</h2>
<table class="facts">
<tbody>
{% for name, value in section.machine.items() %}
<tr><th scope="row">{{ name }}</th><td>{{ value }}</td></tr>
{% endfor %}
</tbody></table>
{% endif %}
{% if section.times or section.figures_of_time %}
<details>
<summary>Times on this machine</summary>
{% if section.times %}
<p class="note">{{ section.times }}</p>
{% endif %}
{% for one in section.figures_of_time %}
{{ figure(one) }}
{%- endfor %}
</details>
{% endif %}
{% if section.commands %}
<details>
<summary>Commands that reproduce each cell</summary>
<pre>
{% for command in section.commands[:most] %}
{{ command }}
{% endfor %}
</pre>
{{ rest(section.commands|length, "commands", "cells.csv") }}
</details>
{% endif %}
{% if section.file %}
<details>
<summary>Experiment file</summary>
<pre>{{ section.file }}</pre>
</details>
{% endif %}
{% if section.tables %}
<div class="screen">
<h2>Tables</h2>
<ul>
{% for name, link in section.tables.items() %}
<li><a href="{{ link }}">{{ name }}</a></li>
{% endfor %}
</ul>
</div>
{% endif %}
</section>
{% endfor %}
</body>
</html>
"""
