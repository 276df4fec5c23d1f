"use strict";
/* The form of a live page: requests the script from the server at each change, and marks what changed. */
(() => {
  const PAUSE = 40; /* milliseconds after the last key */
  const byId = (id) => document.getElementById(id);
  const form = byId("form");
  const inputs = [...form.querySelectorAll("[data-name]")];
  const targets = [...byId("targets").children].map((item) => item.dataset);
  const [script, status, refusal, command] = ["script", "status", "refusal", "command"].map(byId);
  const [scripts, applications] = [byId("script-choice"), byId("application-choice")];
  const fieldBlock = (input) => input.closest(".field");
  const titleOf = (input) => fieldBlock(input).querySelector("h4").textContent;
  const problemElement = (input) => {
    const id = `problem-${input.id.slice(3)}`;
    if (byId(id)) return byId(id);
    const paragraph = document.createElement("p");
    paragraph.id = id;
    paragraph.className = "problem";
    input.setAttribute("aria-describedby", `${input.getAttribute("aria-describedby")} ${id}`);
    fieldBlock(input).querySelector("dl, details").before(paragraph);
    return paragraph;
  };
  const uses = new Map(inputs.map((i) => [i, new Set(fieldBlock(i).dataset.targets.split(" "))]));
  form.reset(); /* a browser may keep the input of before a reload */
  const defaults = new Map(inputs.map((input) => [input, input.value]));
  const touched = new Set();
  let lines = null; /* the lines of the script that is shown; null if the next script is not to be compared with it */
  let shown = "";
  let timer = 0;
  let asking = null;

  /* The request */

  const target = () => {
    const { template, variation } = scripts.selectedOptions[0].dataset;
    const same = (t) => t.template === template && (t.variation || "") === (variation || "");
    const found = targets.findIndex((t) => same(t) && (!t.application || t.application === applications.value));
    return found < 0 ? targets.findIndex(same) : found;
  };
  const inUse = (input) => uses.get(input).has(String(target()));
  const changed = (input) => input.value !== defaults.get(input);

  const buildRequest = () => {
    const { template, variation = "", application = "" } = targets[target()];
    const fields = {};
    for (const input of inputs) if (inUse(input) && changed(input)) fields[input.dataset.name] = input.value;
    /* The command names no default application. */
    const implied = application === "Executable" ? "" : application;
    return { template, variation, application: implied, fields };
  };

  const selectScript = () => {
    const at = targets[target()];
    applications.closest("p").hidden = !at.application || applications.options.length < 2;
    document.dispatchEvent(new CustomEvent("fieldsunused", { detail: inputs.filter((i) => !inUse(i)).map(fieldBlock) }));
    lines = null;
  };

  /* The script and messages */

  const announce = (text) => { if (status.textContent !== text) status.textContent = text; };

  /* Invisible characters are shown by their code points, as everywhere in the page. */
  const INVISIBLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
  const fill = (element, text) => {
    let at = 0;
    const parts = [];
    for (const found of text.matchAll(INVISIBLE)) {
      const mark = document.createElement("span");
      mark.className = "odd";
      mark.textContent = `U+${found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
      parts.push(text.slice(at, found.index), mark);
      at = found.index + 1;
    }
    element.replaceChildren(...parts, text.slice(at));
    return element;
  };
  const lineOf = (text) => {
    const line = document.createElement("span");
    line.className = "line";
    return fill(line, `${text}\n`);
  };

  /* Find the changed lines: common lines at both ends are skipped, the others are compared by the
     longest common subsequence, unless there are too many. */
  const difference = (old, now) => {
    let start = 0, end = 0;
    while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
    while (end < Math.min(old.length, now.length) - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
    const [a, b] = [old.slice(start, old.length - end), now.slice(start, now.length - end)];
    const fresh = new Set(b.map((_, index) => start + index));
    if (a.length * b.length > 250000) return { fresh, start, gone: a.length };
    const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i -= 1)
      for (let j = b.length - 1; j >= 0; j -= 1)
        table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      if (a[i] === b[j]) { fresh.delete(start + j); i += 1; j += 1; }
      else if (table[i + 1][j] >= table[i][j + 1]) i += 1;
      else j += 1;
    }
    return { fresh, start, gone: a.length - (b.length - fresh.size) };
  };

  const show = (text, by) => {
    const now = text.replace(/\n$/, "").split("\n");
    const old = lines;
    script.classList.remove("old");
    script.parentElement.hidden = byId("tools").hidden = false;
    for (const input of inputs) fieldBlock(input).classList.remove("changed-by");
    for (const line of script.querySelectorAll(".changed, .cut")) line.classList.remove("changed", "cut");
    const count = `${now.length} ${now.length === 1 ? "line" : "lines"}`;
    if (old === null) {
      script.replaceChildren(...now.map(lineOf));
      announce(`The script has ${count}.`);
    } else {
      const { fresh, start, gone } = difference(old, now);
      const end = now.length - start;
      let same = 0;
      while (same < Math.min(old.length - start, end) && old[old.length - 1 - same] === now[now.length - 1 - same]) same += 1;
      /* Replace only the lines between the common parts. */
      for (let i = old.length - same - 1; i >= start; i -= 1) script.children[i].remove();
      const next = script.children[start] || null;
      for (let i = start; i < now.length - same; i += 1) script.insertBefore(lineOf(now[i]), next);
      for (const i of fresh) script.children[i].classList.add("changed");
      if (!fresh.size && gone && next) next.classList.add("cut");
      announceChanges(by, [...fresh].sort((x, y) => x - y), gone, count);
      const first = script.querySelector(".changed, .cut");
      if (first) reveal(first);
    }
    lines = now;
    shown = text;
  };

  const announceChanges = (by, fresh, gone, count) => {
    const who = by.length === 1 ? titleOf(by[0]) : "The values";
    for (const input of by) if (fresh.length || gone) fieldBlock(input).classList.add("changed-by");
    const numbers = fresh.map((i) => i + 1);
    const last = numbers.pop();
    const named = numbers.length > 7 ? `${numbers[0]} to ${last} in part` : [numbers.join(", "), last].filter(Boolean).join(" and ");
    if (fresh.length) announce(`${who} changed ${numbers.length ? "lines" : "line"} ${named} of ${parseInt(count, 10)}.`);
    else if (gone) announce(`${who} took ${gone} ${gone === 1 ? "line" : "lines"} away; the script has ${count}.`);
    else if (by.length) announce(`${who} changed nothing in the script (${count}).`);
    else announce(`The script has ${count}.`);
  };

  const reveal = (line) => {
    const pane = script.parentElement;
    const at = line.offsetTop - pane.offsetTop;
    if (at < pane.scrollTop || at > pane.scrollTop + pane.clientHeight - 40) pane.scrollTop = Math.max(at - 60, 0);
  };

  const clear = () => {
    refusal.hidden = true;
    for (const input of inputs) {
      if (!input.hasAttribute("aria-invalid")) continue;
      input.removeAttribute("aria-invalid");
      problemElement(input).hidden = true;
    }
  };

  const refuse = ({ field, message, hint, place, missing }) => {
    const sentences = [message, hint && `${hint[0].toUpperCase()}${hint.slice(1)}`, place && `(${place})`];
    const input = inputs.find((i) => i.dataset.name === field && inUse(i));
    const group = input && fieldBlock(input).closest("details.group");
    if (group) group.open = true;
    const spot = input ? problemElement(input) : refusal;
    const needed = missing && input && !touched.has(input);
    fill(spot, needed ? "The script needs a value here." : sentences.filter(Boolean).join(". ").replace(/\.\. /g, ". "));
    spot.classList.toggle("needed", Boolean(needed));
    spot.hidden = false;
    if (input && !needed) input.setAttribute("aria-invalid", "true");
    else if (input) input.setAttribute("aria-invalid", "false");
    script.classList.add("old");
    if (lines === null) script.parentElement.hidden = byId("tools").hidden = true;
    announce(needed ? `${titleOf(input)} must be given before there is a script.` : `No script: ${message}`);
  };

  const warn = (found) => {
    const list = byId("warnings");
    list.hidden = !found.length;
    list.replaceChildren(...found.map((text) => fill(document.createElement("li"), text)));
  };

  /* Requests to the server */

  const requestScript = async (by) => {
    clearTimeout(timer);
    if (asking) asking.abort();
    const bad = inputs.find((input) => inUse(input) && input.validity.badInput);
    clear();
    if (bad) {
      refuse({ field: bad.dataset.name, message: `field ${bad.dataset.name}: this is not a number`, hint: "", place: "" });
      return;
    }
    const current = (asking = new AbortController());
    let answer;
    try {
      const reply = await fetch("render", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(buildRequest()),
        signal: current.signal,
      });
      answer = await reply.json();
      if (answer.error) throw new Error(answer.error);
    } catch (error) {
      if (current.signal.aborted) return;
      const gone = error instanceof TypeError;
      refuse({ field: "", message: gone ? "the server does not answer" : error.message,
        hint: gone ? "start incarnate page --serve again, then load this page again" : "", place: "" });
      return;
    }
    if (current.signal.aborted) return;
    clear();
    byId("stale").hidden = answer.version === document.body.dataset.version;
    fill(command, answer.command);
    warn(answer.warnings);
    if (answer.refusal) refuse(answer.refusal);
    else {
      show(answer.text, by.splice(0));
    }
    document.dispatchEvent(new CustomEvent("answered"));
  };

  const changedInputs = [];
  const changedBy = (input) => {
    touched.add(input);
    if (!changedInputs.includes(input)) changedInputs.push(input);
    clearTimeout(timer);
    timer = setTimeout(() => requestScript(changedInputs), PAUSE);
  };
  const requestNow = () => requestScript(changedInputs);

  for (const input of inputs) {
    input.addEventListener("input", () => changedBy(input));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && input.localName === "input") { event.preventDefault(); requestNow(); }
      if (event.key !== "Escape" || !(changed(input) || input.validity.badInput)) return;
      input.value = defaults.get(input);
      changedBy(input);
    });
  }
  for (const choice of [scripts, applications])
    choice.addEventListener("input", () => { changedInputs.length = 0; selectScript(); requestNow(); });
  scripts.addEventListener("change", () => byId("fields").scrollIntoView());
  form.addEventListener("submit", (event) => { event.preventDefault(); requestNow(); });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    for (const input of inputs) if (changed(input) || input.validity.badInput) { input.value = defaults.get(input); changedInputs.push(input); }
    touched.clear();
    requestNow();
  });
  document.addEventListener("showfield", ({ detail }) => {
    const key = detail.dataset.targets?.split(" ")[0];
    if (!key) return;
    const { template, variation = "", application } = targets[key];
    const option = [...scripts.options].find((o) => o.dataset.template === template && (o.dataset.variation || "") === variation);
    scripts.value = option.value;
    if (application) applications.value = application;
    selectScript();
    requestNow();
  });
  byId("reload").addEventListener("click", () => location.reload());
  byId("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText(shown); announce("The script is copied."); }
    catch { announce("This browser does not let the page copy; select the text instead."); }
  });

  for (const chooser of document.querySelectorAll(".chooser")) chooser.hidden = false;
  form.classList.remove("still");
  byId("needed").remove();
  selectScript();
  if (script.firstChild) { /* the page already has its first script */
    lines = [...script.children].map((line) => line.textContent.slice(0, -1));
    shown = script.textContent;
  } else requestNow();
})();
