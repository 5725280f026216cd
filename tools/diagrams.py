"""Draws the diagrams of the documentation into docs/images. `python tools/diagrams.py` writes them all.

Each is narrow enough for a phone. Each has a light ground of its own, for dark pages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 480
INK, PALE, LINE = "#1d2530", "#eef2f6", "#66758a"
BLUE, GREEN, RED, SAND = "#2f6db5", "#2a7f62", "#c8442f", "#e9d9b8"
Point = tuple[float, float]


@dataclass
class Drawing:
    """An SVG of `WIDTH` user units that grows shape by shape."""

    title: str
    height: int
    shapes: list[str] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, lines: Sequence[str], height: float = 40, fill: str = PALE
    ) -> None:
        """Draws a box with its lines in the middle; the first one is bold."""
        self.frame(x, y, width, height, fill)
        first = y + height / 2 + 5 - 17 * (len(lines) - 1) / 2
        for place, line in enumerate(lines):
            self.text(x + width / 2, first + 17 * place, line, "middle", bold=place == 0)

    def frame(self, x: float, y: float, width: float, height: float, fill: str = "none") -> None:
        """Draws an empty box."""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" '
            f'stroke="{LINE}"/>'
        )

    def text(
        self, x: float, y: float, text: str, anchor: str = "start", bold: bool = False, ink: str = INK
    ) -> None:
        """Writes one line; `y` is its base."""
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{ink}"{weight}>{escape(text)}</text>'
        )

    def path(
        self, points: Sequence[Point], ink: str = LINE, arrow: bool = False, dashed: bool = False
    ) -> None:
        """Draws straight lines through the points, with an arrow at the end if asked."""
        way = " ".join(f"{x:g},{y:g}" for x, y in points)
        more = ' marker-end="url(#arrow)"' if arrow else ""
        more += ' stroke-dasharray="4 4"' if dashed else ""
        self.shapes.append(f'<polyline points="{way}" fill="none" stroke="{ink}" stroke-width="1.5"{more}/>')

    def arrow(self, *points: Point) -> None:
        """Draws an arrow along the points."""
        self.path(points, arrow=True)

    def bar(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """Draws a filled rectangle without a border."""
        self.shapes.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"/>')

    def dot(self, x: float, y: float, fill: str) -> None:
        """Draws a point of a chart."""
        self.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="{fill}"/>')

    def svg(self) -> str:
        """Returns the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" '
            f'height="{self.height}" role="img" font-family="system-ui, sans-serif" font-size="14">'
        )
        marker = (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{LINE}"/></marker></defs>'
        )
        ground = f'<rect width="{WIDTH}" height="{self.height}" rx="8" fill="#fff"/>'
        return (
            "\n".join([head, f"<title>{escape(self.title)}</title>", marker, ground, *self.shapes, "</svg>"])
            + "\n"
        )


def architecture() -> Drawing:
    """Draws the parts of Fathom and what passes between them."""
    picture = Drawing("From a method to a report, through engine, twin or fleet", 520)
    for x, name, says in (
        (10, "method", "steps"),
        (170, "plan", "what, where, safe?"),
        (330, "session", "does it"),
    ):
        picture.box(x, 12, 140, [name, says], 48)
    picture.arrow((150, 36), (168, 36))
    picture.arrow((310, 36), (328, 36))
    picture.arrow((400, 60), (400, 112), (240, 112), (240, 138))
    picture.text(392, 88, "Backend.start(job, seed)", "end")
    for x, name, says in (
        (10, "engine", "real I/O, Rust"),
        (170, "twin", "virtual time, Rust"),
        (330, "fleet", "other hosts"),
    ):
        picture.box(x, 140, 140, [name, says], 48, SAND)
        picture.arrow((x + 70, 188), (x + 70, 214), (240, 214), (240, 240))
    picture.text(250, 232, "Handle, Interval..., Recording")
    picture.box(80, 242, 320, ["run directory", "run.json, journal, Parquet, checksums"], 48)
    picture.arrow((240, 290), (240, 326))
    picture.text(250, 312, "read only")
    picture.box(80, 328, 320, ["analysis", "pooling, validity, findings"], 48)
    picture.arrow((240, 376), (240, 402))
    picture.path([(65, 428), (65, 402), (415, 402), (415, 428)])
    for x, name in ((10, "report"), (128, "compare"), (246, "query"), (364, "size")):
        picture.box(x, 428, 106, [name], 36)
    picture.text(240, 494, "Below the session, nothing can touch a device.", "middle")
    return picture


