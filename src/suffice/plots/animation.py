"""Animations: the frames of a display that has steps, as a player in HTML or as a GIF."""

from __future__ import annotations

import copy
import hashlib
import io
import os
from abc import abstractmethod
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suffice.plots.display import Display
from suffice.plots.style import default_style
from suffice.plots.svg import figure_to_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Animation:
    """Frames that a notebook plays, and that can be saved as a GIF or as HTML.

    Parameters
    ----------
    figures
        One figure for each frame.
    labels
        The label of each frame, such as ``"step 3"``.
    seconds
        Duration of a frame.

    Examples
    --------
    >>> import tempfile
    >>> from suffice.plots import NewtonTangentDisplay
    >>> display = NewtonTangentDisplay.from_function(lambda x: x**2 - 2, lambda x: 2 * x, start=3.0)
    >>> animation = display.animate()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     animation.save(f"{folder}/newton.gif").read_bytes()[:6]
    b'GIF89a'
    """

    def __init__(self, figures: Sequence[Figure], labels: Sequence[str], *, seconds: float = 0.5) -> None:
        if not 0 < seconds <= 60:
            raise ValueError(f"seconds must be above 0 and at most 60; got {seconds!r}")
        self.figures, self.labels, self.seconds = list(figures), list(labels), float(seconds)

    def to_html(self) -> str:
        """Return a player, without references to other files: the frames, a slider, and a button that plays them.

        The last frame is shown first, and where scripts are not run.
        """
        frames = [figure_to_svg(figure) for figure in self.figures]
        name = "a" + hashlib.sha256("".join(frames).encode()).hexdigest()[:10]
        last = len(frames) - 1
        shown = "".join(
            f'<div class="frame" data-label="{escape(label)}"{"" if index == last else " hidden"}>{frame}</div>'
            for index, (frame, label) in enumerate(zip(frames, self.labels, strict=True))
        )
        script = _SCRIPT.replace("NAME", name).replace("MILLISECONDS", f"{1000 * self.seconds:.0f}")
        return (
            f'<div id="{name}" style="max-width: 34em">{shown}<p style="display: flex; gap: .6em; margin: 0">'
            '<button type="button">Play</button>'
            f'<input type="range" min="0" max="{last}" value="{last}" aria-label="Frame" style="flex: 1">'
            f"<output>{escape(self.labels[-1])}</output></p><script>{script}</script></div>"
        )

    def save(self, path: str | os.PathLike[str], *, background: str = "white", dpi: int = 120) -> Path:
        """Write the animation to a file, and return its path.

        Parameters
        ----------
        path
            A path that ends with ``.gif`` or ``.html``.
        background
            Background colour of a GIF, as matplotlib names it.
        dpi
            Pixels per inch of a GIF.
        """
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".html":
            style = "<style>:root { color-scheme: light dark }</style>"
            head = f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Animation</title>{style}\n'
            target.write_text(f"{head}{self.to_html()}</html>\n", encoding="utf-8")
        elif kind == ".gif":
            self._save_gif(target, background, dpi)
        else:
            raise ValueError(f"path must end with .gif or .html; got {str(path)!r}")
        return target

    def _save_gif(self, path: Path, background: str, dpi: int) -> None:
        from matplotlib.colors import to_hex
        from PIL import Image

        images = []
        with default_style():
            for figure in self.figures:
                target = io.BytesIO()
                figure.savefig(target, format="png", transparent=True, dpi=dpi)
                drawn = Image.open(target).convert("RGBA")
                filled = Image.alpha_composite(Image.new("RGBA", drawn.size, to_hex(background)), drawn)
                images.append(filled.convert("RGB").quantize(128))
        duration = [round(1000 * self.seconds)] * (len(images) - 1) + [round(3000 * self.seconds)]
        images[0].save(path, save_all=True, append_images=images[1:], duration=duration, loop=0)

    def _repr_html_(self) -> str:
        return self.to_html()


class SteppedDisplay(Display):
    """A display of steps, which can be animated."""

    _step: int | None = None  # the last step that is drawn; all steps where it is None

    def animate(self, *, max_frames: int = 30, seconds: float = 0.5) -> Animation:
        """Return the steps as an animation, which a notebook plays.

        Parameters
        ----------
        max_frames
            Maximum number of frames. Of more steps, the first are shown one by one, and later ones ever more sparsely.
        seconds
            Duration of a frame.
        """
        if max_frames < 2:
            raise ValueError(f"max_frames must be 2 or more; got {max_frames!r}")
        figures, steps = [], choose_frames(self._count_steps(), max_frames)
        for step in steps:
            frame = copy.copy(self)
            frame._step = step
            figures.append(frame.plot().figure_)
        return Animation(figures, [self._frame_label(step) for step in steps], seconds=seconds)

    @abstractmethod
    def _count_steps(self) -> int:
        """Return the number of the last step; the start is step 0."""

    def _frame_label(self, step: int) -> str:
        return f"step {step}"


def choose_frames(last: int, most: int) -> list[int]:
    """Return at most so many of the steps 0 to ``last``, the first and the last among them.

    Examples
    --------
    >>> choose_frames(3, 10), choose_frames(1000, 8)
    ([0, 1, 2, 3], [0, 1, 3, 10, 32, 100, 316, 1000])
    """
    if last < most:
        return list(range(last + 1))
    chosen = np.unique(np.rint(np.geomspace(1, last, most - 1)).astype(int))
    return [0, *chosen.tolist()]


_SCRIPT = """
(() => {
  const box = document.getElementById("NAME");
  const frames = [...box.querySelectorAll(".frame")], slider = box.querySelector("input");
  const button = box.querySelector("button"), label = box.querySelector("output");
  let timer = null;
  const show = (index) => {
    frames.forEach((frame, at) => { frame.hidden = at !== index; });
    slider.value = index;
    label.textContent = frames[index].dataset.label;
  };
  const stop = () => { clearInterval(timer); timer = null; button.textContent = "Play"; };
  slider.oninput = () => { stop(); show(Number(slider.value)); };
  button.onclick = () => {
    if (timer !== null) { stop(); return; }
    if (Number(slider.value) === frames.length - 1) show(0);
    button.textContent = "Pause";
    timer = setInterval(() => {
      const next = Number(slider.value) + 1;
      if (next === frames.length) stop(); else show(next);
    }, MILLISECONDS);
  };
})();
"""
