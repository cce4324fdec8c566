// Ticks of what a customer has: "None of these" and the others exclude each other,
// a tick leads to its first question, and unticking clears what was entered.
document.addEventListener("change", ({ target }) => {
  if (!target.matches?.(".kind > h2 input, .kind > .choice input")) return;
  const kind = target.closest(".kind");
  const questions = [...kind.querySelectorAll(".kind-questions :is(input, select:not([data-period])):not(.later *)")];
  if (target.checked) {
    const none = target.value === "none";
    for (const other of target.form.querySelectorAll("input[name=has]")) {
      if (other !== target && (other.value === "none") !== none && other.checked) other.click();
    }
    questions[0]?.focus();
    return;
  }
  for (const tick of kind.querySelectorAll(".later :checked")) tick.checked = false;
  // A select starts with its first option: an empty one, or what most customers choose.
  const entered = questions.filter((input) => (input.type === "radio" ? input.checked : (input.selectedIndex ?? input.value.length) > 0));
  if (entered.length === 0) return;
  if (!confirm(kind.dataset.clear)) {
    target.checked = true;
    return;
  }
  for (const input of entered) {
    if (input.type === "radio") input.checked = false;
    else if (input.options) input.selectedIndex = 0;
    else input.value = "";
  }
  document.querySelector("[data-filled-in]")?.parentElement.remove(); // it could be about what is gone
  entered[0].dispatchEvent(new Event("input", { bubbles: true }));
});

// A choice that is tapped leads to the question after it, if that waits to be typed, as the
// declaration's tick leads to the signature. Keys show the focus, and stay: Tab is next.
document.addEventListener("change", ({ target }) => {
  const leads = (target.type === "radio" || target.id === "accepted" && target.checked) && !target.matches(":focus-visible");
  if (!leads) return;
  const fields = [...target.form.querySelectorAll(".field")];
  const next = fields[fields.indexOf(target.closest(".field")) + 1]?.querySelector("input");
  if (next?.value === "") next.focus();
});
