/* Saves a figure as PNG, SVG or CSV, with its title, its targets and where it comes from burnt in, so that it can stand
   in another document. */
(function () {
  "use strict";

  const WIDTH = 1200, PANEL_HEIGHT = 420, HEAD = 84, FOOT = 44, GAP = 28, PIXELS = 2;
  const FONT = "Helvetica, Arial, sans-serif"; // of other machines too
  const source = document.getElementById("top").dataset.source;
  const title = document.title.replace(/ · Fathom report$/, "");
  const escape = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const words = (element) => element?.innerText.replace(/\s+/g, " ").trim() ?? "";

  function download(blob, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function panels(figure) {
    return [...figure.querySelectorAll(".panel:not([hidden])")].map((panel) => {
      const element = panel.querySelector(".chart");
      return {
        heading: [...panel.querySelectorAll("h3 > *")].map(words).join(", "),
        element,
        height: Math.max(PANEL_HEIGHT, parseInt(element.style.height, 10)),
      };
    });
  }

  const style = (size, weight, fill) =>
    `font-family="${FONT}" font-size="${size}" font-weight="${weight}" fill="${fill}"`;

  function legend(figure) {
    const probe = document.createElement("i");
    probe.style.colorScheme = "light";
    document.body.append(probe);
    let x = 24;
    const drawn = [...figure.querySelectorAll(".legend button[aria-pressed=true]")].map((button) => {
      probe.style.color = button.querySelector(".chip").style.getPropertyValue("--chip");
      const mark = `<rect x="${x}" y="60" width="11" height="11" rx="2" fill="${getComputedStyle(probe).color}"/>`;
      const text = `<text x="${x + 17}" y="70" ${style(13, 400, "#16191d")}>${escape(button.dataset.series)}</text>`;
      x += 44 + 7.2 * button.dataset.series.length;
      return mark + text;
    });
    probe.remove();
    return drawn.join("");
  }

  function toSvg(figure) {
    const drawn = panels(figure);
    const across = drawn.length > 1 ? 2 : 1;
    const width = (WIDTH - 48 - (across - 1) * GAP) / across;
    const tops = [HEAD]; // of each row of panels, and the end of the last
    for (let first = 0; first < drawn.length; first += across) {
      const tallest = Math.max(...drawn.slice(first, first + across).map((panel) => panel.height));
      tops.push(tops.at(-1) + tallest + 34);
    }
    const whole = tops.at(-1) + FOOT;
    const parts = drawn.map(({ heading, element, height }, place) => {
      const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width, height });
      const option = report.optionFor(element, "light", width);
      option.textStyle.fontFamily = FONT; // ECharts writes it into an attribute as it stands
      chart.setOption(option);
      const inner = chart.renderToSVGString().replace(/^<svg /, '<svg y="28" ');
      chart.dispose();
      const [x, y] = [24 + (place % across) * (width + GAP), tops[Math.floor(place / across)]];
      return `<g transform="translate(${x} ${y})"><text y="16" ${style(14, 600, "#16191d")}>${escape(heading)}</text>${inner}</g>`;
    });
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${WIDTH}" height="${whole}" viewBox="0 0 ${WIDTH} ${whole}">` +
      `<rect width="100%" height="100%" fill="#ffffff"/><text x="24" y="38" ${style(22, 650, "#16191d")}>${escape(title)}</text>` +
      legend(figure) + parts.join("") +
      `<text x="24" y="${whole - 16}" ${style(12, 400, "#59616b")}>${escape(`Source: ${source}`)}</text></svg>`
    );
  }

  async function toPng(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * PIXELS, image.height * PIXELS];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }

  /* Spreadsheets run a cell that begins like a formula; a quote in front makes it text. */
  const cell = (text) => `"${(/^[=+@\t]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  function written(one) {
    const parts = [...one.querySelectorAll(".text, small, .group span")];
    return (parts.length ? parts : [one]).map((part) => part.textContent.replace(/\s+/g, " ").trim()).join(" ");
  }
  function toCsv(figure) {
    const lines = [[title], [words(figure.querySelector("figcaption"))], [`Source: ${source}`]];
    for (const table of figure.querySelectorAll("details.data table"))
      for (const row of table.rows)
        lines.push([...row.cells].map(written));
    return lines.map((line) => line.map(cell).join(",")).join("\r\n") + "\r\n";
  }

  for (const button of document.querySelectorAll("[data-export]"))
    button.addEventListener("click", async () => {
      const figure = button.closest("figure");
      const kind = button.dataset.export;
      const name = `${figure.querySelector(".chart").dataset.chart.replace(/[^A-Za-z0-9-]+/g, "-")}.${kind}`;
      if (kind === "csv") return download(new Blob(["\ufeff", toCsv(figure)], { type: "text/csv" }), name);
      const svg = toSvg(figure);
      download(kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await toPng(svg), name);
    });
})();
