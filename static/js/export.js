// Shows how far an export has come, and saves it once all of it is here.
// Without script the link downloads it, and the browser shows what it can.

const pause = 250; // milliseconds between two words on how far it is

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
    const answer = await fetch(link.href);
    if (!answer.ok || !answer.headers.get("Content-Type").startsWith("text/csv")) {
      location.assign(link.href); // to sign in, or to read what is wrong
      return;
    }
    const parts = [];
    let rows = -1; // the first one is of names
    let said = performance.now();
    for (const reader = answer.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) {
        break;
      }
      parts.push(value);
      rows += lines(value);
      if (performance.now() - said > pause) {
        said = performance.now();
        say(Math.max(0, rows));
      }
    }
    save(new Blob(parts, { type: "text/csv" }), answer.headers.get("Content-Disposition"));
    status.textContent = `Exported: ${number(rows)} ${rows === 1 ? "row" : "rows"}`;
  } catch {
    status.textContent = "The export was cut off. Please try again.";
  } finally {
    link.removeAttribute("aria-disabled");
  }
}

// lines counts the ends of lines; no cell has one.
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
