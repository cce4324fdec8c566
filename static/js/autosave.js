// What is typed into a section is saved 800 ms after a change, and when the page is
// hidden or left. The server merges it with what other tabs and devices saved: the
// input "was" says what an edit replaces (doc/adr/036-edits-are-merged-by-field.md).
// Until it is saved, the device keeps it from the first key on, for a tab that is killed.
import htmx from "htmx.org/dist/htmx.esm.min.js";
import { convert } from "./conversion.js";

const delay = 800;
const mostUnsent = 3; // states that an edit can replace, beside the stored one: maxWas of handlers/form
const keepaliveBytes = 60_000; // browsers refuse more
const section = () => document.querySelector("form[data-autosave]");
const pathOf = (form) => new URL(form.getAttribute("action"), location).pathname;
// Offline, Back changes the address and leaves the section's form on the page.
const here = () => (section() ? pathOf(section()) : location.pathname);
// taken says whether the page is an answer of the session, not that it is unknown.
const taken = (page) => page.querySelector("form[data-autosave], main[data-closed]");
const sessionPath = location.pathname.split("/").slice(0, 3).join("/");
let dirty; // the form that has unsaved changes
let owed = []; // requests that earlier loads of a section could not send
let owedAt; // its path
let parked = []; // those of them that collide, for when the section is opened again
let recalled; // when owed is known
let timer;
let failures = 0;
let resending = false;
let requests = 0;
let settled = 0; // the newest request whose response was taken
let device; // its store, once it is open

function typed(form) {
  const inputs = new URLSearchParams(new FormData(form));
  inputs.delete("was");
  inputs.delete("seen");
  return inputs;
}

// value is that of a control, or whether it is ticked.
const value = (inputs, { name, type, value: own }) =>
  type === "radio" || type === "checkbox" ? inputs.getAll(name).includes(own) : (inputs.get(name) ?? "");

// The states of a form that were sent since it was known to be stored are hidden inputs.
const newest = (form) => [...form.querySelectorAll("[data-sent]")].at(-1);
const sentAll = (form, state) => state === newest(form) && state.value === typed(form).toString();

// begin marks a state as under way: that of now, or one that is sent again.
function begin(form, again) {
  const state = again ?? Object.assign(document.createElement("input"), { type: "hidden", name: "was", value: typed(form) });
  if (!again) {
    if (form.querySelectorAll("[data-sent]").length === mostUnsent) newest(form).remove();
    form.append(state);
    dirty = undefined;
  }
  Object.assign(state.dataset, { sent: "now", number: ++requests });
  return state;
}

function body(form, sent) {
  const out = new URLSearchParams(sent);
  for (const { value } of form.querySelectorAll("[name=was]")) out.append("was", value);
  out.set("action", "autosave");
  return out.toString();
}

// The device's store stays open: a page whose tab is killed has begun no write that
// needs the page again.
function store() {
  return (device ??= new Promise((done) => {
    const opening = indexedDB.open("candor", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("typed");
    opening.onerror = () => done();
    opening.onsuccess = () => done(opening.result);
  }));
}

async function onDevice(mode, work, durability = "strict", again = true) {
  try {
    const kept = (await store()).transaction("typed", mode, { durability });
    const request = work(kept.objectStore("typed"));
    kept.commit?.();
    return await new Promise((done) => {
      kept.oncomplete = kept.onabort = () => done(request.result);
    });
  } catch {
    device = undefined; // a phone closes it while the page is in the background
    if (again) return onDevice(mode, work, durability, false);
  }
}

const unsent = (path = here()) => (owedAt === path ? owed : []);
const unseen = (path = here()) => (owedAt === path ? parked : []);

// keep puts what is typed on the device, after what earlier loads of the section
// could not send.
async function keep(form, durability) {
  const own = body(form, typed(form));
  const path = pathOf(form);
  await recalled;
  onDevice("readwrite", (kept) => kept.put([...unseen(path), ...unsent(path), own], path), durability);
}

function forget(path = here()) {
  const rest = path === owedAt ? [...parked, ...owed] : [];
  onDevice("readwrite", (kept) => (rest.length ? kept.put(rest, path) : kept.delete(path)), "relaxed"); // keys wait for it
}
const inSession = () => IDBKeyRange.bound(sessionPath, `${sessionPath}\uffff`);
const forgetSession = () => onDevice("readwrite", (kept) => kept.delete(inSession()));

function say(what) {
  const line = document.querySelector(".save-status");
  if (!line) return;
  const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "numeric", minute: "2-digit" });
  const text = what ? line.dataset[what].replace("{time}", time) : "";
  const [status, again] = line.children;
  if (status.textContent !== text) status.textContent = text;
  again.hidden = what !== "failed";
}

