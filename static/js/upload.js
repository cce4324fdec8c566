// Sends the files of the documents page one after the other, each with its progress
// and a button that cancels it. It says what is too large or of a wrong type before
// anything is sent; the server checks again.
const queue = []; // of {file, row, button, attempts}: the first is being sent, the others wait
let active = false; // a file is being sent, or the next one is about to be
let request = null; // the latest that sent a file
let timer = 0; // until the next one
let held = null; // the button that was pressed while files were sent

const byId = (id) => document.getElementById(id);

// The server takes one file at a time and ends an upload that was cancelled, or that
// another tab sends, within moments.
const pause = 500; // milliseconds
const attempts = 4; // for one file

// Without script the input takes one file, as the server does.
function allowSeveral() {
  const picker = byId("file");
  if (picker) picker.multiple = true;
}
allowSeveral();
document.addEventListener("htmx:after:swap", () => {
  allowSeveral();
  drop();
});

// drop ends the queue if its page is gone: Back shows another one in the same document.
function drop() {
  if (queue.length === 0 || byId("uploading")) return;
  request?.abort();
  clearTimeout(timer);
  queue.length = 0;
  active = false;
  stay();
}

document.addEventListener("change", (event) => {
  const input = event.target;
  const picker = byId("file");
  if (input.type !== "file" || !picker?.form.contains(input)) return;
  byId("uploading").querySelectorAll(".is-failed, .is-again").forEach((row) => row.remove());
  say([...input.files].map((file) => add(file, picker)).join(" "));
  input.value = ""; // the next choice may be the same file
  if (!active) send();
});

// Buttons wait until all files are sent.
document.addEventListener("submit", (event) => {
  if (queue.length === 0) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  stay();
  held = event.submitter;
  held?.setAttribute("aria-disabled", "true");
  wait();
}, { capture: true });

// A person's choice is stored, also if it is what the page guessed. The choice for the
// rest goes to all that have none.
document.addEventListener("change", ({ target }) => {
  if (!target.matches?.("#stored select")) return;
  const shown = byId(`${target.name}.was`);
  if (shown) shown.value = "";
  delete target.dataset.unseen;
  delete target.dataset.rest;
  if (!target.closest("#rest")) return;
  for (const select of byId("stored").querySelectorAll(".file-row select")) {
    if (select.value !== "" && !select.dataset.rest) continue;
    select.value = target.value;
    select.dataset.rest = "true"; // the arrow keys choose one after the other
  }
}, { capture: true });

document.addEventListener("click", ({ target }) => {
  if (!target.closest("#waiting button")) return;
  const button = held;
  stay();
  button?.focus();
});

// wait says how many files the pressed button waits for.
function wait() {
  const line = byId("waiting");
  if (!held || !line || queue.length === 0) return;
  const { one, many } = line.dataset;
  line.hidden = false;
  line.querySelector("p").textContent = queue.length === 1 ? one : many.replace("{count}", queue.length);
  say(line.querySelector("p").textContent);
}

// unseen are the guesses that came after the button was pressed.
const unseen = () => [...(byId("stored")?.querySelectorAll("[data-unseen]") ?? [])];

// stay ends the wait of the pressed button.
function stay() {
  for (const select of unseen()) delete select.dataset.unseen;
  held?.removeAttribute("aria-disabled");
  held = null;
  if (byId("waiting")) byId("waiting").hidden = true;
}

window.addEventListener("beforeunload", (event) => {
  if (queue.length > 0) event.preventDefault();
});

// say has a screen reader read the text.
function say(text) {
  if (text.trim()) byId("status").textContent = text;
}

// add lists a file and queues it, or returns what is wrong with it.
function add(file, picker) {
  const row = byId("upload-row").content.firstElementChild.cloneNode(true);
  const button = row.querySelector("button");
  row.querySelector(".file-name").textContent = file.name;
  button.querySelector("span").textContent = file.name;
  row.querySelector("progress").setAttribute("aria-label", file.name);
  byId("uploading").append(row);
  const item = { file, row, button, attempts: 0, category: byId("category")?.value ?? "" };
  const message = problem(file, picker);
  if (message) return fail(item, message);
  queue.push(item);
  wait();
  button.addEventListener("click", () => cancel(item));
  return "";
}

function problem({ name, size, type }, { accept, dataset }) {
  const accepted = accept.split(",");
  const ending = name.slice(name.lastIndexOf(".")).toLowerCase();
  if (!accepted.includes(ending) && !accepted.includes(type)) return dataset.wrongType;
  if (size === 0) return dataset.empty;
  if (size > Number(dataset.maxBytes)) return dataset.tooLarge;
  const stored = byId("stored").querySelectorAll(".file-row").length;
  return stored + queue.length >= Number(dataset.maxFiles) ? dataset.tooMany : "";
}

