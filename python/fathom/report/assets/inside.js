/* Begins a page inside this page when the reader opens it, from the text in #inside. It fetches nothing. */
(function () {
  "use strict";

  const { pages, shared, echarts } = JSON.parse(document.getElementById("inside").textContent);
  shared[echarts] = document.getElementById("echarts").textContent;

  function begin(details) {
    const frame = document.createElement("iframe");
    frame.title = details.querySelector("summary").textContent;
    frame.srcdoc = Object.entries(shared).reduce(
      (text, [mark, file]) => text.replace(mark, () => file),
      pages[details.dataset.page],
    );
    details.append(frame);
  }

  for (const details of document.querySelectorAll("details.inside"))
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("iframe")) begin(details);
    });
})();
