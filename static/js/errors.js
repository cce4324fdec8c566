// Error summary links go to the field they name, with its label in view: the
// browser alone would put the input at the very top edge and hide the label.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".error-summary a[href^='#']");
  if (!link) return;
  const field = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (!field) return;
  event.preventDefault();
  field.focus({ preventScroll: true });
  (field.closest(".field, fieldset") ?? field).scrollIntoView({ block: "start" });
});
