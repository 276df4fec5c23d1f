/* What is wrong with how a page looks: lists of sentences, empty where nothing is. */
(() => {
  const shown = (e) => e.checkVisibility({ contentVisibilityAuto: false, opacityProperty: true, visibilityProperty: true });
  const name = (e) => `${e.localName}${e.id ? `#${e.id}` : ""}${e.classList.length ? `.${[...e.classList].join(".")}` : ""} "${e.textContent.trim().slice(0, 30)}"`;
  const all = (what) => [...document.querySelectorAll(what)];
  const scrolls = (e) => { for (let at = e.parentElement; at; at = at.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX)) return true; return false; };

  /* What is far off is not laid out until then: here it is. */
  for (const e of all(".field")) e.style.contentVisibility = "visible";

  const wide = () => {
    const found = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const e of all("body *")) {
      if (!shown(e) || scrolls(e) || e.closest("svg") || e.matches(".skip, .unseen, thead, thead *")) continue;
      const box = e.getBoundingClientRect();
      if (box.width && (box.left < -0.5 || box.right > width + 0.5)) found.push(`${name(e)} reaches from ${box.left} to ${box.right}`);
    }
    return found;
  };

  const overlaps = () => {
    const found = [];
    const boxes = all("label, input, select, textarea, button, .field h4, .meaning, dt, dd, svg text, h1, h2, h3, nav a")
      .filter((e) => shown(e) && !e.closest(".filter, .bar, details:not([open])"))
      .map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width && b.height);
    for (let i = 0; i < boxes.length; i += 1)
      for (let j = i + 1; j < boxes.length; j += 1) {
        const [[one, a], [two, b]] = [boxes[i], boxes[j]];
        if (one.contains(two) || two.contains(one)) continue;
        if (one.closest(".work form") && two.closest(".work .script")) continue; /* it stays while the form moves */
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1) found.push(`${name(one)} overlaps ${name(two)}`);
      }
    return found;
  };

  const parsed = (colour) => {
    const numbers = colour.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return numbers.length === 3 ? [...numbers, 1] : numbers;
  };
  const light = ([r, g, b]) => {
    const part = (v) => { const s = v / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    if (e.localName === "text") { const box = e.parentElement.querySelector("rect"); if (box) return parsed(getComputedStyle(box).fill); }
    for (let at = e; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const pale = () => {
    const found = [];
    for (const e of all("body *")) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.matches("input, select, textarea");
      if (!own || e.matches("script, option, title, desc") || !e.checkVisibility()) continue;
      const style = getComputedStyle(e);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const got = ratio(parsed(e.localName === "text" ? style.fill : style.color), behind(e));
      if (got < (large ? 3 : 4.5)) found.push(`${name(e)} has a contrast of ${got.toFixed(2)}`);
    }
    for (const e of all("input, select, textarea, button")) {
      if (!e.checkVisibility()) continue;
      const got = ratio(parsed(getComputedStyle(e).borderTopColor), behind(e.parentElement));
      if (got < 3) found.push(`the border of ${name(e)} has a contrast of ${got.toFixed(2)}`);
    }
    return found;
  };

  const small = () => all("input, select, textarea, button, nav a, summary").filter((e) => e.checkVisibility())
    .filter((e) => e.getBoundingClientRect().height < 24).map((e) => `${name(e)} is too low for a finger`);

  const nameless = () => {
    const found = [];
    const text = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent.trim() ?? "").join(" ");
    for (const e of all("input, select, textarea, button, [role=region], nav, section, form, svg[role=img]")) {
      const label = e.getAttribute("aria-label") || text(e.getAttribute("aria-labelledby") || "") ||
        [...(e.labels ?? [])].map((l) => l.textContent.trim()).join("") || (e.localName === "button" ? e.textContent.trim() : "");
      if (!label.trim() && !e.matches(".field")) found.push(`${name(e)} has no name`);
    }
    const ids = new Set();
    for (const e of all("[id]")) { if (ids.has(e.id)) found.push(`two elements are called ${e.id}`); ids.add(e.id); }
    for (const e of all("*")) for (const key of ["for", "aria-labelledby", "aria-describedby", "list"])
      for (const id of (e.getAttribute(key) || "").split(/\s+/).filter(Boolean)) if (!ids.has(id)) found.push(`${name(e)}: ${key} names ${id}, which is not there`);
    for (const e of all('a[href^="#"]')) if (!ids.has(decodeURIComponent(e.hash.slice(1)))) found.push(`${name(e)} leads nowhere`);
    let level = 0;
    for (const e of all("h1, h2, h3, h4, h5, h6")) {
      const own = Number(e.localName[1]);
      if (own > level + 1) found.push(`${name(e)} follows a heading of level ${level}`);
      if (!e.textContent.trim()) found.push("an empty heading");
      level = own;
    }
    if (all("h1").length !== 1) found.push("not one h1");
    if (all("main").length !== 1) found.push("not one main");
    if (!document.documentElement.lang) found.push("no language");
    if (!document.title.trim()) found.push("no title");
    for (const e of all("th")) if (!e.getAttribute("scope")) found.push(`${name(e)} has no scope`);
    return found;
  };

  window.looks = { wide, overlaps, pale, small, nameless };
})();
