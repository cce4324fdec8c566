// A field for a date takes words, which the server reads. The button beside it opens the
// browser's calendar, which writes a day as the page does.
document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-calendar]");
  if (!button) return;
  const calendar = button.nextElementSibling;
  const shown = new Date(button.previousElementSibling.value);
  if (!isNaN(shown)) calendar.valueAsNumber = shown - shown.getTimezoneOffset() * 60_000;
  calendar.showPicker();
});
document.addEventListener("change", ({ target }) => {
  if (!target.matches(".date-calendar") || !target.value) return;
  const field = target.parentElement.firstElementChild;
  const day = { day: "numeric", month: "short", year: "numeric" };
  const time = target.type === "date" ? {} : { hour: "numeric", minute: "2-digit" };
  field.value = new Date(target.value + (target.type === "date" ? "T00:00" : "")).toLocaleString("en-AU", { ...day, ...time });
  field.dispatchEvent(new Event("change", { bubbles: true }));
});
