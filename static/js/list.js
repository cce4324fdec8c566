// Lists: a choice applies at once, and times tell how long ago they were.

function address(form) {
  const set = [...new FormData(form)].filter(([, value]) => value);
  const query = new URLSearchParams(set).toString();
  return form.getAttribute("action") + (query && "?" + query);
}

// Choosing by key passes over options, so it waits for the last of them.
let waiting;
document.addEventListener("change", (event) => {
  const form = event.target.closest("form.filters");
  if (!form || !event.target.matches("select, [data-date]")) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    location.assign(address(form) + "#" + event.target.id); // which gets the focus
  }, 400);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.filters")) return;
  event.preventDefault(); // an address without what is empty
  clearTimeout(waiting);
  location.assign(address(event.target));
});

const chosen = document.getElementById(location.hash.slice(1));
if (chosen?.closest("form.filters")) {
  chosen.closest("details")?.setAttribute("open", "");
  chosen.focus();
  history.replaceState(history.state, "", location.pathname + location.search);
}

// How many rows are chosen, also after the page has followed a change. The box in the head
// chooses all of them.
const boxes = () => [...document.querySelectorAll(".list-pick [name=session]")];
function countChosen() {
  const all = document.querySelector("[data-choose-all]");
  if (!all) return;
  const n = boxes().filter((box) => box.checked).length;
  document.querySelector("[data-chosen]").textContent = `${n} chosen`;
  all.checked = n > 0 && n === boxes().length;
  all.indeterminate = n > 0 && !all.checked;
}
document.addEventListener("change", (event) => {
  if (!event.target.matches(".list-pick input")) return;
  if (event.target.matches("[data-choose-all]")) for (const box of boxes()) box.checked = event.target.checked;
  countChosen();
});
document.addEventListener("htmx:after:swap", countChosen);
addEventListener("pageshow", countChosen); // with what the browser has kept

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.ago");
  if (!button || !navigator.clipboard) return;
  const time = button.firstElementChild;
  const text = time.textContent;
  if (text === "Copied") return;
  try {
    await navigator.clipboard.writeText(button.title);
  } catch {
    return;
  }
  time.textContent = "Copied";
  setTimeout(() => (time.textContent = text), 1500);
});

// Only times that were shown as "ago" change while the page is open.
setInterval(() => {
  for (const time of document.querySelectorAll(".ago time")) {
    if (!/ago$|^just/.test(time.textContent)) continue;
    const minutes = Math.floor((Date.now() - Date.parse(time.dateTime)) / 60_000);
    time.textContent = minutes < 1 ? "just now" : minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
  }
}, 30_000);
