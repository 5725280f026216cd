/* On paper: vector drawings in light colours instead of canvases, and everything unfolded but the charts' data. */
(function () {
  "use strict";

  let opened = [];
  function toPaper() {
    if (document.querySelector(".chart-paper")) return;
    for (const element of document.querySelectorAll(".chart")) {
      const width = element.closest(".wide-panel") ? 720 : element.closest(".columns-3") ? 230 : element.closest(".columns-2") ? 350 : 720;
      const size = { width, height: parseInt(element.style.height, 10) };
      const paper = echarts.init(null, null, { renderer: "svg", ssr: true, ...size });
      paper.setOption(report.optionFor(element, "light", size.width));
      const holder = document.createElement("div");
      holder.className = "chart-paper";
      holder.innerHTML = paper.renderToSVGString();
      const svg = holder.firstElementChild;
      svg.removeAttribute("height");
      svg.setAttribute("width", "100%");
      element.after(holder);
      paper.dispose();
    }
    opened = [...document.querySelectorAll("details.verbatim:not([open]), details.part:not([open])")];
    opened.forEach((details) => (details.open = true));
  }
  function fromPaper() {
    document.querySelectorAll(".chart-paper").forEach((holder) => holder.remove());
    opened.forEach((details) => (details.open = false));
    opened = [];
  }
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", fromPaper);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : fromPaper()));
})();
