// A button with data-copy copies the text of the element with that id to the
// clipboard and confirms it. Without script people select the text.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button || "said" in button.dataset) return; // what it says now is not its label
  const text = document.getElementById(button.dataset.copy).textContent;
  const label = button.ariaLabel ?? button.textContent;
  const picture = button.querySelector("svg");
  const say = (words) => (picture ? (button.ariaLabel = button.title = words) : (button.textContent = words));
  button.dataset.said = "";
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
    button.classList.add("is-copied");
  } catch {
    say("Select and copy it by hand");
  }
  setTimeout(() => {
    say(label);
    button.classList.remove("is-copied");
    delete button.dataset.said;
  }, 2000);
});