// saved says so, and no longer that it failed. What another device changed too is kept
// until one is chosen.
function saved(collides) {
  say(collides ? "" : "saved");
  if (!collides) document.getElementById("refusal").replaceChildren();
  if (!collides && dirty !== section() && !section().querySelector("[data-sent]")) forget();
}

function schedule(wait = delay) {
  clearTimeout(timer);
  timer = setTimeout(save, wait);
}

// save sends what was typed. A request whose response got lost may have been
// stored: the newest is sent again as it was, so that few states are uncertain. A page
// that is left sends what is newer at once, if it can say what that replaces; else only
// the device has it.
async function save(leaving = false) {
  const form = section();
  if (!form) return;
  const pending = newest(form);
  const full = form.querySelectorAll("[data-sent]").length === mostUnsent;
  if (dirty === form) keep(form);
  if (unsent().length && !leaving) return resend();
  if (leaving ? dirty !== form || full : pending?.dataset.sent === "now" || (!pending && dirty !== form)) return;
  clearTimeout(timer);
  const state = begin(form, leaving ? undefined : pending);
  const number = requests;
  const sent = state.value;
  const path = here();
  const more = unsent().length + unseen().length; // is on the device too
  const page = await post(form.getAttribute("action"), body(form, sent));
  const stored = page.querySelector?.("form[data-autosave]:not(:has([data-collision]))");
  if (!form.isConnected && here() !== path && !more && stored && sentAll(form, state)) forget(path);
  if (number < settled || !form.isConnected) return;
  if (typeof page === "string") {
    state.dataset.sent = "lost";
    say(page);
    schedule(Math.min(60_000, 1000 * 2 ** failures++));
    return;
  }
  settled = number;
  failures = 0;
  const fresh = page.querySelector("form[data-autosave]");
  if (!fresh) return show(page);
  settle(form, fresh, new URLSearchParams(sent));
  saved(form.querySelector("[data-collision]")); // settle moved it there
  if (dirty === form) schedule();
}

// post returns the server's page, or why there is none.
async function post(url, content) {
  let response, text;
  try {
    response = await fetch(url, {
      method: "POST",
      body: content,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
      keepalive: content.length < keepaliveBytes,
      signal: AbortSignal.timeout(30_000),
    });
    text = await response.text();
  } catch {
    return "offline";
  }
  if (![200, 404, 410].includes(response.status)) return "failed";
  const page = new DOMParser().parseFromString(text, "text/html");
  const unknown = response.status === 404 && page.querySelector("main");
  if (!taken(page) && !unknown) return "failed"; // of a proxy, or the sign-in of a Wi-Fi
  if (page.querySelector("main[data-closed]")) forgetSession();
  return page;
}

// show puts the main part of a page in place of this one. The focus stays.
function show(page) {
  const main = page.querySelector("main");
  const { id, value, selectionStart: start, selectionEnd: end } = document.activeElement;
  document.querySelector("main").replaceWith(main);
  htmx.process(main);
  const same = id && main.querySelector(`#${CSS.escape(id)}`);
  if (!same) return;
  same.focus();
  if (same.value !== value) same.select?.();
  else if (start != null) same.setSelectionRange(start, end);
}

