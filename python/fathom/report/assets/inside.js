/* Begins a page inside this page when the reader opens it, from the text in #inside, and has it follow the choice
   between light and dark. It fetches nothing. */
(function () {
  "use strict";

  const { pages, shared, echarts } = JSON.parse(document.getElementById("inside").textContent);
  shared[echarts] = document.getElementById("echarts").textContent;

  /* A page that nobody chose for goes by the system's setting, as this one does. */
  function follow(frame) {
    const { theme } = document.documentElement.dataset;
    if (theme) frame.contentWindow.postMessage({ theme }, "*");
  }

  function begin(details) {
    const frame = document.createElement("iframe");
    frame.title = details.querySelector("summary").textContent;
    frame.srcdoc = Object.entries(shared).reduce(
      (text, [mark, file]) => text.replace(mark, () => file),
      pages[details.dataset.page],
    );
    frame.addEventListener("load", () => follow(frame));
    details.append(frame);
  }

  new MutationObserver(() => document.querySelectorAll(".inside iframe").forEach(follow)).observe(
    document.documentElement,
    { attributeFilter: ["data-theme"] },
  );
  for (const details of document.querySelectorAll("details.inside"))
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("iframe")) begin(details);
    });
})();
