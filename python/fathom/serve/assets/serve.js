/* What all pages of the server share: light and dark, filters that send themselves, and the count of ticked runs. */
(function () {
  "use strict";

  const root = document.documentElement;
  const KEY = "fathom-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;

  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (dark.matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, root.dataset.theme);
  });

  for (const field of document.querySelectorAll("[data-sends]"))
    field.addEventListener("change", () => field.form.requestSubmit());

  const form = document.getElementById("chosen");
  if (form) {
    const said = document.getElementById("ticked");
    const first = said.textContent;
    const [compare, beside] = form.querySelectorAll(".buttons button");
    const count = () => {
      const ticked = form.querySelectorAll("input:checked").length;
      said.textContent = ticked ? `${ticked} ticked; the oldest is the base.` : first;
      compare.disabled = ticked < 2;
      beside.disabled = ticked < 1;
    };
    form.addEventListener("change", count);
    count();
  }
})();
