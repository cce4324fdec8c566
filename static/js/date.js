// A whole date that is pasted into one of its three inputs is spread over them at once.
// The server reads it in the same way, and in more.
document.addEventListener("input", ({ target, inputType }) => {
  const inputs = inputType === "insertFromPaste" && target.closest(".date-parts")?.querySelectorAll("input");
  const parts = inputs && target.value.match(/\p{L}+|\d+/gu);
  if (parts?.length !== 3) return;
  if (/^\d{4}$/.test(parts[0])) parts.reverse();
  inputs.forEach((input, i) => (input.value = parts[i]));
});
