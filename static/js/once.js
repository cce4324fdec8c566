// A form with data-once is sent once: the second click of a double click would
// cancel the response to the first.
document.addEventListener("submit", (event) => {
  const { dataset } = event.target;
  if (dataset.once === "sent") event.preventDefault();
  if ("once" in dataset) dataset.once = "sent";
});

// A page from the Back button's cache can be sent again.
window.addEventListener("pageshow", () => {
  document.querySelectorAll("[data-once]").forEach((form) => (form.dataset.once = ""));
});
