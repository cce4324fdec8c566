// A page that shows a secret once (data-unsaved) asks before it is left, until
// the secret was copied or the page's own way out is taken.
const holder = document.querySelector("[data-unsaved]");
if (holder) {
  let kept = false;
  holder.addEventListener("click", (event) => {
    if (event.target.closest(`[data-copy="${holder.dataset.unsaved}"], a`)) kept = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!kept) event.preventDefault();
  });
}
