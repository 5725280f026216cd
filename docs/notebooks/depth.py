"""A marimo notebook: what more I/Os in flight bring, on any SSD of the catalogue. `marimo edit depth.py` opens it."""

import marimo

app = marimo.App(width="medium")


@app.cell
def imports():
    from pathlib import Path
    from tempfile import mkdtemp

    import marimo as mo

    import fathom

    folder = Path(mkdtemp(prefix="fathom-notebook-"))
    return fathom, folder, mo


@app.cell
def choices(mo):
    drive = mo.ui.dropdown(
        ["samsung-pm9a3-7.68tb", "wd-ultrastar-dc-sn861-7.68tb", "kioxia-cm7-r-7.68tb"],
        value="samsung-pm9a3-7.68tb",
        label="drive",
    )
    reads = mo.ui.slider(0, 100, step=10, value=70, show_value=True, label="reads, %")
    mo.vstack([mo.md("# What more I/Os in flight bring"), drive, reads])
    return drive, reads


@app.cell
def method(folder, reads):
    # A twin begins as after long random overwrites (`settled_share=1`), so nothing need be filled first.
    DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
    mix = {0: '"write"', 100: '"read"'}.get(
        reads.value, f"{{ read = {reads.value}, write = {100 - reads.value} }}"
    )
    head = 'schema = "fathom-method/1"\nname = "depths"\nprecision = "1%"\nslice = "4GB"\n'
    step = """
[[steps]]
name = "at-{depth}"
turnover = "1%"
[steps.job]
mix = {mix}
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = {depth} }}
until = {{ time = "2s" }}
"""
    file = folder / "depths.toml"
    file.write_text(head + "".join(step.format(depth=depth, mix=mix) for depth in DEPTHS))
    return DEPTHS, file


@app.cell
def simulated(DEPTHS, drive, fathom, file, folder):
    run = fathom.run(str(file), f"twin:{drive.value}?settled_share=1", out=folder)
    points = run.points.to_pylist()
    rows = []
    for depth in DEPTHS:
        own = [row for row in points if row["iodepth"] == depth]
        iops = sum(row["iops"] for row in own)
        mean_us = sum(row["mean_us"] * row["n"] for row in own) / sum(row["n"] for row in own)
        rows.append(
            {
                "in flight": depth,
                "IOPS": round(iops),
                "mean, µs": round(mean_us, 1),
                "limited by": own[0]["limited_by"],
            }
        )
    return (rows,)


@app.cell
def shown(mo, rows):
    most = max(row["IOPS"] for row in rows)
    enough = next(row["in flight"] for row in rows if row["IOPS"] >= 0.9 * most)
    mo.vstack(
        [mo.md(f"**{enough} in flight give 90 % of {most:,} IOPS**; more add latency."), mo.ui.table(rows)]
    )
    return


if __name__ == "__main__":
    app.run()
