// Values near the pointer: the title of the nearest datum of the chart under it.
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  const show = (datum, x, y) => {
    const title = datum && datum.querySelector("title");
    tip.hidden = !title;
    if (!title) return;
    tip.textContent = title.textContent;
    const width = tip.offsetWidth;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - width - 4)) + "px";
    tip.style.top = Math.max(4, y - 34) + "px";
  };
  for (const svg of document.querySelectorAll("figure svg")) {
    const data = [...svg.querySelectorAll(".datum")];
    const nearest = (x, y) => {
      let best = null, least = 28 * 28;
      for (const datum of data) {
        const box = datum.getBoundingClientRect();
        const dx = Math.max(box.left - x, 0, x - box.right), dy = Math.max(box.top - y, 0, y - box.bottom);
        const distance = dx * dx + dy * dy;
        if (distance < least) [best, least] = [datum, distance];
      }
      return best;
    };
    svg.addEventListener("pointermove", (event) => show(nearest(event.clientX, event.clientY), event.clientX, event.clientY));
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
  document.documentElement.dataset.charts = document.querySelectorAll("figure svg.chart").length;
  // For tests: whether the page is wider than the screen.
  document.documentElement.dataset.wide = document.documentElement.scrollWidth > innerWidth;
  // For tests: points at the first datum.
  if (location.hash === "#point") {
    const datum = document.querySelector("figure svg .datum");
    const box = datum.getBoundingClientRect();
    const at = { clientX: box.left + box.width / 2, clientY: box.top + box.height / 2, bubbles: true };
    datum.dispatchEvent(new PointerEvent("pointermove", at));
  }
})();
