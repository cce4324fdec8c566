// A page that shows a secret once (data-unsaved) asks before people leave it, unless
// they copied the secret or use the page's own link.
const holder = document.querySelector("[data-unsaved]");
if (holder) {
  let kept = false;
  holder.addEventListener("click", (event) => {
    if (event.target.closest(`[data-copy="${holder.dataset.unsaved}"], a`)) kept = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!kept) event.preventDefault();
  });
}

// A form asks before people leave it with an edit that wasn't saved. What differs from what the
// page came with is an edit, and so is what the server refused. Left out are searches, forms that
// end something (a red button) or do something once (data-acts), an auditor's, which can't be
// saved, and proofs of who someone is.
const edits = new Set(
  document.querySelectorAll(".dash-content main:not(.only-reads) form.fields:not([data-acts], :has(.button-danger))"),
);
const proofs = ["current-password", "one-time-code"];
const shown = ({ options }) => Math.max(0, [...options].findIndex((one) => one.defaultSelected));
const differs = (field) =>
  field.ariaInvalid === "true" ||
  field.checked !== field.defaultChecked ||
  (field.options ? field.selectedIndex !== shown(field) : field.value !== field.defaultValue);
const named = (form) =>
  [...form.elements].filter((field) => field.name && field.tagName !== "BUTTON" && !proofs.includes(field.autocomplete));
if (edits.size) {
  let sent; // the form that is being saved
  document.addEventListener("submit", (event) => {
    if (!event.submitter?.formTarget) sent = event.target; // a preview saves nothing
  });
  window.addEventListener("beforeunload", (event) => {
    if ([...edits].some((form) => form !== sent && named(form).some(differs))) event.preventDefault();
  });
  const renew = () => (sent = undefined); // as in once.js
  window.navigation?.addEventListener("navigateerror", renew);
  window.addEventListener("pageshow", renew);
}
