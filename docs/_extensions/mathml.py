"""Formulae as MathML, which browsers render without scripts or downloads."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

#: A function name and its argument without a bracket: TeX puts a thin space between them.
BARE = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<(?:mrow>\s*<)?mo[^>]*>[(\[])")
#: Braces and bars without \left and \right: TeX does not stretch them.
FENCE = re.compile(r'<mo( class="mathopen")?>([{}|‖∣])</mo>')


def mathml(node: nodes.Element, as_block: bool = False) -> str:
    markup = tex2mathml(node.astext(), as_block=as_block)
    markup = BARE.sub('<mspace width="0.17em"></mspace>', markup)
    return FENCE.sub(r'<mo\1 stretchy="false">\2</mo>', markup)


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(mathml(node))
    raise nodes.SkipNode


def visit_displaymath(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