// settle brings the form in step with what is stored now. Changes from elsewhere
// are shown where nothing was typed since the request.
function settle(form, fresh, sent) {
  const now = typed(form);
  const got = typed(fresh);
  const first = form.querySelector("[name=was]");
  const before = new URLSearchParams(first.value);
  const was = new URLSearchParams(sent);
  const restore = (name, from) => {
    const own = (input) => input === name || input.startsWith(`${name}.`);
    for (const input of [...was.keys()].filter(own)) was.delete(input);
    for (const [input, value] of from) if (own(input)) was.append(input, value);
  };
  // A field's inputs stay together: an amount that was cleared before others stays, though
  // they have other names where it is gone. The period of an amount that isn't there is
  // the customer's choice for when it is typed.
  const free = (control) => {
    const field = control.closest(".field");
    const inputs = [...(field ?? control.parentElement).querySelectorAll("[name]:not([name=action])")];
    const amount = control.name.endsWith(".period") ? got.get(control.name.slice(0, -".period".length)) : "any";
    return amount && !field?.contains(document.activeElement) && inputs.every((input) => (fresh.elements[input.name] || !input.value) && untouched(input));
  };
  const untouched = (control) => value(now, control) === value(sent, control);

  for (const list of fresh.querySelectorAll("[data-list]")) {
    const { list: name } = list.dataset;
    const own = form.querySelector(`[data-list="${name}"]`);
    const changed = got.get(`${name}.version`) !== sent.get(`${name}.version`);
    const still = [...own.querySelectorAll("[name]:not([name=action], [name=seen])")].every(untouched);
    if (!changed || !still || own.contains(document.activeElement)) continue;
    own.replaceWith(list);
    htmx.process(list);
    restore(name, got);
  }
  for (const control of form.elements) {
    const { name } = control;
    const stored = value(got, control);
    if (!fresh.elements[name] || stored === value(sent, control) || !free(control)) continue;
    if (stored === true || stored === false) {
      control.checked = stored;
      was.delete(name, control.value);
      if (stored) was.append(name, control.value);
    } else {
      control.value = stored;
      was.set(name, stored);
    }
  }
  const blocks = [...fresh.querySelectorAll("[data-collision]")];
  for (const { dataset } of blocks) restore(dataset.collision, before);
  collide(form, blocks);
  for (const part of fresh.querySelectorAll(".total-value, .conversion")) {
    const own = document.getElementById(part.id);
    if (own && !(own.matches(".conversion") && convert(own))) own.replaceChildren(...part.childNodes);
  }
  first.value = was;
  for (const input of form.querySelectorAll("[data-sent]")) if (input.dataset.number <= settled) input.remove();
}

// collide puts the blocks of collisions into the form, and takes away those that
// are over. What is new is announced, once.
function collide(form, blocks) {
  const shown = new Map([...form.querySelectorAll("[data-collision]")].map((block) => [block.dataset.collision, block]));
  const news = [];
  for (const block of blocks) {
    const { collision, at } = block.dataset;
    const same = shown.get(collision);
    shown.delete(collision);
    const field = document.getElementById(at)?.closest(".field, .kind");
    if (same && !same.isEqualNode(block)) same.replaceWith(block);
    if (same || !field) continue;
    const error = block.querySelector(".error");
    document.getElementById(error.id)?.remove(); // of an answer that was refused before
    for (const holder of describedBy(block.closest(".field, .kind"), error)) {
      const own = holder.id ? document.getElementById(holder.id) : field;
      own.setAttribute("aria-describedby", holder.getAttribute("aria-describedby"));
      setInvalid(own, "true");
    }
    field.append(block);
    news.push(error.firstElementChild.lastChild.textContent);
  }
  for (const block of shown.values()) {
    const error = block.querySelector(".error");
    for (const own of describedBy(block.closest(".field, .kind"), error)) {
      own.setAttribute("aria-describedby", own.getAttribute("aria-describedby").replace(error.id, "").trim());
      setInvalid(own, null);
    }
    block.remove();
  }
  if (news.length) document.getElementById("status").textContent = news.join(" ");
}

