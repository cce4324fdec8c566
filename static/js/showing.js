// What the page shows: the line that says what is saved, the answers in the form, and the
// collisions of answers that another tab or device changed, too.
//
// - A control that was typed into since the request, or has the focus, is never changed.
// - What changed elsewhere is shown field by field, a changed list whole: never one part of
//   a date or of an amount beside a part of another.
// - What update returns is the base of the next save: what the server stores of each
//   answer, and of a collision what it replaced before.
// - A new page in place of this one keeps the focus.
import htmx from "htmx.org/dist/htmx.esm.min.js";
import { convert } from "./conversion.js";

export const section = () => document.querySelector("form[data-autosave]");
export const pathOf = (form) => new URL(form.getAttribute("action"), location).pathname;
// Offline, Back changes the address and leaves the section's form on the page.
export const here = () => (section() ? pathOf(section()) : location.pathname);
export const collides = (page) => page.querySelector("[data-collision]");

export function typed(form) {
  const inputs = new URLSearchParams(new FormData(form));
  inputs.delete("was");
  inputs.delete("seen");
  return inputs;
}

// value is that of a control, or whether it is ticked.
const value = (inputs, { name, type, value: own }) =>
  type === "radio" || type === "checkbox" ? inputs.getAll(name).includes(own) : (inputs.get(name) ?? "");

// say shows the status: "saved", "offline", "failed" with a button, or "" for none.
export function say(what) {
  const line = document.querySelector(".save-status");
  if (!line) return;
  const time = new Date().toLocaleTimeString(document.documentElement.lang, { hour: "numeric", minute: "2-digit" });
  const text = what ? line.dataset[what].replace("{time}", time) : "";
  const [status, again] = line.children;
  if (status.textContent !== text) status.textContent = text;
  again.hidden = what !== "failed";
  line.dataset.says = what; // totals are hidden until what is typed has arrived where it is added up
}

// saved says so, and no longer that it failed; nothing of answers that collide.
export function saved(collided) {
  say(collided ? "" : "saved");
  if (collided) return;
  clearRefusal();
  pressed();
}

// undone says beside a button that it wasn't carried out, until one is pressed again, or the
// connection is back, which the line that says so shows.
export function undone(button) {
  const { undone: textContent } = document.getElementById("refusal").dataset;
  button.after(Object.assign(document.createElement("p"), { className: "error undone", role: "alert", textContent }));
}

export const pressed = () => document.querySelector(".undone")?.remove();

// refuse says that a form outside sections could not be saved.
export function refuse() {
  const refusal = document.getElementById("refusal");
  if (refusal.firstChild) return;
  refusal.append(Object.assign(document.createElement("p"), { className: "wrap error", textContent: refusal.dataset.unsaved }));
  refusal.scrollIntoView();
}

export const clearRefusal = () => document.getElementById("refusal")?.replaceChildren();

// show puts the main part of a page in place of this one. The focus stays, also on the heading.
export function show(page) {
  const main = page.querySelector("main");
  const { id, localName, value, selectionStart: start, selectionEnd: end } = document.activeElement;
  document.querySelector("main").replaceWith(main);
  htmx.process(main);
  const same = id ? main.querySelector(`#${CSS.escape(id)}`) : localName === "h1" && main.querySelector("h1");
  if (!same) return;
  same.focus();
  if (same.value !== value) same.select?.();
  else if (start != null) same.setSelectionRange(start, end);
}

// update brings the form in step with what is stored now, the fresh form. Changes from
// elsewhere are shown where nothing was typed since the inputs sent, whose base was before.
// It returns the base of the next save.
export function update(form, fresh, sent, before) {
  const now = typed(form);
  const got = typed(fresh);
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
      // The option that a select starts with has another value while it is left for later.
      if (control.options) control.replaceChildren(...fresh.elements[name].children);
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
  return was;
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

// carry puts what was typed since the inputs sent into the form of the answer, and says
// whether all of it has its place there: items and amounts are numbered.
export function carry(form, sent, fresh) {
  const [now, got] = [typed(form), typed(fresh)];
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
