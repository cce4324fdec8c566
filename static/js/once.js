// A form with data-once is sent once: the second click of a double click would
// cancel the response to the first.
const wait = 10_000; // then the response is no longer expected
document.addEventListener("submit", (event) => {
  const { dataset } = event.target;
  if (!("once" in dataset) || event.submitter?.hasAttribute("data-again")) return; // which leaves the page as it is
  if (Date.now() - dataset.once < wait) event.preventDefault();
  else dataset.once = Date.now();
});

// A page whose request was stopped, or that is from the Back button's cache, can be sent
// again.
const renew = () => document.querySelectorAll("[data-once]").forEach((form) => (form.dataset.once = ""));
window.navigation?.addEventListener("navigateerror", renew);
window.addEventListener("pageshow", renew);

// A page that shows what a form made would make another when it is loaded again. Its address
// becomes that of the way on.
const wayOn = document.querySelector("a[data-reload]");
if (wayOn) history.replaceState(null, "", wayOn.href);
