"""The page's template (Jinja2, autoescaped). Colors are variables: the same rules serve light pages, dark pages and print."""

PAGE = """\
<!DOCTYPE html>
{% macro cell(tag, one) %}
<{{ tag }}{% if one.kind %} class="{{ one.kind }}"{% endif %}{% if one.title %} title="{{ one.title }}"{% endif -%}
{% if one.span > 1 %} colspan="{{ one.span }}"{% endif %}>{{ one.text }}</{{ tag }}>
{%- endmacro %}
{% macro show(blocks) %}
{% for kind, content in blocks %}
{% if kind == "table" %}
<div class="wide" tabindex="0"><table>
{% for tag, lines in (("thead", content.heads), ("tbody", content.rows)) if lines %}
<{{ tag }}>
{% for line in lines %}
<tr>{% for one in line %}{{ cell("th" if tag == "thead" else "td", one) }}{% endfor %}</tr>
{% endfor %}
</{{ tag }}>
{% endfor %}
</table></div>
{% elif kind == "figure" %}
<figure>
<h3>{{ content.title }}</h3>
{{ content.svg }}<figcaption>{{ content.caption }}
{% for name, link in content.links.items() %}
 <a href="{{ link }}">{{ name }}</a>
{% endfor %}
</figcaption>
</figure>
{% elif kind == "folded" %}
<details>
<summary>{{ content[0] }}</summary>
{{ show(content[1]) }}</details>
{% elif kind == "list" %}
<ul>
{% for one in content %}
<li>{{ one }}</li>
{% endfor %}
</ul>
{% elif kind == "settings" %}
<ul class="settings">
{% for name, value in content %}
<li><span>{{ name }}</span> {{ value }}</li>
{% endfor %}
</ul>
{% elif kind == "links" %}
<div class="screen">
{% for name, link in content.items() %}
<a href="{{ link }}">{{ name }}</a>
{% endfor %}
</div>
{% elif kind in ("note", "winner") %}
<p class="{{ kind }}">{{ content }}</p>
{% else %}
<{{ kind }}>{{ content }}</{{ kind }}>
{% endif %}
{% endfor %}
{% endmacro %}
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
.wide { overflow-x: auto; background: linear-gradient(var(--paper), var(--paper)) right / 1rem 100% no-repeat local,
  linear-gradient(to left, var(--grid), transparent) right / 1rem 100% no-repeat; }
table { border-collapse: collapse; font-size: .85rem; margin: .8rem 0; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
thead th[colspan] { text-align: center; border-bottom: 1px solid var(--grid); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.best, .status, .winner { font-weight: bold; }
.second { text-decoration: underline; }
.settings { padding: 0; font-size: .8rem; }
.settings li { display: inline-block; margin-right: 1.2rem; overflow-wrap: anywhere; }
.settings span, figcaption, .note, summary { color: var(--soft); }
figure { margin: 1rem 0 1.8rem; }
figure svg { width: 100%; height: auto; display: block; stroke-linejoin: round; }
figure svg.narrow { display: none; }
svg .v { fill: transparent; }
svg .v:hover { stroke: var(--ink); }
figcaption, .note, .winner + ul { font-size: .85rem; }
pre { font-size: .78rem; background: var(--panel); padding: .6rem; white-space: pre-wrap; overflow-wrap: anywhere; }
@media screen and (min-width: 52rem) {
  .wide { width: min-content; min-width: 100%; max-width: calc(50vw + 23rem); }
}
@media screen and (max-width: 499px) {
  th, td { padding: .25rem .4rem; }
  figure svg.narrow { display: block; }
  figure svg.broad { display: none; }
}
@media print {
  @page { margin: 14mm 13mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt; line-height: 1.35; }
  h2 { margin-top: 10pt; }
  figure svg { width: 74%; margin: 0 auto; }
  figure, tr { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
  .wide { overflow-x: visible; background: none; }
  .screen, figcaption a, details:not([open]) { display: none; }
}
</style>
</head>
<body>
{% if sections|length > 1 %}
<h1>{{ title }}</h1>
<nav><ol>
{% for name, _ in sections %}
<li><a href="#sweep{{ loop.index }}">{{ name }}</a></li>
{% endfor %}
</ol></nav>
{% endif %}
{% for _, blocks in sections %}
<section id="sweep{{ loop.index }}">
{{ show(blocks) }}</section>
{% endfor %}
</body>
</html>
"""
