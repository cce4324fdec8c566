// A page that shows a secret once (data-unsaved) asks before people leave it, unless
// they copied the secret or use the page's own link.
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