def ssd() -> Drawing:
    """Draws the way of a read and of a write through an SSD twin."""
    picture = Drawing("The path of a read and of a write through an SSD twin", 520)
    picture.box(10, 12, 460, ["host", "threads on cores: submit, complete, wake"], 52)
    picture.arrow((120, 64), (120, 100))
    picture.arrow((360, 100), (360, 66))
    picture.box(10, 102, 460, ["PCIe link", "full duplex: to the drive, to the host"], 52)
    picture.arrow((120, 154), (120, 190))
    picture.arrow((360, 190), (360, 156))
    picture.text(130, 178, "command, data")
    picture.text(352, 178, "data, ack", "end")
    picture.frame(10, 192, 460, 150)
    picture.text(22, 212, "controller", bold=True)
    picture.box(22, 222, 200, ["command pipelines"], 34)
    picture.arrow((122, 256), (122, 286))
    picture.box(22, 288, 200, ["page map"], 34)
    picture.arrow((222, 239), (256, 239))
    picture.box(258, 222, 200, ["write buffer", "acknowledges"], 44, SAND)
    picture.arrow((358, 266), (358, 286))
    picture.box(258, 288, 200, ["units of host data"], 34)
    picture.arrow((122, 322), (122, 378))
    picture.text(130, 364, "which die, which page")
    picture.arrow((300, 322), (300, 378))
    picture.arrow((440, 378), (440, 324))
    picture.text(308, 364, "load")
    picture.text(432, 364, "cleaning", "end")
    picture.frame(10, 380, 460, 128)
    picture.text(22, 400, "flash dies, behind channels", bold=True)
    picture.box(22, 410, 200, ["planes sense pages", "a register each; reads first"], 48)
    picture.box(258, 410, 200, ["one background job", "program, erase, move"], 48, SAND)
    picture.text(240, 488, "A read may suspend a program: stretches of suspend_us.", "middle")
    return picture


def cleaning() -> Drawing:
    """Draws a superblock that is cleaned: what it held, what is moved, what is gained."""
    picture = Drawing("Cleaning a superblock: 700 pages move to gain room for 300", 232)
    picture.text(10, 28, "A superblock of 1,000 pages, before it is erased", bold=True)
    picture.bar(10, 40, 322, 34, BLUE)
    picture.bar(332, 40, 138, 34, "#c9d2dc")
    picture.text(171, 62, "700 valid", "middle", ink="#fff")
    picture.text(401, 62, "300 garbage", "middle")
    picture.arrow((171, 76), (171, 122))
    picture.text(181, 104, "moved: writes that no host asked for")
    picture.text(10, 146, "A fresh superblock", bold=True)
    picture.bar(10, 158, 322, 34, BLUE)
    picture.bar(332, 158, 138, 34, GREEN)
    picture.text(171, 180, "700 moved", "middle", ink="#fff")
    picture.text(401, 180, "300 of the host", "middle", ink="#fff")
    picture.text(10, 218, "Write amplification: 1,000 programmed / 300 of the host = 3.3")
    return picture


def tail() -> Drawing:
    """Draws a histogram of latency and the I/Os beyond a percentile."""
    picture = Drawing("A percentile is printed if 100 I/Os or more lie beyond it", 250)
    picture.text(10, 24, "number of I/Os")
    counts = (34, 92, 140, 118, 84, 58, 40, 28, 20, 14, 10, 7, 5, 4, 3, 3, 2, 2, 2, 2)
    for place, count in enumerate(counts):
        beyond = place >= 15
        picture.bar(22 + 22 * place, 196 - count, 18, count, RED if beyond else BLUE)
    picture.path([(14, 34), (14, 197), (466, 197)])
    picture.path([(350, 90), (350, 205)], dashed=True)
    picture.text(350, 222, "p99.9", "middle", bold=True)
    picture.text(466, 222, "latency", "end")
    picture.text(466, 62, "1 I/O in 1,000 is slower:", "end", ink=RED)
    picture.text(466, 84, "100 I/Os or more, or no p99.9", "end", bold=True, ink=RED)
    return picture


