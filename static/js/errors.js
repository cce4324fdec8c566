// Links of an error summary go to their field, with its label in view: the browser
// alone would scroll the input to the top edge and hide the label.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".error-summary a[href^='#']");
  if (!link) return;
  const field = document.getElementById(decodeURIComponent(link.hash.slice(1)));
  if (!field) return;
  event.preventDefault();
  field.focus({ preventScroll: true });
  (field.closest(".field, fieldset") ?? field).scrollIntoView({ block: "start" });
});
