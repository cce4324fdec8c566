// A postcode abroad can have letters, so its keyboard has them, too.
document.addEventListener("change", ({ target }) => {
  if (target.id !== "address.country") return;
  target.form.elements["address.postcode"].inputMode = target.value === "preset" ? "numeric" : "text";
});