// fail shows why a file isn't sent and returns it as a sentence.
function fail({ file, row, button }, message) {
  row.classList.add("is-failed");
  const text = document.createElement("span");
  text.textContent = message;
  row.querySelector(".upload-progress").replaceChildren(text);
  row.querySelector(".upload-progress").className = "error";
  passFocus(button, () => button.remove());
  return `${file.name}: ${message}.`;
}

// passFocus changes the page. If the element had the focus, it goes to the next file's
// button, else to the choice of files.
function passFocus(element, change) {
  const focused = element.contains(document.activeElement);
  change();
  if (focused) (byId("uploading")?.querySelector("button:not([hidden])") ?? byId("file") ?? byId("uploaded")).focus();
}

function send() {
  drop(); // the last place may have gone to another tab's file
  const [item] = queue;
  active = Boolean(item);
  if (!item) return finish();
  const picker = byId("file");
  const body = new FormData();
  body.append("action", "upload");
  body.append("category", item.category);
  body.append("file", item.file);
  item.button.hidden = false;
  request = new XMLHttpRequest();
  request.upload.onprogress = ({ loaded, total }) => {
    const percent = Math.floor((100 * loaded) / total);
    item.row.querySelector("progress").value = percent;
    item.row.querySelector("progress + span").textContent = `${percent}%`;
  };
  request.upload.onload = () => passFocus(item.button, () => (item.button.hidden = true)); // too late to cancel
  request.onload = () => answered(item, picker.dataset);
  request.onerror = () => end(item, picker.dataset.failed);
  request.open("POST", picker.form.getAttribute("action")); // form.action is the buttons
  request.send(body);
}

// answered reads the page that the server answered with.
function answered(item, { running, failed }) {
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  const message = page.querySelector("#error-summary a")?.textContent ?? "";
  const busy = Number(request.getResponseHeader("Retry-After"));
  const refused = request.status >= 400 && ![404, 410].includes(request.status);
  if ((busy || message === running) && ++item.attempts < attempts) {
    timer = setTimeout(send, busy * 1000 || pause);
  } else if (message || busy || refused) {
    end(item, message || failed);
  } else if (page.getElementById("stored")) {
    store(page);
    if (page.getElementById("again")) again(item, page.getElementById("again").textContent);
    end(item, "");
  } else {
    queue.length = 0;
    location.reload(); // the session is closed
  }
}

// again leaves beside a file that it was added before.
function again({ row }, text) {
  const told = row.cloneNode(true);
  told.classList.add("is-again");
  told.querySelector(".upload-progress").textContent = text;
  told.querySelector("button").remove();
  row.before(told);
}

// store shows the documents of the server's page. The focus and what is being chosen
// stay.
function store(page) {
  const shown = byId("stored").querySelector(".files");
  const rows = page.querySelectorAll("#stored .file-row");
  page.querySelectorAll("[autofocus]").forEach((element) => element.removeAttribute("autofocus"));
  const added = rows.length - (shown?.children.length ?? -1);
  const guess = rows[rows.length - 1]?.querySelector("select:has(+ .hint)");
  if (held && guess) guess.dataset.unseen = "true";
  if (added === 1) shown.append(rows[rows.length - 1]);
  else if (added !== 0) byId("stored").replaceChildren(...page.getElementById("stored").children);
  if ((added === 1 || added === 0) && !byId("rest").contains(document.activeElement)) {
    byId("rest").replaceChildren(...page.getElementById("rest").children);
  }
  if (!page.getElementById("file")) byId("adding").replaceChildren(...page.getElementById("adding").children);
  say(page.getElementById("status").textContent);
}

// end continues after a file that is stored or failed.
function end(item, message) {
  queue.shift();
  wait();
  if (message) say(fail(item, message));
  else passFocus(item.row, () => item.row.remove());
  send();
}

function cancel(item) {
  const first = queue[0] === item;
  queue.splice(queue.indexOf(item), 1);
  passFocus(item.row, () => item.row.remove());
  say(byId("file").dataset.cancelled);
  wait();
  if (!first) return;
  request.abort();
  clearTimeout(timer);
  timer = setTimeout(send, pause);
}

// finish presses the button that waited, unless a file failed or Continue would store a guess
// that no one has seen.
function finish() {
  const failed = [...(byId("uploading")?.querySelectorAll(".is-failed") ?? [])];
  const button = held;
  const [guess] = button?.value === "continue" ? unseen() : [];
  stay();
  if (button && failed.length) {
    failed[0].focus();
    say(failed.map((row) => `${row.querySelector(".file-name").textContent}: ${row.querySelector(".error").textContent}.`).join(" "));
  } else if (guess) {
    guess.focus();
  } else if (button?.isConnected) {
    button.form.requestSubmit(button);
  }
}
