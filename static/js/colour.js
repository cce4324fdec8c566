// The picker and the text field of a colour say the same, and the form's first page beside them
// is drawn again with what is typed, with what is said of the colour.
const picker = document.querySelector("[data-colour]");
if (picker) {
  const field = document.getElementById(picker.dataset.colour);
  const frame = document.querySelector("iframe[name=preview]");
  picker.hidden = false;
  picker.addEventListener("input", () => (field.value = picker.value));
  field.addEventListener("input", () => {
    const digits = /^\s*#?([0-9a-f]{6})\s*$/i.exec(field.value);
    if (digits) picker.value = "#" + digits[1];
  });
  field.form?.addEventListener("change", () => field.form.requestSubmit(field.form.querySelector("[formtarget=preview]")));
  frame.addEventListener("load", () => {
    const said = frame.contentDocument?.querySelector("meta[name=colour]");
    if (said) document.getElementById("colour-words").textContent = said.content;
  });
}