// describedBy are the field, or those of its inputs, that the error describes.
const describedBy = (field, { id }) =>
  [field, ...field.querySelectorAll("[aria-describedby]")].filter((own) => own.getAttribute("aria-describedby")?.split(" ").includes(id));

function setInvalid(own, value) {
  const inputs = own.matches("fieldset") ? own.querySelectorAll(":is(.choices, .date-parts) input") : [own];
  for (const input of inputs) input.ariaInvalid = value;
}

document.addEventListener("input", ({ target }) => {
  if (!target.form?.matches("[data-autosave]")) return;
  dirty = target.form;
  schedule();
});
// Each key is kept once the other scripts have taken it: a tab that is killed right after
// it loses nothing. Only a device that stops can lose the keys of a field that wasn't left.
const durabilities = { input: "relaxed", change: "strict" };
for (const type in durabilities) window.addEventListener(type, ({ target }) => target.form && target.form === dirty && keep(dirty, durabilities[type]));
document.addEventListener("submit", () => unsent().length && resend());
document.addEventListener("click", ({ target }) => target.closest?.(".save-status button") && save());
document.addEventListener("visibilitychange", () => save(document.visibilityState === "hidden"));
window.addEventListener("pagehide", () => save(true));
document.addEventListener("htmx:before:history:restore", () => save(true)); // Back within the document
window.addEventListener("online", () => save());

// What a button sends is a state like another, which a save waits for: beside it, the
// list would seem to have been changed elsewhere.
document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
  const { form } = ctx.request;
  if (!form?.matches("[data-autosave]")) return;
  if (dirty === form) keep(form);
  ctx.state = begin(form);
});

const failed = ({ status, response }) => status.startsWith("error") || [408, 429].includes(response?.status) || response?.status >= 500;

// What was typed since then stays in the answer, and so does the focus. If that is another
// page, it is saved as when the page is left. If it has no place there, it is sent as what
// an earlier load could not send.
document.addEventListener("htmx:before:swap", ({ detail: { ctx, tasks } }) => {
  const { form } = ctx.request;
  if (!ctx.state || ctx.state.value === typed(form).toString() || failed(ctx)) return;
  const [{ fragment }] = tasks;
  const fresh = fragment.querySelector("form[data-autosave]");
  const path = pathOf(form);
  if (!fresh || pathOf(fresh) !== path) return save(true);
  dirty = undefined;
  ctx.carried = carry(form, ctx.state, fresh);
  if (!ctx.carried) recalled.then(() => owed.push(body(form, typed(form))) && forget(path));
  if (!form.contains(document.activeElement)) return;
  for (const other of fragment.querySelectorAll("[autofocus]")) other.removeAttribute("autofocus");
});

// carry puts what was typed since a state was sent into the form of the answer, and says
// whether all of it has its place there: items and amounts are numbered.
function carry(form, state, fresh) {
  const [sent, now, got] = [new URLSearchParams(state.value), typed(form), typed(fresh)];
  const plain = (inputs, control) => String(value(inputs, control)).replace(/[^\p{L}\p{N}]/gu, ""); // 98500 becomes 98,500
  for (const control of form.elements) {
    const next = value(now, control);
    if (next === value(sent, control) || next === value(got, control)) continue;
    const place = fresh.querySelector(`[id="${CSS.escape(control.id)}"]`); // a list's version has none
    const around = control.closest(".item") ?? control.closest(".field") ?? control.parentElement;
    const same = [...around.querySelectorAll("[name]:not([data-period])")].every((own) => plain(got, own) === plain(sent, own));
    if (!place || !same) return false;
    if (typeof next === "boolean") place.checked = next;
    else place.defaultValue = place.value = next; // an answer that is morphed in has the attribute only
  }
  return true;
}

