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

// A form whose edits count (data-edits) asks before people leave it with one that wasn't
// saved. What differs from what the page came with is an edit, and so is what the server
// refused. An auditor's forms can't be saved.
const edits = new Set(document.querySelectorAll("main:not(.only-reads) form[data-edits]"));
const differs = (field) =>
  field.ariaInvalid === "true" ||
  field.checked !== field.defaultChecked ||
  (field.options ? [...field.options].some((one) => one.selected !== one.defaultSelected) : field.value !== field.defaultValue);
const named = (form) => [...form.elements].filter((field) => field.name && field.tagName !== "BUTTON");
if (edits.size) {
  document.addEventListener("submit", (event) => {
    if (!event.submitter?.formTarget) edits.delete(event.target); // a preview saves nothing
  });
  window.addEventListener("beforeunload", (event) => {
    if ([...edits].some((form) => named(form).some(differs))) event.preventDefault();
  });
}
