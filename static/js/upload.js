// Reports a file that is too big before it is sent over a slow connection. The
// server checks again.
document.addEventListener("change", (event) => {
  const input = event.target;
  if (!(input instanceof HTMLInputElement) || input.type !== "file") return;
  const limit = Number(input.dataset.maxBytes);
  const file = input.files?.[0];
  const tooBig = Boolean(file && limit && file.size > limit);
  input.setCustomValidity(tooBig ? input.dataset.tooBig : "");
  if (tooBig) input.reportValidity();
});
