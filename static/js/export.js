// Shows the progress of an export, and saves it when it is complete. Without script
// the link downloads it, and the browser shows the progress.

const pause = 250; // milliseconds between updates of the progress

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-export]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) {
    return;
  }
  event.preventDefault();
  if (link.getAttribute("aria-disabled") !== "true") {
    download(link);
  }
});

async function download(link) {
  const status = document.getElementById(link.dataset.export);
  const total = Number(link.dataset.total);
  const say = (rows) => {
    status.textContent = total > 0 ? `Exporting: ${number(rows)} of ${number(Math.max(rows, total))} rows` : `Exporting: ${number(rows)} rows`;
  };
  link.setAttribute("aria-disabled", "true");
  say(0);
  try {
    const response = await fetch(link.href);
    if (!response.ok || !response.headers.get("Content-Type").startsWith("text/csv")) {
      location.assign(link.href); // to sign in, or to read the error
      return;
    }
    const parts = [];
    let rows = -1; // without the line of column names
    let shownAt = performance.now();
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) {
        break;
      }
      parts.push(value);
      rows += lines(value);
      if (performance.now() - shownAt > pause) {
        shownAt = performance.now();
        say(Math.max(0, rows));
      }
    }
    save(new Blob(parts, { type: "text/csv" }), response.headers.get("Content-Disposition"));
    status.textContent = `Exported: ${number(rows)} ${rows === 1 ? "row" : "rows"}`;
  } catch {
    status.textContent = "The export was cut off. Please try again.";
  } finally {
    link.removeAttribute("aria-disabled");
  }
}

// lines counts line ends; no cell has one.
function lines(bytes) {
  let n = 0;
  for (const byte of bytes) {
    n += byte === 10;
  }
  return n;
}

function save(blob, disposition) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = /filename="([^"]+)"/.exec(disposition)?.[1] ?? "export.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function number(n) {
  return n.toLocaleString("en-AU");
}
