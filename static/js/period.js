// The period that was chosen last becomes that of the amounts after it that are
// still empty: who is paid fortnightly gives all amounts so. Those whose bills mostly
// come in another one keep it.
document.addEventListener("change", ({ target }) => {
  if (!target.matches?.("select[data-period]")) return;
  const all = [...target.form.querySelectorAll("select[data-period]")];
  for (const select of all.slice(all.indexOf(target) + 1)) {
    if (!select.dataset.period && !document.getElementById(select.id.replace(/\.period$/, "")).value) select.value = target.value;
  }
});
