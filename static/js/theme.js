// The theme changes at once, without a new page. What was chosen last is saved last.
let saved = Promise.resolve();
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.theme, [data-theme-form]");
  const chosen = event.submitter;
  if (!form || !chosen) return;
  event.preventDefault();
  document.documentElement.dataset.theme = chosen.value;
  document.querySelector("meta[name=color-scheme]").content = chosen.value || "light dark";
  for (const one of form.querySelectorAll("button")) one.setAttribute("aria-pressed", one === chosen);
  form.ariaBusy = "true";
  const body = new URLSearchParams({ theme: chosen.value });
  const save = (saved = saved
    .then(() => fetch(form.action, { method: "POST", body, redirect: "manual", keepalive: true }))
    .catch(() => {}) // the page shows the theme; only the next page doesn't
    .then(() => save === saved && (form.ariaBusy = "false")));
});
