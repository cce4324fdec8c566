// The script of pages that follow changes: htmx, its extension for server-sent events,
// and when to connect. The stream says which topics changed; parts of the page fetch
// themselves again.
import htmx from "htmx.org/dist/htmx.esm.min.js";
import "htmx.org/dist/ext/hx-sse.min.js";

const live = document.getElementById("live");
const every = 30_000; // how often to connect again, and to look without a stream
const silence = 50_000; // the stream says something every 20 seconds, unless a proxy keeps it

htmx.config.morphIgnore.push("open"); // folds stay as they are

let heard = 0;
for (const name of ["htmx:sse:after:connection", "htmx:sse:after:message"]) {
  live.addEventListener(name, () => (heard = Date.now()));
}

// A hidden page has no stream: a browser has six connections to a server. The
// extension ends the stream of a page that is hidden, but begins one there.
function connect() {
  if (!document.hidden) htmx.trigger(live, "connect");
}

function look() {
  for (const topic of live.dataset.topics.split(" ")) htmx.trigger(live, topic);
}

setInterval(() => {
  if (document.hidden) return;
  connect();
  if (Date.now() - heard > silence) look();
}, every);
document.addEventListener("visibilitychange", connect);
window.addEventListener("online", connect);

// Signed out, or with another role: the page's own requests find out.
live.addEventListener("end", look);
live.addEventListener("htmx:sse:error", (event) => {
  if ([401, 403].includes(event.detail.status)) look();
});
setTimeout(connect); // after htmx has begun
