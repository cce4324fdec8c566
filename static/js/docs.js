// The script of the documentation. Without it the pages have everything but the
// search and the buttons that copy.
import "./copy.js";

// A language that was chosen for one sample is chosen for all of the page.
document.addEventListener("change", (event) => {
  const input = event.target.closest(".samples input");
  if (!input) return;
  const place = input.getBoundingClientRect().top;
  for (const other of document.querySelectorAll(`.samples input[value="${input.value}"]`)) other.checked = true;
  window.scrollBy(0, input.getBoundingClientRect().top - place); // samples above have another height now
});

// On a phone the contents are folded, so that the text comes first.
const fold = document.querySelector(".side-fold");
const narrow = matchMedia("(width < 62rem)");
if (fold && narrow.matches) fold.open = false;
fold?.addEventListener("click", (event) => {
  if (narrow.matches && event.target.closest("a")) fold.open = false;
});

// The contents show where the reader is.
const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
const seen = new Set();
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) entry.isIntersecting ? seen.add(entry.target) : seen.delete(entry.target);
    const first = [...links.keys()].find((id) => seen.has(document.getElementById(id)));
    if (!first) return;
    for (const [id, link] of links) id === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
    if (narrow.matches) return;
    const folded = links.get(first).closest(".contents details");
    if (folded) folded.open = true;
    links.get(first).scrollIntoView({ block: "nearest" });
  },
  { rootMargin: "-80px 0px -60% 0px" },
);
for (const id of links.keys()) {
  const target = document.getElementById(id);
  if (target) observer.observe(target);
}

// A link to a field within folded fields unfolds them.
function unfold() {
  let node = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!node) return;
  const target = node;
  while ((node = node.parentElement?.closest("details"))) node.open = true;
  target.scrollIntoView();
}
window.addEventListener("hashchange", unfold);
if (location.hash) unfold();

// The search looks through an index that is loaded when it is first needed.
const search = document.querySelector(".search");
const field = search.querySelector("input");
const list = search.querySelector("ul");
const status = search.querySelector("[role=status]");
search.hidden = false;

let index;
async function load() {
  index ??= fetch(search.dataset.index).then((response) => {
    if (!response.ok) throw new Error(response.status);
    return response.json();
  });
  try {
    return await index;
  } catch {
    index = undefined; // the next key tries again
    return [];
  }
}

// rank is smaller for what fits better, -1 for what doesn't fit.
function rank(words, [title, kind, , text]) {
  const name = title.toLowerCase();
  const all = `${name} ${kind} ${text}`.toLowerCase();
  if (!words.every((word) => all.includes(word))) return -1;
  if (name === words.join(" ")) return 0;
  if (name.startsWith(words[0])) return 1;
  return words.every((word) => name.includes(word)) ? 2 : 3;
}

async function find() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = words.length ? await load() : [];
  const found = all
    .map((one) => [rank(words, one), one])
    .filter(([n]) => n >= 0)
    .sort(([a], [b]) => a - b)
    .slice(0, 12);
  list.replaceChildren(
    ...found.map(([, [title, kind, url]], i) => {
      const item = document.createElement("li");
      item.id = `found-${i}`;
      item.role = "option";
      item.dataset.url = url;
      const name = document.createElement("b");
      name.textContent = title;
      const of = document.createElement("small");
      of.textContent = kind;
      item.append(name, of);
      return item;
    }),
  );
  show(found.length > 0);
  mark(0);
  status.textContent = !words.length ? "" : found.length ? `${found.length} found` : "Nothing found";
}

function show(open) {
  list.hidden = !open;
  field.setAttribute("aria-expanded", open);
  if (!open) field.removeAttribute("aria-activedescendant");
}

function mark(i) {
  const items = [...list.children];
  if (!items.length) return;
  for (const item of items) item.setAttribute("aria-selected", "false");
  const item = items[(i + items.length) % items.length];
  item.setAttribute("aria-selected", "true");
  item.scrollIntoView({ block: "nearest" });
  field.setAttribute("aria-activedescendant", item.id);
}

function go(item) {
  show(false);
  field.value = "";
  location.assign(item.dataset.url);
}

field.addEventListener("input", find);
field.addEventListener("focus", load, { once: true });
field.addEventListener("blur", () => show(false));
list.addEventListener("pointerdown", (event) => {
  event.preventDefault(); // the field keeps the focus
  const item = event.target.closest("li");
  if (item) go(item);
});
field.addEventListener("keydown", (event) => {
  const at = [...list.children].findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "Escape") show(false);
  else if (list.hidden) return;
  else if (event.key === "ArrowDown") mark(at + 1);
  else if (event.key === "ArrowUp") mark(at - 1);
  else if (event.key === "Enter" && at >= 0) go(list.children[at]);
  else return;
  event.preventDefault();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea")) return;
  event.preventDefault();
  field.focus();
});
