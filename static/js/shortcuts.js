// Keys that are pressed outside a field: g and a letter lead to a page of the menu, j and k
// along a list, x chooses its row, and ? says which keys there are.
const patience = 1500; // ms from g to its letter

let afterG = 0;

// isKey reports whether a key was pressed for itself: not with others, nor in a field, and
// not where keys are turned off.
export function isKey(event) {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  return !typing && !event.metaKey && !event.ctrlKey && !event.altKey && !event.defaultPrevented && document.body.dataset.keys !== "off";
}

// What a row leads to, else what can be done there.
const target = (row) => row.querySelector("a") ?? [...row.querySelectorAll("summary, button")].find((one) => one.checkVisibility());

function along(step) {
  const rows = [...document.querySelectorAll(":is(.list, .table) tbody tr")].map(target).filter(Boolean);
  const here = rows.findIndex((one) => one.closest("tr").contains(document.activeElement));
  rows[here < 0 ? 0 : Math.min(Math.max(here + step, 0), rows.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  if (!isKey(event)) return;
  if (Date.now() - afterG < patience) {
    afterG = 0;
    const to = [...document.querySelectorAll(".dash-nav [data-key]")].find((link) => link.dataset.key === event.key);
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
  else if (event.key === "?") document.getElementById("shortcuts")?.togglePopover();
});
