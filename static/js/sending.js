// What is being sent: what is typed into a section is saved 800 ms after a change, and when
// the page is hidden or left. The server merges it with what other tabs and devices saved:
// the input "was" says what an edit replaces (internal/form/merge.go).
//
// - One save is under way at a time, and none beside a button's request; what earlier loads
//   left may be. A page that is left sends at once, if its form can say what that replaces.
// - Each state of the form that was sent and isn't known to be stored is a hidden input "was"
//   of it, newest last, three at most. Every request names them all.
// - A state whose response is lost is sent again as it was, before what is newer.
// - What earlier loads left is sent before what this page has typed, in its order.
// - A response older than one that was taken changes nothing. One that is no page of the
//   session (a proxy's, a Wi-Fi's sign-in) is a failure: nothing is forgotten.
// - After a failure the next try waits 1 s, then twice as long each time, a minute at most.
import * as device from "./ondevice.js";
import { carry, clearRefusal, collides, here, pathOf, pressed, refuse, saved, say, section, show, typed, undone, update } from "./showing.js";

const delay = 800;
const mostUnsent = 3; // states that an edit can replace, beside the stored one: maxWas of handlers/form
const keepaliveBytes = 60_000; // browsers refuse more
// taken says whether the page is an answer of the session, not that it is unknown.
const taken = (page) => page.querySelector("form[data-autosave], main[data-closed]");
let dirty; // the form that has unsaved changes
let timer;
let failures = 0;
let resending = false;
let requests = 0;
let settled = 0; // the newest request whose response was taken

// The states of a form that were sent since it was known to be stored.
const states = (form) => [...form.querySelectorAll("[data-sent]")];
const newest = (form) => states(form).at(-1);
const sentAll = (form, state) => state === newest(form) && state.value === typed(form).toString();
const idle = (form) => dirty !== form && !newest(form);

