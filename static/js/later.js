// "I don't know yet" empties its field and gives the answer back if it is unticked.
// An answer unticks it.
const answers = (field) => [...field.querySelectorAll("input:not([type=hidden], .later *), select:not([data-period])")];

document.addEventListener("change", ({ target }) => {
  if (!target.matches?.(".later input")) return;
  for (const input of answers(target.closest(".field"))) {
    const radio = input.type === "radio";
    if (target.checked) {
      input.dataset.kept = radio ? input.checked || "" : input.value;
      if (radio) input.checked = false;
      else input.value = "";
    } else if (input.dataset.kept) {
      if (radio) input.checked = true;
      else input.value = input.dataset.kept;
    }
  }
});

document.addEventListener("input", ({ target }) => {
  const field = target.closest?.(".field");
  const tick = field?.querySelector(":scope > .later input");
  if (tick && answers(field).includes(target)) tick.checked = false;
});
