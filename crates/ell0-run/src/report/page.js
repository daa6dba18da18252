// Values near the pointer: those of the nearest dot, bar or corner of a line in the chart under it.
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);
  // Left, top, right, bottom and text of everything that can be pointed at, in the chart's own units.
  const marks = (svg) => {
    const found = [...svg.querySelectorAll(".datum")].map((datum) => {
      const box = datum.getBBox();
      return [box.x, box.y, box.x + box.width, box.y + box.height, datum.querySelector("title").textContent];
    });
    for (const line of svg.querySelectorAll(".line")) {
      const corners = line.getAttribute("d").split(/[ML]/).slice(1);
      const values = line.dataset.values.split(" ");
      corners.forEach((corner, k) => {
        const [x, y] = corner.split(" ").map(Number);
        found.push([x, y, x, y, `${line.dataset.name} ${values[k].replace(":", ": ")}`]);
      });
    }
    return found;
  };
  const charts = [...document.querySelectorAll("figure svg.chart")];
  for (const svg of charts) {
    let all = null;
    svg.addEventListener("pointermove", (event) => {
      all ??= marks(svg);
      const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let text = null, least = (28 * scale) ** 2;
      for (const [left, top, right, bottom, says] of all) {
        const dx = Math.max(left - x, 0, x - right), dy = Math.max(top - y, 0, y - bottom);
        const distance = dx * dx + dy * dy;
        if (distance < least) [text, least] = [says, distance];
      }
      tip.hidden = text === null;
      if (text === null) return;
      tip.textContent = text;
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 4)) + "px";
      tip.style.top = Math.max(4, event.clientY - 34) + "px";
    });
    svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
  // For tests: the number of charts, and whether the page is wider than the screen.
  document.documentElement.dataset.charts = charts.length;
  document.documentElement.dataset.wide = document.documentElement.scrollWidth > innerWidth;
  // For tests: points at the first thing that can be pointed at.
  const svg = location.hash === "#point" && charts.find((chart) => marks(chart).length > 0);
  if (svg) {
    const [x, y] = marks(svg)[0];
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x / scale, clientY: box.top + y / scale }));
  }
})();