// begin marks a state as under way: that of now, or one that is sent again.
function begin(form, again) {
  const state = again ?? Object.assign(document.createElement("input"), { type: "hidden", name: "was", value: typed(form) });
  if (!again) {
    if (states(form).length === mostUnsent) newest(form).remove();
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

const keep = (form, durability) => device.keep(pathOf(form), body(form, typed(form)), durability);

function schedule(wait = delay) {
  clearTimeout(timer);
  timer = setTimeout(save, wait);
}

const wait = (failures) => Math.min(60_000, 1000 * 2 ** failures);

// changed is called for each key.
export function changed(form) {
  dirty = form;
  schedule();
}

// changedAndTaken is called once the other scripts have taken the key, too: a tab that is
// killed right after it loses nothing.
export const changedAndTaken = (form, durability) => form && form === dirty && keep(form, durability);

// save sends what was typed. A request whose response got lost may have been
// stored: the newest is sent again as it was, so that few states are uncertain. A page
// that is left sends what is newer at once, if it can say what that replaces; else only
// the device has it.
export async function save(leaving = false) {
  const form = section();
  if (!form) return;
  const pending = newest(form);
  const full = states(form).length === mostUnsent;
  if (dirty === form) keep(form);
  if (device.unsent(here()).length && !leaving) return resend();
  if (leaving ? dirty !== form || full : pending?.dataset.sent === "now" || (!pending && dirty !== form)) return;
  clearTimeout(timer);
  const state = begin(form, leaving ? undefined : pending);
  const number = requests;
  const sent = state.value;
  const path = here();
  const more = device.leaves(path); // is on the device too
  const page = await post(form.getAttribute("action"), body(form, sent));
  const stored = page.querySelector?.("form[data-autosave]:not(:has([data-collision]))");
  if (!form.isConnected && here() !== path && !more && stored && sentAll(form, state)) device.forget(path);
  if (number < settled || !form.isConnected) return;
  if (typeof page === "string") {
    state.dataset.sent = "lost";
    say(page);
    return schedule(wait(failures++));
  }
  settled = number;
  failures = 0;
  const fresh = page.querySelector("form[data-autosave]");
  if (!fresh) return show(page);
  const base = form.querySelector("[name=was]");
  base.value = update(form, fresh, new URLSearchParams(sent), new URLSearchParams(base.value));
  for (const input of states(form)) if (input.dataset.number <= settled) input.remove();
  done(collides(form)); // update moved it there
  if (dirty === form) schedule();
}

// done shows that a save was stored. What another device changed, too, is kept until one is
// chosen.
function done(collided) {
  saved(collided);
  if (!collided && idle(section())) device.forget(here());
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
  if (page.querySelector("main[data-closed]")) device.forgetSession();
  return page;
}

// What a button sends is a state like another, which a save waits for: beside it, the
// list would seem to have been changed elsewhere.
export function buttonSends(ctx) {
  const { form } = ctx.request;
  pressed();
  if (!form?.matches("[data-autosave]")) return;
  if (dirty === form) keep(form);
  ctx.state = begin(form);
}

const failed = ({ status, response }) => status.startsWith("error") || [408, 429].includes(response?.status) || response?.status >= 500;

// What was typed since then stays in the answer, and so does the focus. If that is another
// page, it is saved as when the page is left. If it has no place there, it is sent as what
// an earlier load could not send.
export function buttonAnswered(ctx, { fragment }) {
  const { form } = ctx.request;
  if (!ctx.state || ctx.state.value === typed(form).toString() || failed(ctx)) return;
  const fresh = fragment.querySelector("form[data-autosave]");
  const path = pathOf(form);
  if (!fresh || pathOf(fresh) !== path) return save(true);
  dirty = undefined;
  ctx.carried = carry(form, new URLSearchParams(ctx.state.value), fresh);
  if (!ctx.carried) device.owe(path, body(form, typed(form)));
  if (!form.contains(document.activeElement)) return;
  for (const other of fragment.querySelectorAll("[autofocus]")) other.removeAttribute("autofocus");
}

// A form that could not be sent stays as it is. A section's is saved when that works
// again.
export function buttonDone(ctx) {
  const { state } = ctx;
  const { form: own } = ctx.request;
  const status = ctx.response?.status;
  if (state && status < 400 && sentAll(own, state)) device.forget(pathOf(own));
  if (here() !== device.earlier.path) recall();
  const form = section();
  if (!form && status < 400) clearRefusal();
  if (!failed(ctx)) {
    if (state) settled = Math.max(settled, state.dataset.number);
    if (ctx.carried) dirty = form;
    if (device.unsent(here()).length) resend();
    else if (dirty && dirty === form) schedule();
    return;
  }
  if (state) state.dataset.sent = "lost";
  const button = [ctx.request.submitter, ctx.sourceElement].find((element) => element?.matches("button"));
  if (!status && button) undone(button);
  else if (!form && own) refuse();
  if (!form) return;
  dirty = form;
  say(status ? "failed" : "offline");
  schedule(wait(failures));
}

// resend sends what the device kept of this page and shows it merged.
export async function resend() {
  const form = section();
  const { path, unsent: waiting, parked } = device.earlier;
  if (!form || resending || path !== here()) return;
  resending = true;
  let page;
  while (waiting.length) {
    page = await post(form.getAttribute("action"), waiting[0]);
    if (typeof page === "string" || !taken(page)) break;
    const sent = waiting.shift();
    if (collides(page)) parked.push(sent);
  }
  resending = false;
  if (path !== here()) {
    if (waiting.length + parked.length === 0 && idle(form)) device.forget(path);
    return resend();
  }
  if (typeof page === "string") {
    say(page);
    return schedule(wait(failures++));
  }
  failures = 0;
  if (page && !taken(page)) {
    if (dirty === form) keep(form);
    return show(page);
  }
  if (!idle(form)) return schedule();
  if (!page) return;
  if (!form.isConnected) return dirty === section() ? schedule() : device.forget(here());
  const collided = collides(page);
  if (collided) parked.pop(); // is shown now
  show(page);
  if (section()) done(collided);
}

// deliver sends what the device kept of sections, from the list of them or the
// check page, so that no one signs without it. What collides waits for its section.
async function deliver() {
  let stored = 0;
  for (const path of (await device.paths()) ?? []) {
    const waiting = await device.read(path);
    while (waiting.length) {
      const page = await post(path, waiting[0]);
      if (typeof page === "string" || !taken(page) || collides(page)) break;
      waiting.shift();
      stored++;
    }
    device.write(path, waiting);
  }
  if (!stored || section() || document.activeElement.matches("input")) return;
  const fresh = await fetch(location.href).then(
    (answer) => answer.text(),
    () => "",
  );
  if (fresh && !section()) show(new DOMParser().parseFromString(fresh, "text/html"));
}

// recall sends what earlier loads of the page left.
export async function recall() {
  if (document.querySelector("main[data-closed]")) return device.forgetSession();
  const path = here();
  if (!path.startsWith("/f/")) return; // a page of no session
  const form = section();
  await device.recall(path, form);
  if (!form) return deliver();
  if (device.unsent(path).length) resend();
}
