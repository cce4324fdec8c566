// A new key has full access or what is ticked. A tick chooses the latter, and full access
// unticks all: the server refuses both together.
document.addEventListener("change", ({ target }) => {
  if (target.name === "permissions" && target.checked) target.form.elements.access.value = "restricted";
  if (target.name !== "access" || target.value !== "full") return;
  for (const tick of target.form.querySelectorAll("[name=permissions]")) tick.checked = false;
});
