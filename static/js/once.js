// A form with data-once is sent once: the second click of a double click would
// drop the answer to the first.
document.addEventListener("submit", (event) => {
  const { dataset } = event.target;
  if (dataset.once === "sent") event.preventDefault();
  if ("once" in dataset) dataset.once = "sent";
});

// A page that the browser kept for its Back button can be sent again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("[data-once]").forEach((form) => (form.dataset.once = ""));
});