// A form that could not be sent stays as it is. A section's is saved when that works
// again.
document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => {
  const { state } = ctx;
  const { form: own } = ctx.request;
  const status = ctx.response?.status;
  if (state && status < 400 && sentAll(own, state)) forget(pathOf(own));
  if (here() !== owedAt) recalled = recall();
  if (!section() && status < 400) document.getElementById("refusal")?.replaceChildren();
  const form = section();
  if (!failed(ctx)) {
    if (state) settled = Math.max(settled, state.dataset.number);
    if (ctx.carried) dirty = form;
    if (unsent().length) resend();
    else if (dirty && dirty === form) schedule();
    return;
  }
  if (state) state.dataset.sent = "lost";
  const refusal = document.getElementById("refusal");
  if (!form) {
    if (!own || refusal.firstChild) return;
    refusal.append(Object.assign(document.createElement("p"), { className: "wrap error", textContent: refusal.dataset.unsaved }));
    refusal.scrollIntoView();
    return;
  }
  dirty = form;
  say(status ? "failed" : "offline");
  schedule(Math.min(60_000, 1000 * 2 ** failures));
});

// resend sends what the device kept of this page and shows it merged.
async function resend() {
  const form = section();
  if (!form || resending || owedAt !== here()) return;
  resending = true;
  const [path, waiting, collided] = [owedAt, owed, parked];
  let page;
  while (waiting.length) {
    page = await post(form.getAttribute("action"), waiting[0]);
    if (typeof page === "string" || !taken(page)) break;
    const sent = waiting.shift();
    if (page.querySelector("[data-collision]")) collided.push(sent);
  }
  resending = false;
  if (path !== here()) {
    if (waiting.length + collided.length === 0 && dirty !== form && !newest(form)) forget(path);
    return resend();
  }
  if (typeof page === "string") {
    say(page);
    return schedule(Math.min(60_000, 1000 * 2 ** failures++));
  }
  failures = 0;
  if (page && !taken(page)) {
    if (dirty === form) keep(form);
    return show(page);
  }
  if (dirty === form || newest(form)) return schedule();
  if (!page) return;
  if (!form.isConnected) return dirty === section() ? schedule() : forget();
  const collides = page.querySelector("[data-collision]");
  if (collides) collided.pop(); // is shown now
  show(page);
  if (section()) saved(collides);
}

// deliver sends what the device kept of sections, from the list of them or the
// check page, so that no one signs without it. What collides waits for its section.
async function deliver() {
  const paths = await onDevice("readonly", (kept) => kept.getAllKeys(inSession()));
  let stored = 0;
  for (const path of paths ?? []) {
    const waiting = [(await onDevice("readonly", (kept) => kept.get(path))) ?? []].flat();
    while (waiting.length) {
      const page = await post(path, waiting[0]);
      if (typeof page === "string" || !taken(page) || page.querySelector("[data-collision]")) break;
      waiting.shift();
      stored++;
    }
    onDevice("readwrite", (kept) => (waiting.length ? kept.put(waiting, path) : kept.delete(path)));
  }
  if (!stored || section() || document.activeElement.matches("input")) return;
  const fresh = await fetch(location.href).then(
    (answer) => answer.text(),
    () => "",
  );
  if (fresh && !section()) show(new DOMParser().parseFromString(fresh, "text/html"));
}

async function recall() {
  if (document.querySelector("main[data-closed]")) return forgetSession();
  const path = here();
  if (!path.startsWith("/f/")) return; // a page of no session
  if (!section()) {
    [owed, parked, owedAt] = [[], [], path];
    return deliver();
  }
  const kept = await onDevice("readonly", (store) => store.get(path));
  owed = kept ? [kept].flat() : []; // until November 2026 one request was kept
  parked = [];
  owedAt = path;
  if (kept) resend();
}
recalled = recall();
