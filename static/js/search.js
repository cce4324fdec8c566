import { isKey } from "./shortcuts.js";

// The search field: / and Ctrl+K or ⌘K lead to it, results come as it is typed, the
// arrow keys lead through them, Escape closes them.
const field = document.getElementById("finder");
const found = document.getElementById("finder-found");
const status = document.getElementById("finder-status");
const wait = 120; // ms after a letter: a quick typist sends one request a word

let latest;
let timer;

async function search() {
  latest?.abort();
  latest = new AbortController();
  const { signal } = latest;
  const query = new URLSearchParams({ q: field.value });
  try {
    const answer = await fetch(`${field.form.action}?${query}`, { headers: { "HX-Request": "true" }, signal });
    const leave = answer.headers.get("HX-Redirect"); // signed out
    if (leave) location.assign(leave);
    if (answer.status === 429) timer = setTimeout(search, 1000 * answer.headers.get("Retry-After"));
    if (!answer.ok || answer.redirected || leave) return;
    found.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.children);
    status.textContent = found.querySelector("[data-results]")?.dataset.results ?? "";
  } catch (error) {
    if (error.name !== "AbortError") found.replaceChildren(); // the form still works
  }
}

function close() {
  latest?.abort();
  clearTimeout(timer);
  found.replaceChildren();
  status.textContent = "";
}

field?.addEventListener("input", () => {
  clearTimeout(timer);
  if (field.value.trim()) timer = setTimeout(search, wait);
  else close();
});

document.addEventListener("keydown", (event) => {
  if (!field) return;
  const shortcut = event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.altKey && !event.shiftKey;
  if (shortcut || (event.key === "/" && isKey(event))) {
    event.preventDefault();
    field.focus();
    field.select();
    return;
  }
  if (!event.target.closest(".finder")) return;
  if (event.key === "Escape") {
    close();
    field.value = "";
    field.focus();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const stops = [field, ...found.querySelectorAll("a, button")];
  stops[(stops.indexOf(document.activeElement) + step + stops.length) % stops.length].focus();
});
