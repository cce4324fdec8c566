// Keys that are pressed outside a field: g and a letter lead to a page of the menu, j and k along a list, and
// ? says which keys there are. They can be turned off, for those who talk to their computer
// (WCAG 2.1.4).
const setting = "keys-off";
const patience = 1500; // ms from g to its letter

let afterG = 0;

function off() {
  try {
    return localStorage.getItem(setting) === "yes";
  } catch {
    return false; // the browser keeps nothing
  }
}

// isKey reports whether a key was pressed for itself: not with others, nor in a field.
export function isKey(event) {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  return !typing && !document.querySelector("dialog[open]") && !event.metaKey && !event.ctrlKey && !event.altKey && !event.defaultPrevented && !off();
}

function along(step) {
  const rows = [...document.querySelectorAll(".list tbody tr")].map((row) => row.querySelector("a")).filter(Boolean);
  const here = rows.findIndex((link) => link.closest("tr").contains(document.activeElement));
  rows[here < 0 ? 0 : Math.min(Math.max(here + step, 0), rows.length - 1)]?.focus();
}

const places = () => [...document.querySelectorAll(".dash-nav [data-key]")];

function help() {
  const dialog = document.createElement("dialog");
  dialog.className = "shortcuts";
  dialog.setAttribute("aria-labelledby", "shortcuts-title");
  const keys = [["/", "Search, go to a page or setting"], ["j", "Next row of a list"], ["k", "Row before"], ["x", "Choose the row"], ["Enter", "Open the row"], ["?", "Show these keys"]];
  for (const link of places()) keys.push([`g ${link.dataset.key}`, link.textContent.trim()]);
  dialog.innerHTML =
    '<h2 id="shortcuts-title">Keys</h2><dl></dl>' +
    '<label class="check"><input type="checkbox"> <span>Use single keys on this device</span></label>' +
    '<form method="dialog"><button class="button">Close</button></form>';
  for (const [key, what] of keys) {
    const row = document.createElement("div");
    row.append(document.createElement("dt"), document.createElement("dd"));
    for (const one of key.split(" ")) row.firstChild.append(Object.assign(document.createElement("kbd"), { textContent: one }), " ");
    row.lastChild.textContent = what;
    dialog.querySelector("dl").append(row);
  }
  const box = dialog.querySelector("input");
  box.checked = !off();
  box.addEventListener("change", () => localStorage.setItem(setting, box.checked ? "no" : "yes"));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

for (const item of document.querySelectorAll("[data-shortcuts]")) {
  item.hidden = false;
  item.firstElementChild.addEventListener("click", help);
}

document.addEventListener("keydown", (event) => {
  if (!isKey(event)) return;
  if (Date.now() - afterG < patience) {
    afterG = 0;
    const to = places().find((link) => link.dataset.key === event.key);
    if (to) {
      event.preventDefault();
      to.click();
    }
    return;
  }
  if (event.key === "g") afterG = Date.now();
  else if (event.key === "j") along(1);
  else if (event.key === "k") along(-1);
  else if (event.key === "x") document.activeElement.closest(".list tr")?.querySelector(".list-pick input")?.click();
  else if (event.key === "?") help();
});
