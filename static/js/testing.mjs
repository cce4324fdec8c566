// What the tests of scripts have in place of a browser: a page with one form, a device that
// keeps requests, and a server whose answers a test gives one by one.
import { register } from "node:module";

register("data:text/javascript," + encodeURIComponent(`export const resolve = (name, context, next) =>
  name.startsWith("htmx.org") ? { url: "data:text/javascript,export default { process() {} }", shortCircuit: true } : next(name, context)`));

class Input {
  dataset = {};
  #value;
  constructor(form, name, value) {
    Object.assign(this, { form, name, value });
  }
  get value() {
    return this.#value;
  }
  set value(value) {
    this.#value = String(value);
  }
  remove() {
    this.form.inputs = this.form.inputs.filter((input) => input !== this);
  }
  // The inputs of one field have its name, before a point.
  closest() {
    const inputs = this.form.inputs.filter(({ name }) => name.split(".")[0] === this.name.split(".")[0]);
    return { querySelectorAll: () => inputs, contains: (other) => inputs.includes(other) };
  }
}

export class Form {
  isConnected = true;
  constructor(answers) {
    this.inputs = Object.entries(answers).map(([name, value]) => new Input(this, name, value));
    this.append(new Input(this, "was", new URLSearchParams(answers)));
  }
  get elements() {
    return Object.assign([...this.inputs], Object.fromEntries(this.inputs.map((input) => [input.name, input])));
  }
  get answers() {
    return Object.fromEntries(this.inputs.filter(({ name }) => name !== "was").map(({ name, value }) => [name, value]));
  }
  append(input) {
    input.form = this;
    this.inputs.push(input);
  }
  querySelectorAll(selector) {
    if (selector === "[data-sent]") return this.inputs.filter(({ dataset }) => dataset.sent);
    return selector === "[name=was]" ? this.inputs.filter(({ name }) => name === "was") : [];
  }
  querySelector = (selector) => this.querySelectorAll(selector)[0] ?? null;
  getAttribute = () => "/f/session/income";
}

// open shows a form with the answers.
export function open(answers) {
  const form = new Form(answers);
  const status = { children: [{ textContent: "" }, {}], dataset: { saved: "saved", offline: "offline", failed: "failed" } };
  Object.assign(document, {
    form,
    activeElement: null,
    querySelector: (selector) => ({ "form[data-autosave]": form, ".save-status": status })[selector] ?? null,
    said: () => status.children[0].textContent,
  });
  return form;
}

// A page is the server's answer with a form.
const page = (form) => ({ querySelector: (selector) => (selector.startsWith("form[data-autosave]") ? form : null) });

export const posts = []; // the requests without an answer, oldest first: { url, was, answers, answer, lose }
export const kept = new Map(); // what the device keeps, by path
export const device = { opened: 0, broken: false, gone: false };

globalThis.location = new URL("https://form.example/f/session/income");
globalThis.document = {
  addEventListener() {},
  documentElement: { lang: "en" },
  createElement: () => new Input(),
  getElementById: () => ({ replaceChildren() {} }),
};
globalThis.FormData = class {
  constructor(form) {
    this[Symbol.iterator] = () => form.inputs.map(({ name, value }) => [name, value]).values();
  }
};
globalThis.DOMParser = class {
  parseFromString = (text) => page(text === "Welcome to our Wi-Fi" ? null : new Form(JSON.parse(text)));
};
globalThis.fetch = (url, { body }) =>
  new Promise((done, fail) => {
    const answers = Object.fromEntries(new URLSearchParams(body));
    const was = new URLSearchParams(body).getAll("was");
    delete answers.was;
    delete answers.action;
    const answer = (stored = answers) => done({ status: 200, text: async () => (typeof stored === "string" ? stored : JSON.stringify(stored)) });
    posts.push({ url, was, answers, answer, lose: () => fail(new Error("lost")) });
  });

globalThis.IDBKeyRange = { bound: (from, to) => (path) => path >= from && path <= to };
globalThis.indexedDB = {
  open() {
    device.opened++;
    const opening = {};
    setImmediate(() => (device.gone ? opening.onerror() : opening.onsuccess()));
    opening.result = { transaction };
    return opening;
  },
};

function transaction() {
  if (device.broken) throw new Error("closed in the background");
  const one = { commit() {} };
  setImmediate(() => one.oncomplete());
  one.objectStore = () => ({
    put: (requests, path) => kept.set(path, requests),
    get: (path) => ({ result: kept.get(path) }),
    getAllKeys: (within) => ({ result: [...kept.keys()].filter(within) }),
    delete: (which) => [...kept.keys()].filter(typeof which === "function" ? which : (path) => path === which).map((path) => kept.delete(path)),
  });
  return one;
}

// settled waits until nothing moves but what waits for an answer or a timer.
export async function settled() {
  for (let i = 0; i < 20; i++) await new Promise((done) => setImmediate(done));
}
