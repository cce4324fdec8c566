// A whole date that is pasted into one of its three inputs is spread over them at once.
// The server reads it in the same way, and in more.
document.addEventListener("input", ({ target, inputType }) => {
  const inputs = inputType === "insertFromPaste" && target.closest(".date-parts")?.querySelectorAll("input");
  const parts = inputs && target.value.match(/\p{L}+|\d+/gu);
  if (parts?.length !== 3) return;
  if (/^\d{4}$/.test(parts[0])) parts.reverse();
  if (/^\p{L}/u.test(parts[0])) [parts[0], parts[1]] = [parts[1], parts[0]];
  inputs.forEach((input, i) => (input.value = parts[i]));
});

// Digits typed on in a full day or month go to the next input: a date can be typed in
// one go, and each part can still be left by hand.
document.addEventListener("input", ({ target, inputType }) => {
  if (inputType !== "insertText" || !/^\d{3}$/.test(target.value)) return;
  const inputs = [...(target.closest(".date-parts")?.querySelectorAll("input") ?? [])];
  const next = inputs[inputs.indexOf(target) + 1];
  if (!next || next.value) return;
  next.value = target.value.slice(2);
  target.value = target.value.slice(0, 2);
  next.focus();
  next.setSelectionRange(1, 1);
});