def rate_curve() -> Drawing:
    """Draws latency over the rate that is offered."""
    picture = Drawing("Latency over the offered rate, from 25 to 100 % of the maximum", 250)
    picture.text(10, 24, "latency")
    points = ((68, 174), (160, 170), (252, 162), (344, 140), (390, 104), (436, 44))
    picture.path(points, BLUE)
    for x, y in points:
        picture.dot(x, y, BLUE)
    picture.path([(14, 34), (14, 197), (466, 197)])
    picture.path([(390, 104), (390, 197)], dashed=True)
    for x, share in ((68, "25 %"), (160, "50 %"), (252, "75 %"), (436, "100 %")):
        picture.text(x, 216, share, "middle")
    picture.text(380, 100, "knee", "end", bold=True)
    picture.text(466, 238, "offered rate, share of the maximum", "end")
    return picture


def systems() -> Drawing:
    """Draws the stations of a shelf and of a cluster."""
    picture = Drawing("The stations of a shelf and of a cluster", 470)
    picture.text(10, 28, "A shelf over NVMe-oF", bold=True)
    shelf = (
        ("host", "CPU, NIC"),
        ("network", "a delay"),
        ("controller", "pipelines"),
        ("drives", "dies, buffer"),
    )
    picture_row(picture, 40, shelf)
    picture.text(240, 116, "Data and completions return the same way: one queue each way.", "middle")
    picture.path([(10, 140), (470, 140)], dashed=True)
    picture.text(10, 172, "A cluster under its clients", bold=True)
    picture_row(
        picture,
        184,
        (
            ("clients", "mount, NIC"),
            ("network", "a delay"),
            ("servers", "NIC, cores"),
            ("drives", "dies, buffer"),
        ),
    )
    picture.text(10, 270, "A large read", bold=True)
    picture.text(120, 270, "asks each server of the stripe for its share.")
    for x in (120, 230, 340):
        picture.box(x, 282, 90, ["server"], 32, SAND)
    picture.text(10, 350, "A write", bold=True)
    picture.text(120, 350, "leaves its server again, as data and parity.")
    picture.box(120, 362, 90, ["server"], 32, SAND)
    picture.arrow((210, 378), (338, 378))
    picture.arrow((210, 378), (270, 378), (270, 420), (338, 420))
    picture.box(340, 362, 90, ["server"], 32, SAND)
    picture.box(340, 404, 90, ["server"], 32, SAND)
    picture.text(10, 456, "The station that is always busy limits the system.")
    return picture


def picture_row(picture: Drawing, y: float, stations: Sequence[tuple[str, str]]) -> None:
    """Draws stations from left to right, with arrows both ways between them."""
    width, gap = 103, 16
    for place, (name, says) in enumerate(stations):
        x = 10 + (width + gap) * place
        picture.box(x, y, width, [name, says], 50)
        if place:
            picture.arrow((x - gap, y + 16), (x - 2, y + 16))
            picture.arrow((x, y + 34), (x - gap + 2, y + 34))


def phases() -> Drawing:
    """Draws the rate of a drive through purge, fill, preconditioning and measurement."""
    picture = Drawing("The rate of a fresh drive through fill, preconditioning and measurement", 262)
    picture.text(10, 24, "IOPS")
    picture.bar(22, 40, 90, 156, PALE)
    picture.bar(112, 40, 200, 156, "#f6efe0")
    picture.bar(312, 40, 150, 156, "#dfeee8")
    rate = ((112, 60), (150, 60), (165, 128), (190, 108), (215, 150), (245, 144), (280, 151), (462, 150))
    picture.path(rate, BLUE)
    picture.path([(14, 34), (14, 197), (466, 197)])
    picture.text(67, 216, "purge, fill", "middle", bold=True)
    picture.text(212, 216, "precondition", "middle", bold=True)
    picture.text(387, 216, "measure", "middle", bold=True)
    picture.text(120, 54, "fresh: fast")
    picture.text(387, 138, "steady", "middle", ink=GREEN, bold=True)
    picture.text(466, 246, "The window is judged before anything is measured.", "end")
    return picture


PICTURES: dict[str, Callable[[], Drawing]] = {
    "architecture": architecture,
    "cleaning": cleaning,
    "phases": phases,
    "rate-curve": rate_curve,
    "ssd": ssd,
    "systems": systems,
    "tail": tail,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw().svg())
