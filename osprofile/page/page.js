"use strict";
/* What each page does: narrow the fields down, and open what a link leads to. */
(() => {
  const box = document.getElementById("filter");
  if (!box) return;
  const count = document.getElementById("filter-count");
  const fields = [...document.querySelectorAll(".field")];
  const groups = [...document.querySelectorAll(".group")];
  const texts = new Map(); /* in lower case, when they are first asked for */
  const textOf = (field) => {
    if (!texts.has(field)) texts.set(field, field.textContent.toLowerCase());
    return texts.get(field);
  };
  const left = new Set(); /* what the form's script has no use for */

  const narrow = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const field of fields) {
      const fits = !left.has(field) && words.every((word) => textOf(field).includes(word));
      if (field.hidden === fits) field.hidden = !fits;
      shown += fits;
    }
    for (const group of groups) group.hidden = !group.querySelector(".field:not([hidden])");
    count.textContent = shown ? `${shown} of ${fields.length - left.size}` : "no field has these words";
  };

  const follow = () => {
    let key = "";
    try { key = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const goal = key && document.getElementById(key);
    if (!goal) return;
    if (goal.closest("[hidden]")) {
      box.value = "";
      document.dispatchEvent(new CustomEvent("wanted", { detail: goal }));
      narrow();
    }
    for (let at = goal; at; at = at.parentElement) if (at.localName === "details") at.open = true;
    if (fields.includes(goal)) goal.scrollIntoView();
  };

  box.addEventListener("input", narrow);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
    if (event.key !== "Escape") return;
    box.value = "";
    narrow();
  });
  document.addEventListener("leave", (event) => {
    left.clear();
    for (const field of event.detail) left.add(field);
    narrow();
  });
  window.addEventListener("hashchange", follow);
  box.parentElement.hidden = false;
  narrow();
  /* Behind the form's own script, which may leave fields out. */
  document.addEventListener("DOMContentLoaded", follow);
})();
