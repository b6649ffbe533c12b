"""Draw what the colors of words mean, in texts and matrix alike."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from semblance.service.rendering.caption import Caption
from semblance.service.rendering.colors import FAINT_INK, RULE, STEPS, ColorScale, color_of
from semblance.service.rendering.labels import decimals_for, em_width, signed
from semblance.service.rendering.svg.sheet import MARGIN, NOTE_SIZE, Sheet
from semblance.service.rendering.svg.writing import Style, px, write

_BOX_WIDTH, _BOX_HEIGHT = 58.0, 19.0


def draw_legend(sheet: Sheet, scale: ColorScale, caption: Caption, *, lowers: bool, matched: bool) -> None:
    """Draw a box for each step of color.

    Args:
        sheet: what to draw on.
        scale: of all words.
        caption: of the picture.
        lowers: whether a link lowers the score.
        matched: whether units are outlined, whose distance is 0.
    """
    group = sheet.group("legend")
    faint = Style(NOTE_SIZE, fill=FAINT_INK)
    if scale.limit > 0:
        text = f"Contribution of a {caption.granularity} to the score:"
        write(group, (MARGIN, sheet.y + 14), text, faint)
        left = MARGIN + em_width(text) * NOTE_SIZE + 10
        for k, step in enumerate(range(-STEPS if lowers else 0, 1 if caption.distance else STEPS + 1)):
            color, x = color_of(step), left + k * _BOX_WIDTH
            box = {"x": px(x), "y": px(sheet.y), "width": px(_BOX_WIDTH), "height": px(_BOX_HEIGHT)}
            ET.SubElement(group, "rect", box | {"fill": color, "stroke": RULE})
            number = signed(scale.limit * step / STEPS, decimals_for(scale.limit))
            style = Style(NOTE_SIZE, "middle", fill=scale.ink(scale.limit * step / STEPS))
            write(group, (x + _BOX_WIDTH / 2, sheet.y + 13.5), number, style)
        sheet.skip(_BOX_HEIGHT + 6)
    notes = ["others: function words, punctuation and weak words; special tokens: added by the model, such as [CLS]"]
    if matched:
        notes.append("outlined: the same to the model, at distance 0")
    for note in notes:
        write(group, (MARGIN, sheet.line(NOTE_SIZE)), note, faint)
