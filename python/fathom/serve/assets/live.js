/* A run that goes on: fills the page's texts, lines and bars from the server's events, once a second. */
(function () {
  "use strict";

  const page = document.querySelector("[data-events]");
  const notice = page.querySelector('[data-text="notice"]');
  const fields = [
    ["text", (field, value) => { if (field.textContent !== value) field.textContent = value; }],
    ["path", (field, value) => field.setAttribute("d", value)],
    ["value", (field, value) => { field.value = Number(value); }],
  ];

  const show = (values) => {
    for (const [kind, set] of fields)
      for (const field of page.querySelectorAll(`[data-${kind}]`)) {
        const value = values[field.dataset[kind]];
        if (value !== undefined) set(field, value);
      }
  };

  const source = new EventSource(page.dataset.events);
  source.addEventListener("live", (event) => {
    if (notice.textContent === page.dataset.lost) notice.textContent = "";
    show(JSON.parse(event.data));
  });
  source.addEventListener("ended", () => {
    source.close();
    location.replace(page.dataset.report);
  });
  source.addEventListener("killed", () => {
    source.close();
    notice.textContent = page.dataset.killed;
    page.classList.add("killed");
  });
  source.addEventListener("error", () => { notice.textContent = page.dataset.lost; });
})();
