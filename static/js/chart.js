// A day's value stands below the chart while the pointer or the focus is on it; the
// arrow keys go from day to day. A click or Enter opens the day's list, if it has one; a
// finger's touch shows the value, and the table below has the list.
function show(event) {
  const day = event.target.closest?.(".chart-day");
  if (day) document.querySelector(".chart-value").textContent = day.getAttribute("aria-label");
}
document.addEventListener("pointerover", show);
document.addEventListener("focusin", show);
// A part that follows a change comes with the last day's value.
document.addEventListener("htmx:after:swap", () => show({ target: document.querySelector(".chart-day:focus, .chart-day:hover") ?? document }));

function open(event) {
  if (event.pointerType === "touch") return;
  const list = event.target.closest?.(".chart-day")?.dataset.opens;
  if (list) location.assign(list);
}
document.addEventListener("click", open);

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter") open(event);
  const day = event.target.closest?.(".chart-day");
  if (!day || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
  event.preventDefault();
  const days = [...document.querySelectorAll(".chart-day")];
  const at = days.indexOf(day);
  const next = { ArrowLeft: days[at - 1], ArrowRight: days[at + 1], Home: days[0], End: days.at(-1) }[event.key];
  if (!next) return;
  day.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
});
