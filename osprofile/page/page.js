"use strict";
/* The script of every page: copies commands, filters the fields, and opens what a link leads to. */
(() => {
  /* A browser lets a page copy only if it came by https, from this machine, or from a file. */
  for (const button of navigator.clipboard ? document.querySelectorAll("[data-copies]") : []) {
    const text = document.getElementById(button.dataset.copies).textContent;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
      catch { button.textContent = "Select the text"; }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    button.hidden = false;
  }

  const box = document.getElementById("filter");
  if (!box) return;
  const count = document.getElementById("filter-count");
  const fields = [...document.querySelectorAll("#fields .field")];
  const groups = [...document.querySelectorAll("#fields .group")];
  const texts = new Map(); /* lower-case texts, filled on first use */
  const lowerText = (field) => {
    if (!texts.has(field)) texts.set(field, field.textContent.toLowerCase());
    return texts.get(field);
  };
  const unused = new Set(); /* fields that the form's script does not use */

  let searched = false; /* a search opens the groups, and its end folds them */
  const filterFields = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const field of fields) {
      const fits = !unused.has(field) && words.every((word) => lowerText(field).includes(word));
      if (field.hidden === fits) field.hidden = !fits;
      shown += fits;
    }
    for (const group of groups) {
      group.hidden = !group.querySelector(".field:not([hidden])");
      if (words.length || searched) group.open = words.length > 0;
    }
    searched = words.length > 0;
    count.textContent = shown ? `${shown} of ${fields.length - unused.size}` : "no field has these words";
  };

  const openTarget = () => {
    let key = "";
    try { key = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const goal = key && document.getElementById(key);
    if (!goal) return;
    if (goal.closest("[hidden]")) {
      box.value = "";
      document.dispatchEvent(new CustomEvent("showfield", { detail: goal }));
      filterFields();
    }
    for (let at = goal; at; at = at.parentElement) if (at.localName === "details") at.open = true;
    if (goal.matches(".field")) goal.scrollIntoView();
  };

  box.addEventListener("input", filterFields);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
    if (event.key !== "Escape") return;
    box.value = "";
    filterFields();
  });
  document.addEventListener("fieldsunused", (event) => {
    unused.clear();
    for (const field of event.detail) unused.add(field);
    filterFields();
  });
  window.addEventListener("hashchange", openTarget);
  box.parentElement.hidden = false;
  filterFields();
  /* Behind the form's own script, which may leave fields out. */
  document.addEventListener("DOMContentLoaded", openTarget);
})();
