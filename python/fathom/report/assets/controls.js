/* What the reader switches: targets, scale and view, which are kept in the address so that a link shows the same;
   folded parts, columns and the order of rows. */
(function () {
  "use strict";

  const address = new URL(location.href);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const press = (button, on) => button.setAttribute("aria-pressed", on);
  const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
  function remember(name, value) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
    address.hash = location.hash;
    history.replaceState(null, "", address);
  }

  /* Targets. A name belongs to a hidden target where it is the target's own, or the target's with a part behind it. */
  const targets = all(".filter button");
  const names = (button) => [button.dataset.label, button.dataset.short];
  const belongs = (text, off) => off.some((name) => text === name || text.startsWith(`${name}: `) || text.endsWith(`: ${name}`));
  const textOf = (cell) => (cell?.querySelector(".text") ?? cell)?.textContent.trim() ?? "";

  function filterTable(table, off) {
    const gone = all("thead th", table).map((cell, place) => place > 0 && belongs(textOf(cell), off));
    for (const body of table.tBodies) {
      const [title] = all("tr.group th span", body);
      body.hidden = Boolean(title) && belongs(textOf(title), off);
      for (const row of all("tr:not(.group)", body)) row.hidden = belongs(textOf(row.cells[0]), off);
    }
    for (const row of all("tr:not(.group)", table))
      gone.forEach((isGone, place) => row.cells[place]?.toggleAttribute("hidden", isGone));
  }

  function filter() {
    const off = targets.filter((button) => !isPressed(button)).flatMap(names);
    report.hidden.clear();
    off.forEach((name) => report.hidden.add(name).add(`${name}, published`));
    for (const button of all(".legend button"))
      if (targets.some((target) => names(target).includes(button.dataset.series)))
        press(button, !off.includes(button.dataset.series));
    all("table").forEach((table) => filterTable(table, off));
    for (const bar of all(".bars li")) bar.hidden = belongs(bar.dataset.name, off);
    for (const panel of all(".panel")) panel.hidden = belongs(textOf(panel.querySelector("h3 > span")), off);
    report.drawAll();
  }

  function toggleTarget(button) {
    press(button, !isPressed(button));
    remember("hide", targets.flatMap((target, place) => (isPressed(target) ? [] : [place])).join(","));
    filter();
  }
  targets.forEach((button) => button.addEventListener("click", () => toggleTarget(button)));

  for (const button of all(".legend button"))
    button.addEventListener("click", () => {
      const target = targets.find((one) => names(one).includes(button.dataset.series));
      if (target) return toggleTarget(target);
      press(button, !isPressed(button));
      all(".chart", button.closest("figure")).forEach(report.draw);
    });

  /* The filter is the legend of the first screen. */
  for (const legend of all("#answer .legend")) {
    const isOfTargets = (button) => targets.some((target) => names(target).includes(button.dataset.series));
    legend.classList.toggle("paper-only", targets.length > 1 && all("button", legend).every(isOfTargets));
  }

  /* Scale and view: one choice for all figures that have it. */
  function choose(kind, value) {
    for (const button of all(`.toggle [data-${kind}="${CSS.escape(value)}"]`)) {
      for (const other of button.parentElement.children) press(other, other === button);
      all(".chart", button.closest("figure")).forEach(report.draw);
    }
  }
  for (const kind of ["scale", "view"])
    for (const button of all(`.toggle [data-${kind}]`))
      button.addEventListener("click", () => {
        choose(kind, button.dataset[kind]);
        remember(kind, button.dataset[kind]);
      });

  /* What the address says. */
  for (const place of (address.searchParams.get("hide") ?? "").split(",").filter(Boolean))
    if (targets[place]) press(targets[place], false);
  if (targets.some((button) => !isPressed(button))) filter();
  for (const kind of ["scale", "view"])
    if (address.searchParams.has(kind)) choose(kind, address.searchParams.get(kind));

  /* Folded parts open when a link leads to them. */
  function open() {
    const part = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const details = part && part.querySelector("details.part");
    if (!details || details.open) return;
    details.open = true;
    part.scrollIntoView();
  }
  addEventListener("hashchange", open);
  for (const link of all('.bar li a[href^="#"]'))
    link.addEventListener("click", () => document.querySelector(`${link.hash} > details.part`)?.setAttribute("open", ""));
  open();

  for (const link of all(".anchor"))
    link.addEventListener("click", async () => {
      address.hash = link.hash;
      try {
        await navigator.clipboard.writeText(address.href);
        link.textContent = "Copied";
      } catch {
        link.textContent = "Link is in the address bar";
      }
    });

  /* Tables: further columns, and rows in the order of a column. */
  for (const button of all("[data-unfold]"))
    button.addEventListener("click", () => {
      press(button, !isPressed(button));
      button.nextElementSibling.querySelector("table").classList.toggle("unfolded", isPressed(button));
    });

  const number = (cell) => {
    const found = textOf(cell).replaceAll(",", "").replace("−", "-").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };
  function inOrder(place, sign) {
    return (a, b) => {
      const [x, y] = [number(a.cells[place]), number(b.cells[place])];
      if (place > 0 && (x === null || y === null)) return (x === null) - (y === null);
      return sign * (place > 0 ? x - y : textOf(a.cells[0]).localeCompare(textOf(b.cells[0])));
    };
  }
  function sort(head) {
    const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    for (const body of head.closest("table").tBodies)
      body.append(...all("tr:not(.group)", body).sort(inOrder(head.cellIndex, sign)));
  }
  for (const head of all("table.sorts thead th")) {
    head.tabIndex = 0;
    head.title = "Sort by this column";
    head.addEventListener("click", () => sort(head));
    head.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      sort(head);
    });
  }

  /* The section being read is marked in the contents. */
  const links = new Map(all(".bar li a").map((a) => [a.hash.slice(1), a]));
  const reading = new IntersectionObserver(
    (entries) => {
      const entered = entries.find((entry) => entry.isIntersecting);
      if (!entered) return;
      for (const [id, link] of links)
        if (id === entered.target.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
    },
    { rootMargin: "-20% 0px -70% 0px" },
  );
  all("main > section").forEach((section) => reading.observe(section));
})();
